/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ABI_OPTIONS_H
#define INV_ABI_OPTIONS_H

#include <stdint.h>

/*
 * The table of options whose values are numbers or one of two words: keys,
 * ranges and defaults for C, Erlang and the manual. C includes this file.
 * tools/options writes include/inviso_options.hrl from it. `make lint' checks
 * that the .hrl file and the manual agree with this table.
 *
 * A value has the unit with which its key ends (bytes, ms, percent). Values of
 * other keys are counts.
 */

/* The default INV_UNSET: inviso computes the value, or leaves the option
 * unset. */
#define INV_UNSET (-1)

/* A term takes at most this many bytes without the contents of its binaries,
 * however large max_term_bytes is. */
#define INV_TERM_MAX 1048576

/*
 * X(group, NAME, key, least, most, default).  A group is the map that has the
 * key:
 *
 *	TRACER	the options of inviso_tracer:open/2; some of them may be in
 *		`tracer' of a session
 *	LIMIT	the option `limit' of open/2, and `limits' of a session, where
 *		0 means no limit
 *	ROTATE	the option `rotate' of open/2
 *	PROTECT	`protect' of a session, where 0 means off
 *	SESSION	the map of a session itself (abi/control.h, section 4)
 */
/* clang-format off */
#define INV_OPTIONS(X) \
	/* memory of all rings together; at least four packets a thread */ \
	X(TRACER, BUFFER_BYTES, buffer_bytes, 1, 1099511627776, INV_UNSET) \
	/* size of a packet; a multiple of 4096 */ \
	X(TRACER, PACKET_BYTES, packet_bytes, 4096, 524288, 65536) \
	/* largest size of a recorded term; beyond INV_TERM_MAX only of its \
	 * binaries */ \
	X(TRACER, MAX_TERM_BYTES, max_term_bytes, 16, 16777216, 4096) \
	/* how deeply the containers in a recorded term may nest */ \
	X(TRACER, MAX_DEPTH, max_depth, 1, 128, 32) \
	/* how often full packets are written to the log */ \
	X(TRACER, DRAIN_MS, drain_ms, 1, 10000, 10) \
	/* how often partly filled packets are written; 0: only at a flush */ \
	X(TRACER, FLUSH_MS, flush_ms, 0, 3600000, 1000) \
	/* events and bytes that all threads together record */ \
	X(LIMIT, LIMIT_EVENTS, events, 0, 18446744073709551614, INV_UNSET) \
	X(LIMIT, LIMIT_BYTES, bytes, 0, 18446744073709551614, INV_UNSET) \
	/* time since the tracer was opened, or the session began to arm */ \
	X(LIMIT, LIMIT_MS, ms, 1, 4294967295, INV_UNSET) \
	/* events recorded in any one second */ \
	X(LIMIT, LIMIT_RATE, rate, 1, 4294967295, INV_UNSET) \
	/* size and age of a log file, and how many files are kept */ \
	X(ROTATE, ROTATE_BYTES, bytes, 1, 1125899906842624, INV_UNSET) \
	X(ROTATE, ROTATE_MS, ms, 1, 1099511627776, INV_UNSET) \
	X(ROTATE, ROTATE_COUNT, count, 1, 1000000, INV_UNSET) \
	/* stop if more processes than this wait in run queues */ \
	X(PROTECT, RUN_QUEUE, run_queue, 0, 1000000, INV_UNSET) \
	/* stop if more than this share of the memory is in use */ \
	X(PROTECT, MEMORY_PERCENT, memory_percent, 0, 100, 95) \
	/* the session ends if its client sends nothing for this long */ \
	X(SESSION, DEAD_MAN_MS, dead_man_ms, 1, 4294967295, 10000) \
	/* how long logs are kept for `inviso fetch' after the session */ \
	X(SESSION, HOLD_MS, hold_ms, 0, 4294967295, 3600000) \
	/* open calls of a process; 0: no bound */ \
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
