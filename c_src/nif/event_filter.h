/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_EVENT_FILTER_H
#define INV_NIF_EVENT_FILTER_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "match/event_match.h"
#include "nif/match_vm.h"

/*
 * A match spec, made ready, that says which of a tracer's events are wanted:
 * the same that `inviso merge --filter` takes, with the same answers.
 *
 * Running one is for callbacks: no lock, no allocation of ours; terms that a
 * spec builds are the callback's environment's, which the VM empties after it.
 * A program has jumps forwards only, at most INV_FILTER_CODE instructions, and
 * looks at INV_FILTER_STEPS elements of lists whose length it asks for.  Terms
 * are compared as the VM compares them, to where they differ; a binary that does
 * not start on a byte is copied by the VM when its size is asked for.
 */
#define INV_FILTER_BYTES 65536u
#define INV_FILTER_CODE 4096u
#define INV_FILTER_STEPS 10000u

struct inv_event_filter {
	struct inv_event_filter *next; /* the tracer's: retired ones */
	struct inv_match_prog prog;
	struct inv_vm_match match;
	bool by_tag; /* of other tags than these none is wanted */
	bool tags[INV_TAG_COUNT];
};

/* An event as a spec sees it: the elements of the trace tuple. */
struct inv_event_words {
	ErlNifEnv *env;
	ERL_NIF_TERM v[INV_EVENT_ELEMENTS];
	unsigned n;
	bool has_result; /* the last is that of {message, _} */
};

enum inv_wanted {
	INV_WANTED_NO,
	INV_WANTED_YES,
	INV_WANTED_UNDECIDED, /* it depends on what the VM does not tell us */
};

/* The node that pids without a node are of. */
struct inv_filter_node {
	ERL_NIF_TERM atom;
	const char *name; /* the same as UTF-8 */
	uint32_t creation;
	unsigned otp;
};

/*
 * Makes one of a spec as text, or in the external term format, which begins
 * with 131, as no text does.  A NUL comes after the bytes.
 * 0, or a code with words.
 */
int inv_event_filter_make(struct inv_event_filter **made, const uint8_t *bytes,
			  size_t len, const struct inv_filter_node *node,
			  struct inv_err *err);
void inv_event_filter_free(struct inv_event_filter *f);

/* False: the event is not wanted, whatever it is about. */
static inline bool inv_event_filter_tag(const struct inv_event_filter *f,
					enum inv_tag tag)
{
	return !f->by_tag || (tag < INV_TAG_COUNT && f->tags[tag]);
}

enum inv_wanted inv_event_filter_run(const struct inv_event_filter *f,
				     const struct inv_event_words *w);

#endif
