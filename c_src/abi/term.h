/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ABI_TERM_H
#define INV_ABI_TERM_H

/*
 * Packed terms: the encoding of terms in event records.
 *
 * A term is a code byte, and then the bytes that the table gives for this code.
 * The elements of a container follow in their order, so that an encoder can
 * write each element as it meets it, without look-ahead.
 *
 *   00..3f  integer 0..63
 *   40..7f  dictionary entry 0..63
 *   80..8f  tuple of 0..15 elements, which follow
 *   90..af  binary of 0..31 bytes, which follow
 *   b0..bf  list of 1..16 integers 0..255, a byte each
 *   c0..    enum inv_term_code
 *   e0..ff  APPLY of dictionary entry 0..31
 *
 * "varint" and "signed" mean the same as in abi/event.h.
 *
 * A CUT or HOLE replaces a part of a term that exceeds the limits of size or
 * depth. After the code come a kind (enum inv_cut) and a varint n, which says
 * how much is missing.
 *
 * A CUT replaces all remaining elements of a container. It ends the container
 * without an END. Its kind is
 *   in a tuple    TUPLE: the remaining elements are missing,
 *   in a map      MAP, in the place of a key: the remaining pairs are missing,
 *   in a list     LIST or LIST_MIN: the remaining elements and the tail are
 *                 missing.
 * A HOLE replaces one term anywhere. The kind says of which type the term was.
 * After the HOLE the container of the term continues.
 *
 * A list ends with END, TAIL or CUT. A NIL inside a list does not end the list:
 * it is an element, the empty list.
 *
 * If a dictionary entry is a function, a reference to it stands for the term
 * {M,F,Arity}. An APPLY of the entry stands for {M,F,[Arg, ...]}; the arguments
 * follow, as many as the arity says. A CUT of kind LIST can replace the
 * remaining arguments.
 *
 * Dictionary: the terms of a packet refer to atoms, to functions, and to pids
 * and ports of the node by number. The packet defines each of them, usually
 * once (a second definition has another number), and numbers the definitions
 * from 0 in their order.  A definition is
 *
 *      kind u8 (enum inv_def) | len varint | len bytes
 *
 * Definitions are stored apart from the events, and grow down from the packet's
 * end (abi/ring.h). So the newest has the lowest address: of n definitions, the
 * first in memory has the number n - 1.
 */
enum inv_term_code {
	INV_T_SMALL = 0x00,	   /* ..3f */
	INV_T_DICT_SMALL = 0x40,   /* ..7f */
	INV_T_TUPLE_SMALL = 0x80,  /* ..8f */
	INV_T_BINARY_SMALL = 0x90, /* ..af */
	INV_T_STRING_SMALL = 0xb0, /* ..bf */
	INV_T_NIL = 0xc0,	   /* [] */
	INV_T_INT = 0xc1,	   /* signed, 64 bits */
	INV_T_BIG = 0xc2,	   /* sign u8 (1: negative), n varint, n bytes,
				   least significant first */
	INV_T_FLOAT = 0xc3,	   /* 8 bytes, IEEE 754 double */
	INV_T_DICT = 0xc4,	   /* number varint */
	INV_T_TUPLE = 0xc5,	   /* arity varint, elements */
	INV_T_LIST = 0xc6,	   /* elements, then END, TAIL term, or CUT */
	INV_T_TAIL = 0xc7,	   /* ends an improper list: its tail follows */
	INV_T_CUT = 0xc8,	   /* kind u8, n varint: ends a container */
	INV_T_MAP = 0xc9,	   /* n varint, then key and value of n pairs */
	INV_T_BINARY = 0xca,	   /* n varint, n bytes */
	INV_T_BITS = 0xcb,	   /* bits varint, bytes; in the last byte the
				    most significant bits are used */
	INV_T_BINARY_CUT = 0xcc, /* bits varint (of the whole binary), n varint,
				    the first n bytes */
	INV_T_STRING = 0xcd,	 /* n varint, n bytes: a list of integers
				    0..255 */
	INV_T_STRING_CUT = 0xce, /* n varint, n bytes: the first integers of a
				    longer list; then kind u8 and a varint, as
				    in CUT */
	INV_T_REF = 0xcf,	 /* node varint (0: the recording node;
				    otherwise as in INV_DEF_NODE), n varint, and
				    n varints: the numbers of the reference, in
				    the order in which they are printed */
	INV_T_XPID = 0xd0,	 /* node varint, number varint, serial varint */
	INV_T_XPORT = 0xd1,	 /* node varint, number varint */
	INV_T_EXPORT = 0xd2,	 /* fun M:F/A: three terms */
	INV_T_TEXT = 0xd3,	 /* n varint, n bytes, UTF-8: a term as the VM
				    prints it (a fun) */
	INV_T_HOLE = 0xd4,	 /* kind u8, n varint: replaces one term that
				    was left out */
	INV_T_END = 0xd5,	 /* ends a proper list */
	INV_T_APPLY = 0xd6,	 /* number varint (of a function in the
				    dictionary), then the arguments */
	INV_T_APPLY_SMALL = 0xe0, /* ..ff: APPLY with the number 0..31 */
};

enum inv_def {
	INV_DEF_ATOM = 1, /* the name, UTF-8 */
	INV_DEF_PID = 2,  /* number varint, serial varint: <0.number.serial> */
	INV_DEF_PORT = 3, /* number varint: #Port<0.number> */
	INV_DEF_NODE = 4, /* node varint (the X of <X.1.0>, as the recording
			     node prints it), creation varint, name. A node is
			     numbered like other entries of the dictionary */
	INV_DEF_FUNCTION = 5, /* module varint, function varint (both are
				 dictionary numbers of atoms), arity varint,
				 0..255 */
};

/* The kind of a CUT or HOLE: what it replaces. Each comment gives the unit of
 * n, the number that says how much is missing. */
enum inv_cut {
	INV_CUT_TUPLE = 1,    /* elements */
	INV_CUT_MAP = 2,      /* pairs */
	INV_CUT_LIST = 3,     /* elements, exactly n; the list is proper */
	INV_CUT_LIST_MIN = 4, /* elements, at least n */
	INV_CUT_BINARY = 5,   /* bytes */
	INV_CUT_INT = 6,      /* bytes, at least n; 0: unknown */
	INV_CUT_OTHER = 7,    /* a term of another type; n is 0, or, for a
				 redacted value, its type (enum inv_redacted) */
	INV_CUT_BITS = 8,     /* a bitstring of unknown size; n is 0 */
};

/*
 * The types of redacted values. A HOLE of kind OTHER whose n is one of these
 * numbers is a mark: it replaces a value that is not recorded because of a rule
 * of the user. A mark says nothing else about the value, not even its size. A
 * reader that does not know marks prints them as it prints other HOLEs.
 */
#define INV_REDACTED(X)          \
	X(TERM, 1, "term")       \
	X(ATOM, 2, "atom")       \
	X(INTEGER, 3, "integer") \
	X(FLOAT, 4, "float")     \
	X(BINARY, 5, "binary")   \
	X(LIST, 6, "list")       \
	X(TUPLE, 7, "tuple")     \
	X(MAP, 8, "map")         \
	X(PID, 9, "pid")         \
	X(PORT, 10, "port")      \
	X(REF, 11, "reference")  \
	X(FUN, 12, "fun")

enum inv_redacted {
#define INV_REDACTED_ENUM(name, number, text) INV_REDACTED_##name = number,
	INV_REDACTED(INV_REDACTED_ENUM)
#undef INV_REDACTED_ENUM
};

#endif
