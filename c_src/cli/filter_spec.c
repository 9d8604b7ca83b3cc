/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/filter_spec.h"

#include <stdlib.h>
#include <string.h>

#include "match/event_match.h"

#define EVENT_WORDS (UINT64_C(1) << 20)
/* One more element than any event has, so that an invalid longer event is
 * detected. */
#define ELEMENTS (INV_EVENT_ELEMENTS + 1)

struct inv_spec_filter {
	struct inv_event_match match; /* its heap also contains the atoms in
					 `tags' */
	struct inv_heap event;
	struct inv_match_prog prog; /* the program of match, with the quirks of
				       the node's release */
	struct inv_match_world world;
	inv_word node_name[2];
	const struct inv_node *node; /* the node that prog and world are set
					for */
	inv_word tags[INV_TAG_COUNT];
	uint64_t undecided;
	struct inv_match_run run;
	struct inv_cursor cursor;
};

/* --- making a filter ------------------------------------------------------ */

int inv_spec_filter_new(struct inv_spec_filter **made, const char *text,
			struct inv_err *err)
{
	struct inv_spec_filter *f = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	rc = inv_event_match_text(&f->match, text, err);
	if (!rc && inv_heap_new(&f->event, EVENT_WORDS))
		rc = inv_err_set(err, INV_ENOMEM, "no memory");
	if (rc) {
		inv_spec_filter_free(f);
		return rc;
	}
	f->run.heap = &f->event;
	f->run.world = &f->world;
	f->prog = f->match.match.prog;
	*made = f;
	return 0;
}

void inv_spec_filter_free(struct inv_spec_filter *f)
{
	if (!f)
		return;
	inv_event_match_release(&f->match);
	inv_heap_free(&f->event);
	free(f);
}

const char *inv_spec_filter_odd(const struct inv_spec_filter *f)
{
	return f->match.odd;
}

uint64_t inv_spec_filter_undecided(const struct inv_spec_filter *f)
{
	return f->undecided;
}

/* --- using it ------------------------------------------------------------- */

/* Sets release and name of the node. The release determines how values are
 * compared. */
static void use_node(struct inv_spec_filter *f, const struct inv_node *node)
{
	struct inv_heap box = { .cap = 2 };

	f->node = node;
	f->prog.quirks = inv_match_quirks(node->otp_release);
	f->event.node = node->name;
	f->event.node_len = strlen(node->name);
	box.w = f->node_name;
	f->world.node = inv_make_atom(&box, node->name, strlen(node->name));
}

static inv_word tag_atom(struct inv_spec_filter *f, const struct inv_event *ev)
{
	const char *name;
	size_t len;
	inv_word t;

	if (ev->tag < INV_TAG_COUNT && f->tags[ev->tag])
		return f->tags[ev->tag];
	name = inv_event_tag(ev, &len);
	if (ev->tag >= INV_TAG_COUNT) /* also INV_TAG_OTHER */
		return inv_make_atom(&f->event, name, len);
	t = inv_make_atom(&f->match.terms, name, len);
	f->tags[ev->tag] = t;
	return t;
}

/* Reads the elements of an event. Returns how many, or a negative code. */
static int read_event(struct inv_spec_filter *f, const struct inv_event *ev,
		      inv_word words[ELEMENTS])
{
	struct inv_token tok;
	int n = 2, rc;

	f->event.used = 0;
	if (ev->bare) {
		inv_cursor_init(&f->cursor, (enum inv_enc)ev->enc, ev->dict,
				ev->terms, ev->len);
		rc = inv_tree_read(&f->event, &f->cursor, &words[0]);
		return rc ? -1 : 1;
	}
	rc = inv_event_tracee(ev, &f->cursor, &tok);
	if (!rc)
		rc = inv_tree_read_token(&f->event, &f->cursor, &tok,
					 &words[0]);
	if (!rc)
		rc = inv_event_payload(ev, &f->cursor);
	words[1] = tag_atom(f, ev);
	while (!rc && n < ELEMENTS) {
		rc = inv_tree_read(&f->event, &f->cursor, &words[n]);
		n += rc == 0;
	}
	return rc == INV_END && words[1] ? n : -1;
}

static bool matches(struct inv_spec_filter *f, const inv_word *words, size_t n)
{
	f->run.steps = INV_MATCH_STEPS;
	if (inv_match_run(&f->prog, &f->run, words, n)) {
		f->undecided++;
		return false;
	}
	return f->run.matched && !inv_word_is(f->run.result, "false");
}

bool inv_spec_filter_wants(struct inv_spec_filter *f,
			   const struct inv_event *ev,
			   const struct inv_node *node)
{
	inv_word words[ELEMENTS] = { 0 };
	int n;

	if (f->match.by_tag && ev->tag < INV_TAG_COUNT &&
	    !f->match.tags[ev->tag] && !ev->bare)
		return false;
	if (node != f->node)
		use_node(f, node);
	n = read_event(f, ev, words);
	if (n < 0) {
		f->undecided++;
		return false;
	}
	f->world.self = words[0];
	/* A spec may omit the event's last element, the result of the action
	 * {message, _}: tries without this element, then with it. */
	if (ev->ms_result && matches(f, words, (size_t)n - 1))
		return true;
	return matches(f, words, (size_t)n);
}
