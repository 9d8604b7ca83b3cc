/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ABI_TERM_H
#define INV_ABI_TERM_H

/*
 * Packed terms: how a term lies in an event record.
 *
 * One code byte, then what the table says.  Containers are written in the
 * order of their elements, so that an encoder needs no look-ahead; a term that
 * met its budget says in place what is missing (CUT).
 *
 *   00..3f  integer 0..63
 *   40..7f  dictionary entry 0..63
 *   80..8f  tuple of 0..15 elements, which follow
 *   90..af  binary of 0..31 bytes, which follow
 *   b0..bf  list of 1..16 integers 0..255, a byte each
 *   c0..    enum inv_term_code
 *
 * "varint" and "signed" as in abi/event.h.
 *
 * What a budget left out is said in place, by CUT or HOLE, each followed by a
 * kind (enum inv_cut) and a varint n: what is missing.
 *
 * CUT stands in the place of an element and ends its container, without END:
 *   in a tuple    of kind TUPLE, for the remaining elements,
 *   in a map      of kind MAP, in the place of a key, for the remaining pairs,
 *   in a list     of kind LIST or LIST_MIN, for the remaining elements and the
 *                 tail.
 * HOLE stands for one term of that kind, anywhere; what comes after it goes on
 * as ever.
 *
 * A list ends with END, TAIL or CUT.  Not with NIL: that is the element [].
 *
 * Dictionary: an atom, pid or port of the node is defined once a packet and
 * numbered from 0 in the order of definition.  Definitions stand apart from
 * the events, the newest first (abi/ring.h: they grow down from the packet's
 * end), each
 *
 *      kind u8 (enum inv_def) | len varint | len bytes
 *
 * so that of n definitions the first in memory has the number n - 1.
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
	INV_T_MAP = 0xc9,	 /* pairs varint, then key and value of each */
	INV_T_BINARY = 0xca,	 /* n varint, n bytes */
	INV_T_BITS = 0xcb,	 /* bits varint, bytes; the last byte's used
				   bits are its most significant ones */
	INV_T_BINARY_CUT = 0xcc, /* bits varint (of the whole), n varint,
				    the first n bytes */
	INV_T_STRING = 0xcd,	 /* n varint, n bytes: list of 0..255 */
	INV_T_STRING_CUT = 0xce, /* n varint, n bytes, then kind u8 and varint
				    as CUT: a list that goes on */
	INV_T_REF = 0xcf,	 /* node varint (0: this one; else as in
				   INV_DEF_NODE), n varint, n varints in the
				   order in which they are printed */
	INV_T_XPID = 0xd0,	 /* node varint, number varint, serial varint */
	INV_T_XPORT = 0xd1,	 /* node varint, number varint */
	INV_T_EXPORT = 0xd2,	 /* fun M:F/A: three terms */
	INV_T_TEXT = 0xd3,	 /* n varint, n bytes: as the VM prints it (a
				   fun), UTF-8 */
	INV_T_HOLE = 0xd4,	 /* kind u8, n varint: one term, left out */
	INV_T_END = 0xd5,	 /* ends the elements of a proper list */
};

enum inv_def {
	INV_DEF_ATOM = 1, /* the name, UTF-8 */
	INV_DEF_PID = 2,  /* number varint, serial varint: <0.number.serial> */
	INV_DEF_PORT = 3, /* number varint: #Port<0.number> */
	INV_DEF_NODE = 4, /* node varint (the number that the recording node
			     prints for it), creation varint, name.  It takes a
			     dictionary number like the others */
};

/* What a CUT or HOLE left out, and what its n counts. */
enum inv_cut {
	INV_CUT_TUPLE = 1,    /* elements */
	INV_CUT_MAP = 2,      /* pairs */
	INV_CUT_LIST = 3,     /* elements, exactly; a proper list */
	INV_CUT_LIST_MIN = 4, /* elements, at least that many */
	INV_CUT_BINARY = 5,   /* bytes */
	INV_CUT_INT = 6,      /* bytes, at least; 0: not known */
	INV_CUT_OTHER = 7,    /* nothing: n is 0 */
	INV_CUT_BITS = 8,     /* nothing: a bitstring of unknown size */
};

#endif
