/* SPDX-License-Identifier: Apache-2.0 */
#include "match/event_match.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "match/selector.h"
#include "term/tree_text.h"

#define WORDS (UINT64_C(1) << 16)
/* Match specs for events may use the functions and actions of the newest
 * release. */
#define RELEASE 29

/* Returns the number of the tag whose name is the atom `t', or 0 if there is no
 * such tag. */
static unsigned tag_of(inv_word t)
{
#define IS(name, number, text)    \
	if (inv_word_is(t, text)) \
		return number;
	INV_TAGS(IS)
#undef IS
	return 0;
}

/* Stores `t' in m->odd if it is the first atom that is no known tag. Such an
 * atom is a tag of a newer release, or a typing error. */
static void note_odd(struct inv_event_match *m, inv_word t)
{
	const inv_word *b = inv_box_of(t, INV_BOX_ATOM);

#define IS_SYSTEM(name, text)     \
	if (inv_word_is(t, text)) \
		return;
	INV_SYSTEM_TAGS(IS_SYSTEM)
#undef IS_SYSTEM
	if (b && !m->odd[0] && !inv_word_is(t, "_") &&
	    inv_spec_var(&m->match.spec, t) < 0)
		snprintf(m->odd, sizeof(m->odd), "%.*s", (int)inv_box_n(b),
			 (const char *)inv_box_ptr(b, 1));
}

/*
 * Finds the tags of events that can match.  Sets by_tag to false if events of
 * all tags can match.
 */
static void find_tags(struct inv_event_match *m)
{
	const struct inv_clause *c = m->match.spec.clauses;

	m->by_tag = true;
	for (; c; c = c->next) {
		bool listed = c->head == INV_HEAD_LIST ||
			      c->head == INV_HEAD_PREFIX;
		inv_word t = listed && c->n_args >= 2 ? c->args[1] : INV_NIL;
		unsigned tag = tag_of(t);

		if (tag) {
			m->tags[tag] = true;
		} else {
			m->by_tag = false;
			note_odd(m, t);
		}
	}
}

static int init(struct inv_event_match *m, struct inv_err *err)
{
	memset(m, 0, sizeof(*m));
	return inv_heap_new(&m->terms, WORDS) ?
		       inv_err_set(err, INV_ENOMEM, "no memory") :
		       0;
}

static int make(struct inv_event_match *m, inv_word spec, struct inv_err *err)
{
	int rc = inv_match_make(&m->match, spec, RELEASE, INV_MATCH_CALL, err);

	if (!rc)
		find_tags(m);
	return rc;
}

static void copy_glob(char *to, size_t size, bool wild, inv_word name)
{
	const inv_word *b = inv_box_of(name, INV_BOX_ATOM);

	if (wild && b && inv_box_n(b) < size) {
		memcpy(to, inv_box_ptr(b, 1), inv_box_n(b));
		to[inv_box_n(b)] = 0;
	}
}

/* Parses a selector, and sets *spec to the match spec that selects the same
 * events. */
static int parse_selector(struct inv_event_match *m, const char *text,
			  const struct inv_records *records, inv_word *spec,
			  struct inv_err *err)
{
	struct inv_selector s;
	int rc = inv_selector_parse(&m->terms, text, records, &s, err);

	if (!rc)
		rc = inv_selector_events(&m->terms, &s, spec, err);
	if (rc)
		return rc;
	copy_glob(m->module_glob, sizeof(m->module_glob), s.wild_module,
		  s.module);
	copy_glob(m->function_glob, sizeof(m->function_glob), s.wild_function,
		  s.function);
	m->to_name = s.to_name;
	return 0;
}

static bool is_match_spec(const char *text)
{
	return text[strspn(text, " \t\n")] == '[';
}

int inv_event_match_select(struct inv_event_match *m, const char *text,
			   const struct inv_records *records,
			   struct inv_err *err)
{
	inv_word spec;
	int rc = init(m, err);

	if (rc)
		return rc;
	rc = is_match_spec(text) ? inv_tree_parse(&m->terms, text, &spec, err) :
				   parse_selector(m, text, records, &spec, err);
	if (rc)
		return rc;
	m->source = spec;
	return make(m, spec, err);
}

int inv_event_match_text(struct inv_event_match *m, const char *text,
			 struct inv_err *err)
{
	return inv_event_match_select(m, text, NULL, err);
}

int inv_event_match_etf(struct inv_event_match *m, const uint8_t *bytes,
			size_t len, struct inv_err *err)
{
	struct inv_cursor *c;
	inv_word spec;
	int rc = init(m, err);

	if (rc)
		return rc;
	c = inv_alloc(sizeof(*c)); /* a cursor is too large for the stack */
	if (!c)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	inv_cursor_init(c, INV_ENC_ETF, NULL, bytes, len);
	rc = inv_tree_read(&m->terms, c, &spec);
	inv_free(c);
	if (rc)
		return inv_err_set(err, INV_EINVAL,
				   "the match spec is too large");
	return make(m, spec, err);
}

void inv_event_match_release(struct inv_event_match *m)
{
	inv_match_release(&m->match);
	inv_heap_free(&m->terms);
}
