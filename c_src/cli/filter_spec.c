/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/filter_spec.h"

#include <stdlib.h>
#include <string.h>

#include "match/call.h"
#include "match/match.h"
#include "term/tree_text.h"

/* Words: for the spec's own term, and for an event's. */
#define SPEC_WORDS (UINT64_C(1) << 16)
#define EVENT_WORDS (UINT64_C(1) << 20)
/* What specs may say is what the newest release knows. */
#define RELEASE 29
/* Pid, tag, payload, extra, result of {message, _}; and one more, to see that
 * there are no more. */
#define ELEMENTS 6

struct inv_spec_filter {
	struct inv_heap spec; /* the term, and atoms of tags */
	struct inv_heap event;
	struct inv_match match;
	struct inv_match_prog prog; /* match's, as a node's release has it */
	struct inv_match_world world;
	inv_word node_name[2];
	const struct inv_node *node; /* that prog and world are for */
	inv_word tags[INV_TAG_COUNT];
	/* Tags that no clause is for need not be looked at. */
	bool by_tag;
	bool wants_tag[INV_TAG_COUNT];
	uint64_t undecided;
	struct inv_match_run run;
	struct inv_cursor cursor;
};

/* --- making one ----------------------------------------------------------- */

/* 0: it is another one, or no atom. */
static unsigned tag_of(inv_word t)
{
	const inv_word *b = inv_box_of(t, INV_BOX_ATOM);

	return b ? inv_tag_number(inv_box_ptr(b, 1), inv_box_n(b)) : 0;
}

/* Of what tags events can match; by_tag stays false if it cannot be said. */
static void find_tags(struct inv_spec_filter *f)
{
	const struct inv_clause *c = f->match.spec.clauses;

	for (; c; c = c->next) {
		unsigned tag = c->n_args >= 2 && (c->head == INV_HEAD_LIST ||
						  c->head == INV_HEAD_PREFIX) ?
				       tag_of(c->args[1]) :
				       0;

		if (tag == 0)
			return;
		f->wants_tag[tag] = true;
	}
	f->by_tag = true;
}

static int make(struct inv_spec_filter *f, const char *text,
		struct inv_err *err)
{
	inv_word spec;
	int rc;

	if (inv_heap_new(&f->spec, SPEC_WORDS) ||
	    inv_heap_new(&f->event, EVENT_WORDS))
		return inv_err_set(err, INV_ENOMEM, "no memory");
	if (text[strspn(text, " \t\n")] == '[')
		rc = inv_tree_parse(&f->spec, text, &spec, err);
	else
		rc = inv_call_parse(&f->spec, text, &spec, err);
	if (!rc)
		rc = inv_match_make(&f->match, spec, RELEASE, INV_MATCH_CALL,
				    err);
	return rc;
}

int inv_spec_filter_new(struct inv_spec_filter **made, const char *text,
			struct inv_err *err)
{
	struct inv_spec_filter *f = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	rc = make(f, text, err);
	if (rc) {
		inv_spec_filter_free(f);
		return rc;
	}
	find_tags(f);
	f->run.heap = &f->event;
	f->run.world = &f->world;
	f->prog = f->match.prog;
	*made = f;
	return 0;
}

void inv_spec_filter_free(struct inv_spec_filter *f)
{
	if (!f)
		return;
	inv_match_release(&f->match);
	inv_heap_free(&f->spec);
	inv_heap_free(&f->event);
	free(f);
}

uint64_t inv_spec_filter_undecided(const struct inv_spec_filter *f)
{
	return f->undecided;
}

/* --- using it ------------------------------------------------------------- */

/* Values are compared as the event's own release does. */
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
	if (ev->tag >= INV_TAG_COUNT) /* INV_TAG_OTHER is, too */
		return inv_make_atom(&f->event, name, len);
	t = inv_make_atom(&f->spec, name, len);
	f->tags[ev->tag] = t;
	return t;
}

/* How many elements; negative: a code. */
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

	if (f->by_tag && ev->tag < INV_TAG_COUNT && !f->wants_tag[ev->tag] &&
	    !ev->bare)
		return false;
	if (node != f->node)
		use_node(f, node);
	n = read_event(f, ev, words);
	if (n < 0) {
		f->undecided++;
		return false;
	}
	f->world.self = words[0];
	/* The result of {message, _}, which comes last, need not be asked for. */
	if (ev->ms_result && matches(f, words, (size_t)n - 1))
		return true;
	return matches(f, words, (size_t)n);
}
