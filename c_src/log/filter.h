/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_FILTER_H
#define INV_LOG_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "log/item.h"

/*
 * Which events are wanted.  Of each kind of condition that was added one must
 * hold, and all kinds; without any everything passes.  Losses always pass:
 * nobody knows what they were.
 */
struct inv_filter_pid;
struct inv_filter_mfa;

struct inv_filter {
	bool active;	  /* there is a condition */
	int64_t from_ns;  /* ts_ns >= from_ns */
	int64_t until_ns; /* ts_ns < until_ns */
	/* private */
	bool by_tag;
	bool tags[INV_TAG_COUNT];
	struct inv_filter_pid *pids;
	size_t n_pids;
	struct inv_filter_mfa *mfas;
	size_t n_mfas;
	struct inv_cursor *cursor;
};

/* No more functions than these. */
#define INV_FILTER_MFAS 64u

/* INV_ENOMEM. */
int inv_filter_init(struct inv_filter *f);
void inv_filter_release(struct inv_filter *f);

/* Half-open; INT64_MIN and INT64_MAX are no limits. */
void inv_filter_time(struct inv_filter *f, int64_t from_ns, int64_t until_ns);

/*
 * INV_EINVAL, with words that say what can be written, or INV_ENOMEM.
 *
 *	pid	"<0.88.0>", "#Port<0.5>", "a@h=<0.88.0>": whose event it is; of
 *		seq_trace the sender or the receiver
 *	tags	"call,return_from"
 *	mfa	"m", "m:f", "m:f/2", "Enum", "Enum.map", "Enum.map/2": which
 *		function a call, a return, a spawn, … is of
 */
int inv_filter_add_pid(struct inv_filter *f, const char *text,
		       struct inv_err *err);
int inv_filter_add_tags(struct inv_filter *f, const char *text,
			struct inv_err *err);
int inv_filter_add_mfa(struct inv_filter *f, const char *text,
		       struct inv_err *err);

/* The slow half of inv_filter_passes. */
bool inv_filter_wants(const struct inv_filter *f, const struct inv_item *it);

/* Whether the item is wanted.  One whose terms make no sense passes: who prints
 * it finds that out. */
static inline bool inv_filter_passes(const struct inv_filter *f,
				     const struct inv_item *it)
{
	return !f->active || inv_filter_wants(f, it);
}

#endif
