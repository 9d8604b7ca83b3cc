/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/filter_spec.h"

#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "flow/flow.h"
#include "match/event_match.h"

#define EVENT_WORDS (UINT64_C(1) << 20)
/* One more element than any event has, so that an event with too many elements
 * is detected. */
#define ELEMENTS (INV_EVENT_ELEMENTS + 1)

struct inv_spec_filter {
	struct inv_event_match match; /* its heap also contains the atoms in
					 `tags' */
	struct inv_heap event;
	struct inv_match_prog prog; /* the program that `match' was compiled
				       to; it behaves as in the node's
				       release */
	struct inv_match_world world;
	inv_word node_name[2];
	const struct inv_node *node; /* the node that prog and world are set
					for */
	inv_word tags[INV_TAG_COUNT];
	bool messages; /* set by inv_spec_filter_messages */
	uint64_t undecided;
	struct inv_match_run run;
	struct inv_cursor cursor;
	struct inv_cursor receiver; /* a second cursor, because the words of an
				       event can point into the first cursor */
};

/* --- making a filter ------------------------------------------------------ */

int inv_spec_filter_new(struct inv_spec_filter **made, const char *text,
			const struct inv_records *records, struct inv_err *err)
{
	struct inv_spec_filter *f = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	rc = inv_event_match_select(&f->match, text, records, err);
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

bool inv_spec_filter_messages(struct inv_spec_filter *f)
{
	const bool *tags = f->match.tags;

	if (!f->match.by_tag || tags[INV_TAG_SEQ_TRACE])
		return true;
	f->messages = tags[INV_TAG_SEND] || tags[INV_TAG_RECEIVE];
	return f->messages;
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

static bool is_like(const char *glob, inv_word name)
{
	const inv_word *b = inv_box_of(name, INV_BOX_ATOM);

	return !*glob || (b && inv_glob(glob, inv_box_ptr(b, 1), inv_box_n(b)));
}

/* Returns true if the names in {M,F,Args} match the wildcards of the spec. */
static bool names_fit(const struct inv_spec_filter *f, inv_word mfa)
{
	const inv_word *b = inv_box_of(mfa, INV_BOX_TUPLE);

	return b && inv_box_n(b) == 3 && is_like(f->match.module_glob, b[1]) &&
	       is_like(f->match.function_glob, b[2]);
}

static bool has_globs(const struct inv_spec_filter *f)
{
	return f->match.module_glob[0] || f->match.function_glob[0];
}

/*
 * Changes the words of a seq_trace event into the words of the send or receive
 * event of the same message: [From,send,Msg,To] or [To,'receive',Msg]. Returns
 * the number of words. Returns 0 if the seq_trace event is neither for a sent
 * nor for a received message, or if the spec does not select such messages.
 */
static int as_message(const struct inv_spec_filter *f, inv_word *words)
{
	const inv_word *b = inv_box_of(words[2], INV_BOX_TUPLE);
	bool sent;

	if (!b || inv_box_n(b) != 5)
		return 0;
	sent = inv_word_is(b[1], "send");
	if (!sent && !inv_word_is(b[1], "receive"))
		return 0;
	if (!f->match.tags[sent ? INV_TAG_SEND : INV_TAG_RECEIVE])
		return 0;
	words[0] = sent ? b[3] : b[4];
	words[1] = b[1];
	words[2] = b[5];
	words[3] = sent ? b[4] : 0;
	return sent ? 4 : 3;
}

/* Moves the cursor to the receiver of a sent message. Returns 0 or an error. */
static int find_receiver(struct inv_cursor *c, const struct inv_event *ev)
{
	struct inv_token tok;
	/* To is the fourth element of {send, Serial, From, To, Msg} in a
	 * seq_trace event. In a send event, To follows Msg. */
	int skips = ev->tag == INV_TAG_SEQ_TRACE ? 3 : 1;
	int rc = inv_event_tracee(ev, c, &tok);

	if (!rc)
		rc = inv_event_payload(ev, c);
	if (!rc && ev->tag == INV_TAG_SEQ_TRACE)
		rc = inv_cursor_next(c, &tok);
	while (!rc && skips--)
		rc = inv_cursor_skip(c);
	return rc;
}

/* Returns the registered name of the receiver, if the receiver is a pid or port
 * whose name is known; otherwise 0. */
static inv_word name_of_receiver(struct inv_spec_filter *f,
				 const struct inv_item *it)
{
	struct inv_identity id;
	struct inv_token tok;

	if (!it->facts || find_receiver(&f->receiver, &it->ev) ||
	    inv_cursor_next(&f->receiver, &tok) ||
	    !inv_flow_identify(it->facts->flow, it->node, it->ev.dict, &tok,
			       &id) ||
	    !id.name.registered || !id.name.len)
		return 0;
	return inv_make_atom(&f->event, id.name.text, id.name.len);
}

/* Returns Name if the receiver is {Name,Node}, and otherwise 0. */
static inv_word name_at_node(inv_word to)
{
	const inv_word *b = inv_box_of(to, INV_BOX_TUPLE);

	return b && inv_box_n(b) == 2 ? b[1] : 0;
}

/* Returns true if the event matches. If the last element of the event is the
 * result of the action {message, _}, a spec may omit this element. So the event
 * is first tested without this element. */
static bool matches_either(struct inv_spec_filter *f,
			   const struct inv_event *ev, const inv_word *words,
			   size_t n)
{
	return (ev->ms_result && matches(f, words, n - 1)) ||
	       matches(f, words, n);
}

/* Returns true if the event can match because of its tag. */
static bool tag_fits(const struct inv_spec_filter *f,
		     const struct inv_event *ev)
{
	const bool *tags = f->match.tags;

	return !f->match.by_tag || ev->tag >= INV_TAG_COUNT || ev->bare ||
	       tags[ev->tag] || (f->messages && ev->tag == INV_TAG_SEQ_TRACE);
}

bool inv_spec_filter_wants(struct inv_spec_filter *f,
			   const struct inv_event *ev,
			   const struct inv_item *it)
{
	const struct inv_node *node = it->node;
	inv_word words[ELEMENTS] = { 0 }, name;
	int n;

	if (!tag_fits(f, ev))
		return false;
	if (node != f->node)
		use_node(f, node);
	n = read_event(f, ev, words);
	if (n < 0) {
		f->undecided++;
		return false;
	}
	if (f->messages && ev->tag == INV_TAG_SEQ_TRACE && n == 3)
		n = as_message(f, words);
	if (!n)
		return false;
	f->world.self = words[0];
	if (has_globs(f) && (n < 3 || !names_fit(f, words[2])))
		return false;
	if (matches_either(f, ev, words, (size_t)n))
		return true;
	if (!f->match.to_name || n < 4 || ev != &it->ev)
		return false;
	name = f->messages ? name_at_node(words[3]) : 0;
	if (!name)
		name = name_of_receiver(f, it);
	if (!name)
		return false;
	words[3] = name;
	return matches_either(f, ev, words, (size_t)n);
}
