/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_FILTER_H
#define INV_LOG_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "log/item.h"

/*
 * Selects events by conditions of four kinds: time, pid, tags and mfa.
 * Conditions of one kind are alternatives; an event passes if it satisfies
 * every kind that has conditions. Losses always pass, because nothing is known
 * about the lost events.
 */
struct inv_filter_pid;
struct inv_filter_mfa;

struct inv_filter {
	bool active;	  /* there is at least one condition */
	int64_t from_ns;  /* inv_item_recorded_ns >= from_ns */
	int64_t until_ns; /* inv_item_recorded_ns < until_ns */
	/* private */
	bool by_tag;
	bool tags[INV_TAG_COUNT];
	bool system[INV_SYSTEM_COUNT];
	struct inv_filter_pid *pids;
	size_t n_pids;
	struct inv_filter_mfa *mfas;
	size_t n_mfas;
	struct inv_cursor *cursor;
};

/* The maximum number of mfa conditions. */
#define INV_FILTER_MFAS 64u

/* Returns 0 or INV_ENOMEM. */
int inv_filter_init(struct inv_filter *f);
void inv_filter_release(struct inv_filter *f);

/* Adds the condition from_ns <= ts_ns < until_ns. INT64_MIN and INT64_MAX mean
 * no limit. */
void inv_filter_time(struct inv_filter *f, int64_t from_ns, int64_t until_ns);

static inline bool inv_filter_timed(const struct inv_filter *f)
{
	return f->from_ns != INT64_MIN || f->until_ns != INT64_MAX;
}

/*
 * Each function parses a text and adds conditions. Returns 0, INV_EINVAL with a
 * message that describes the syntax, or INV_ENOMEM.
 *
 *	pid	"<0.88.0>", "#Port<0.5>" or "a@h=<0.88.0>"; compared with the
 *		tracee, or with sender and receiver of a seq_trace event
 *	tags	"call,return_from"
 *	mfa	"m", "m:f", "m:f/2", "Enum", "Enum.map" or "Enum.map/2";
 *		compared with the function of a call, a return, a spawn, ….
 *		Unquoted names can be wildcards (base/glob.h):
 *		"shop_*:handle_*", "Shop.*.add/2"
 */
int inv_filter_add_pid(struct inv_filter *f, const char *text,
		       struct inv_err *err);
int inv_filter_add_tags(struct inv_filter *f, const char *text,
			struct inv_err *err);
int inv_filter_add_mfa(struct inv_filter *f, const char *text,
		       struct inv_err *err);

/* The slow path of inv_filter_passes. */
bool inv_filter_wants(const struct inv_filter *f, const struct inv_item *it);

/*
 * Returns true if the item passes the filter. An item with invalid terms
 * passes, too: the sink, which handles the item next, then reports it.
 */
static inline bool inv_filter_passes(const struct inv_filter *f,
				     const struct inv_item *it)
{
	return !f->active || inv_filter_wants(f, it);
}

#endif
