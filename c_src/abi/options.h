/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ABI_OPTIONS_H
#define INV_ABI_OPTIONS_H

#include <stdint.h>

/*
 * Two tables: the options whose value is a number, and the options whose value
 * is one of two words. C code includes this file. For Erlang code,
 * tools/options writes include/inviso_options.hrl from this file. `make lint'
 * checks that the .hrl file and the manual agree with the tables.
 *
 * If a key ends with bytes, ms or percent, this is the unit of its value.
 * Values of other keys are counts.
 */

/* A default of INV_UNSET means that inviso computes the value, or leaves the
 * option unset. */
#define INV_UNSET (-1)

/* The most bytes of a recorded term, not counting the contents of its binaries.
 * This bound applies even if max_term_bytes is larger. */
#define INV_TERM_MAX 1048576

/*
 * X(group, NAME, key, least, most, default).  The group says in which map the
 * key occurs. (A session's map is described in abi/control.h, section 4.)
 *
 *	TRACER	the options of inviso_tracer:open/2; some keys also in the
 *		map `tracer' of a session's map
 *	LIMIT	the option `limit' of open/2, and the map `limits' of a
 *		session's map; in the map `limits', 0 means no limit
 *	ROTATE	the option `rotate' of open/2
 *	PROTECT	the map `protect' of a session's map; 0 means off
 *	SESSION	a session's map itself
 */
/* clang-format off */
#define INV_OPTIONS(X) \
	/* memory of all rings together, which is at least four packets for \
	 * each thread */ \
	X(TRACER, BUFFER_BYTES, buffer_bytes, 1, 1099511627776, INV_UNSET) \
	/* size of a packet; a multiple of 4096 */ \
	X(TRACER, PACKET_BYTES, packet_bytes, 4096, 524288, 65536) \
	/* largest size of a recorded term; at most INV_TERM_MAX of its bytes \
	 * are not contents of binaries */ \
	X(TRACER, MAX_TERM_BYTES, max_term_bytes, 16, 16777216, 4096) \
	/* how deeply the containers in a recorded term may nest */ \
	X(TRACER, MAX_DEPTH, max_depth, 1, 128, 32) \
	/* interval at which full packets are written to the log */ \
	X(TRACER, DRAIN_MS, drain_ms, 1, 10000, 10) \
	/* interval at which packets that are not full are written to the \
	 * log; 0: only at a flush */ \
	X(TRACER, FLUSH_MS, flush_ms, 0, 3600000, 1000) \
	/* the most events and bytes that all threads together record */ \
	X(LIMIT, LIMIT_EVENTS, events, 0, 18446744073709551614, INV_UNSET) \
	X(LIMIT, LIMIT_BYTES, bytes, 0, 18446744073709551614, INV_UNSET) \
	/* the tracer stops this long after it was opened; a session stops \
	 * this long after it began to set flags; see control.h, section 4 */ \
	X(LIMIT, LIMIT_MS, ms, 1, 4294967295, INV_UNSET) \
	/* the most events recorded in one second */ \
	X(LIMIT, LIMIT_RATE, rate, 1, 4294967295, INV_UNSET) \
	/* size and age at which a new log file begins, and how many files are \
	 * kept */ \
	X(ROTATE, ROTATE_BYTES, bytes, 1, 1125899906842624, INV_UNSET) \
	X(ROTATE, ROTATE_MS, ms, 1, 1099511627776, INV_UNSET) \
	X(ROTATE, ROTATE_COUNT, count, 1, 1000000, INV_UNSET) \
	/* the session stops if more processes than this wait in run queues */ \
	X(PROTECT, RUN_QUEUE, run_queue, 0, 1000000, INV_UNSET) \
	/* the session stops if more than this share of memory is in use */ \
	X(PROTECT, MEMORY_PERCENT, memory_percent, 0, 100, 95) \
	/* the session ends if its client sends nothing for this long */ \
	X(SESSION, DEAD_MAN_MS, dead_man_ms, 1, 4294967295, 10000) \
	/* a session that has a time limit ends if it needs more time than \
	 * this, and more time than the limit, to set patterns */ \
	X(SESSION, ARM_MS, arm_ms, 1, 4294967295, 300000) \
	/* how long logs are kept for `inviso fetch' after the session */ \
	X(SESSION, HOLD_MS, hold_ms, 0, 4294967295, 3600000) \
	/* the most open traced calls of a process; 0: no bound */ \
	X(SESSION, OPEN_CALLS, open_calls, 0, 1000000, 1000)

/* X(NAME, key, default, other): options of inviso_tracer:open/2 whose value is
 * one of two atoms. The NIF gets 0 for the default and 1 for the other. */
#define INV_CHOICES(X) \
	X(KEEP, keep, oldest, newest) \
	X(PAYLOAD, payload, full, none) \
	X(COMPRESS, compress, none, zstd) \
	X(REPLACE, replace, false, true)
/* clang-format on */

enum inv_option_group {
	INV_GROUP_TRACER,
	INV_GROUP_LIMIT,
	INV_GROUP_ROTATE,
	INV_GROUP_PROTECT,
	INV_GROUP_SESSION,
};

enum inv_option_name {
#define INV_OPTION_ENUM(group, NAME, key, least, most, usual) INV_OPT_##NAME,
	INV_OPTIONS(INV_OPTION_ENUM)
#undef INV_OPTION_ENUM
	INV_OPT_COUNT
};

struct inv_option {
	enum inv_option_group group;
	const char *key;
	uint64_t least, most;
	int64_t usual; /* the default, or INV_UNSET */
};

/*
 * A file that needs the table defines
 *	static const struct inv_option options[] = {
 *		INV_OPTIONS(INV_OPTION_ROW)
 *	};
 */
#define INV_OPTION_ROW(group, NAME, key, least, most, usual) \
	{ INV_GROUP_##group, #key, least##u, most##u, usual },

#endif
