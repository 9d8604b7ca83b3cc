/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_TABLE_H
#define INV_MATCH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The language of match specs as tables: its functions and actions, and the
 * differences between OTP releases.
 */

/*
 * The functions. The columns are: id, name, arity, first release that has the
 * function (0: all releases have it), whether guards may call it.
 */
#define INV_MATCH_FUNCTIONS(X)                       \
	X(IS_ATOM, "is_atom", 1, 0, true)            \
	X(IS_FLOAT, "is_float", 1, 0, true)          \
	X(IS_INTEGER, "is_integer", 1, 0, true)      \
	X(IS_INTEGER3, "is_integer", 3, 29, true)    \
	X(IS_LIST, "is_list", 1, 0, true)            \
	X(IS_NUMBER, "is_number", 1, 0, true)        \
	X(IS_PID, "is_pid", 1, 0, true)              \
	X(IS_PORT, "is_port", 1, 0, true)            \
	X(IS_REFERENCE, "is_reference", 1, 0, true)  \
	X(IS_TUPLE, "is_tuple", 1, 0, true)          \
	X(IS_MAP, "is_map", 1, 0, true)              \
	X(IS_BINARY, "is_binary", 1, 0, true)        \
	X(IS_BITSTRING, "is_bitstring", 1, 26, true) \
	X(IS_BOOLEAN, "is_boolean", 1, 26, true)     \
	X(IS_FUNCTION, "is_function", 1, 0, true)    \
	X(IS_FUNCTION2, "is_function", 2, 26, true)  \
	X(IS_RECORD, "is_record", 3, 0, true)        \
	X(ABS, "abs", 1, 0, true)                    \
	X(ELEMENT, "element", 2, 0, true)            \
	X(HD, "hd", 1, 0, true)                      \
	X(LENGTH, "length", 1, 0, true)              \
	X(MAX, "max", 2, 26, true)                   \
	X(MIN, "min", 2, 26, true)                   \
	X(NODE1, "node", 1, 0, true)                 \
	X(NODE, "node", 0, 0, true)                  \
	X(ROUND, "round", 1, 0, true)                \
	X(SIZE, "size", 1, 0, true)                  \
	X(MAP_SIZE, "map_size", 1, 0, true)          \
	X(MAP_GET, "map_get", 2, 0, true)            \
	X(IS_MAP_KEY, "is_map_key", 2, 0, true)      \
	X(BIT_SIZE, "bit_size", 1, 0, true)          \
	X(BYTE_SIZE, "byte_size", 1, 0, true)        \
	X(TUPLE_SIZE, "tuple_size", 1, 26, true)     \
	X(BINARY_PART2, "binary_part", 2, 0, true)   \
	X(BINARY_PART3, "binary_part", 3, 0, true)   \
	X(TL, "tl", 1, 0, true)                      \
	X(TRUNC, "trunc", 1, 0, true)                \
	X(FLOAT, "float", 1, 0, true)                \
	X(CEIL, "ceil", 1, 26, true)                 \
	X(FLOOR, "floor", 1, 26, true)               \
	X(PLUS1, "+", 1, 0, true)                    \
	X(MINUS1, "-", 1, 0, true)                   \
	X(PLUS, "+", 2, 0, true)                     \
	X(MINUS, "-", 2, 0, true)                    \
	X(TIMES, "*", 2, 0, true)                    \
	X(DIVIDE, "/", 2, 0, true)                   \
	X(DIV, "div", 2, 0, true)                    \
	X(REM, "rem", 2, 0, true)                    \
	X(BAND, "band", 2, 0, true)                  \
	X(BOR, "bor", 2, 0, true)                    \
	X(BXOR, "bxor", 2, 0, true)                  \
	X(BNOT, "bnot", 1, 0, true)                  \
	X(BSL, "bsl", 2, 0, true)                    \
	X(BSR, "bsr", 2, 0, true)                    \
	X(GT, ">", 2, 0, true)                       \
	X(GE, ">=", 2, 0, true)                      \
	X(LT, "<", 2, 0, true)                       \
	X(LE, "=<", 2, 0, true)                      \
	X(EQ_EXACT, "=:=", 2, 0, true)               \
	X(EQ, "==", 2, 0, true)                      \
	X(NE_EXACT, "=/=", 2, 0, true)               \
	X(NE, "/=", 2, 0, true)                      \
	X(NOT, "not", 1, 0, true)                    \
	X(XOR, "xor", 2, 0, true)                    \
	X(GET_TCW, "get_tcw", 0, 0, true)            \
	X(SET_TCW, "set_tcw", 1, 0, false)           \
	X(SET_TCW_FAKE, "set_tcw_fake", 1, 0, false)

#define INV_MATCH_ENUM(id, name, arity, since, guard) INV_MF_##id,
enum inv_match_fn {
	INV_MATCH_FUNCTIONS(INV_MATCH_ENUM) INV_MF_COUNT
};
#undef INV_MATCH_ENUM

struct inv_match_fn_info {
	const char *name;
	uint8_t arity;
	uint8_t since;
	bool guard;
};

extern const struct inv_match_fn_info inv_match_fns[INV_MF_COUNT];

/* The VM's error message if an action has a wrong number of arguments. */
enum inv_match_arity_text {
	INV_MA_NONE_TAKEN, /* "called with arguments in" */
	INV_MA_WRONG,	   /* "called with wrong number of arguments in" */
};

/* What an action requires of the event. */
enum inv_match_need {
	/* A traced process, because the action reads or changes the trace flags
	 * or the token of the process. */
	INV_MN_TRACE = 1,
	INV_MN_CALL = 2, /* the event must be a call */
};

/*
 * The actions, which only match specs for tracing have. The columns are:
 *
 *	id
 *	name
 *	least number of arguments
 *	highest number of arguments
 *	first release that has the action; 0: all releases have it
 *	whether guards may use it
 *	what it needs of the event: a set of enum inv_match_need
 *	its name in the VM's error messages
 *	message for a wrong number of arguments: enum inv_match_arity_text
 */
#define INV_MATCH_ACTIONS(X)                                                  \
	X(SELF, "self", 0, 0, 0, true, 0, "self", NONE_TAKEN)                 \
	X(MESSAGE, "message", 1, 1, 0, false, 0, "message", WRONG)            \
	X(RETURN_TRACE, "return_trace", 0, 0, 0, false, 0, "return_trace",    \
	  NONE_TAKEN)                                                         \
	X(EXCEPTION_TRACE, "exception_trace", 0, 0, 0, false, 0,              \
	  "exception_trace", NONE_TAKEN)                                      \
	X(IS_SEQ_TRACE, "is_seq_trace", 0, 0, 0, true, 1, "is_seq_trace",     \
	  NONE_TAKEN)                                                         \
	X(SET_SEQ_TOKEN, "set_seq_token", 2, 2, 0, false, 1, "set_seq_trace", \
	  WRONG)                                                              \
	X(GET_SEQ_TOKEN, "get_seq_token", 0, 0, 0, false, 1, "get_seq_token", \
	  NONE_TAKEN)                                                         \
	X(DISPLAY, "display", 1, 1, 0, false, 0, "display", WRONG)            \
	X(PROCESS_DUMP, "process_dump", 0, 0, 0, false, 1, "process_dump",    \
	  NONE_TAKEN)                                                         \
	X(ENABLE_TRACE, "enable_trace", 1, 2, 0, false, 1, "enable_trace",    \
	  WRONG)                                                              \
	X(DISABLE_TRACE, "disable_trace", 1, 2, 0, false, 1, "disable_trace", \
	  WRONG)                                                              \
	X(TRACE, "trace", 2, 3, 0, false, 1, "trace", WRONG)                  \
	X(CALLER, "caller", 0, 0, 0, false, 3, "caller", NONE_TAKEN)          \
	X(CALLER_LINE, "caller_line", 0, 0, 0, false, 3, "caller_line",       \
	  NONE_TAKEN)                                                         \
	X(CURRENT_STACKTRACE, "current_stacktrace", 0, 1, 26, false, 3,       \
	  "current_stacktrace", WRONG)                                        \
	X(SILENT, "silent", 1, 1, 0, false, 1, "silent", WRONG)

#define INV_MATCH_ENUM(id, name, min, max, since, guard, need, told, text) \
	INV_MACT_##id,
enum inv_match_act {
	INV_MATCH_ACTIONS(INV_MATCH_ENUM) INV_MACT_COUNT
};
#undef INV_MATCH_ENUM

struct inv_match_act_info {
	const char *name;
	uint8_t min;
	uint8_t max;
	uint8_t since;
	bool guard;
	uint8_t need; /* set of enum inv_match_need */
	const char *told;
	enum inv_match_arity_text text;
};

extern const struct inv_match_act_info inv_match_acts[INV_MACT_COUNT];

/* Further differences between releases. */
enum inv_match_quirk {
	INV_MQ_ZEROS_DIFFER = 1,    /* 0.0 =:= -0.0 is false */
	INV_MQ_ABS_ZERO = 2,	    /* abs(-0.0) is 0.0 */
	INV_MQ_PART_OF_BYTES = 4,   /* binary_part fails for a bitstring that is
				       not a binary */
	INV_MQ_FLOAT_NEAREST = 8,   /* a big integer is converted to the nearest
				       float */
	INV_MQ_NATIVE_RECORDS = 16, /* is_record(T, Module, Name) exists */
	INV_MQ_PREFIX = 32,	    /* a head may be [A, B | '_'] */
};

/*
 * Returns the set of enum inv_match_quirk of an OTP release; release 0 means
 * the oldest, 25.
 */
unsigned inv_match_quirks(unsigned otp);

/*
 * inv_match_fn_find returns the id of the function with this name and arity,
 * inv_match_act_find the id of the action with this name. They return -1 if the
 * release has none.
 */
int inv_match_fn_find(const void *name, size_t len, size_t arity, unsigned otp);
int inv_match_act_find(const void *name, size_t len, unsigned otp);

#endif
