/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/redact_event.h"

#include <stdlib.h>
#include <string.h>

/* --- definitions of records ----------------------------------------------- */

static bool alike(const struct inv_record_def *a,
		  const struct inv_record_def *b)
{
	if (strcmp(a->name, b->name) != 0 || a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->fields[i].name, b->fields[i].name) != 0)
			return false;
	return true;
}

/* Returns true if the newest definition equals an earlier definition. */
static bool is_old(const struct inv_redact_events *r)
{
	const struct inv_record_def *def = r->known.first;

	for (const struct inv_record_def *d = def->next; d; d = d->next)
		if (alike(d, def))
			return true;
	return false;
}

/* Adds a copy of the definition. */
static int know(struct inv_redact_events *r, const struct inv_record_def *def,
		struct inv_err *err)
{
	struct inv_record_def *own =
		inv_records_add(&r->known, NULL, def->name, strlen(def->name));

	for (size_t i = 0; own && i < def->n; i++)
		if (!inv_record_add_field(own, def->fields[i].name,
					  strlen(def->fields[i].name)))
			own = NULL;
	if (!own)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	return inv_redact_learn(&r->rules, &r->known, own->name, err);
}

/* Reads a note that defines a record. Its terms are: [] or a module, the
 * record's name, and the list of its fields. */
static int learn(struct inv_redact_events *r, const struct inv_event *ev,
		 struct inv_err *err)
{
	struct inv_cursor *c = &r->cursor;
	struct inv_record_def *def;
	struct inv_token tok;

	if (!r->rules.n_keys && !r->rules.n_globs)
		return 0;
	inv_cursor_init(c, INV_ENC_PACKED, ev->dict, ev->terms, ev->len);
	if (inv_cursor_next(c, &tok)) /* the module */
		return 0;
	if (inv_cursor_next(c, &tok) || tok.kind != INV_TOK_ATOM)
		return 0;
	def = inv_records_add(&r->known, NULL, (const char *)tok.bytes,
			      tok.len);
	if (!def)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	if (inv_cursor_next(c, &tok) || tok.kind != INV_TOK_LIST)
		return 0;
	while (!inv_cursor_next(c, &tok) && tok.kind == INV_TOK_ATOM)
		if (!inv_record_add_field(def, (const char *)tok.bytes,
					  tok.len))
			return inv_err_set(err, INV_ENOMEM, "no memory");
	return is_old(r) ?
		       0 :
		       inv_redact_learn(&r->rules, &r->known, def->name, err);
}

int inv_redact_events_new(struct inv_redact_events **made,
			  const char *const *rules, size_t n,
			  const struct inv_records *records,
			  struct inv_err *err)
{
	struct inv_redact_events *r = calloc(1, sizeof(*r));
	int rc = 0;

	if (!r)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	for (size_t i = 0; !rc && i < n; i++)
		rc = inv_redact_parse(&r->rules, rules[i], strlen(rules[i]),
				      records, err);
	for (const struct inv_record_def *d = records ? records->first : NULL;
	     !rc && d; d = d->next)
		rc = know(r, d, err);
	if (rc || !inv_redact_any(&r->rules)) {
		inv_redact_events_free(r);
		r = NULL;
	}
	*made = r;
	return rc;
}

void inv_redact_events_free(struct inv_redact_events *r)
{
	if (!r)
		return;
	inv_buf_release(&r->out);
	inv_redact_ends_release(&r->ends);
	inv_records_release(&r->known);
	free(r);
}

/* --- events --------------------------------------------------------------- */

#define BIT(tag) (1u << INV_TAG_##tag)

#define FUNCTION_TAGS                                                          \
	(BIT(CALL) | BIT(RETURN_TO) | BIT(RETURN_FROM) | BIT(EXCEPTION_FROM) | \
	 BIT(IN) | BIT(OUT) | BIT(IN_EXITING) | BIT(OUT_EXITING) |             \
	 BIT(OUT_EXITED))

#define PLAIN_TAGS                                                         \
	(BIT(SPAWN) | BIT(SPAWNED) | BIT(LINK) | BIT(UNLINK) |             \
	 BIT(GETTING_LINKED) | BIT(GETTING_UNLINKED) | BIT(REGISTER) |     \
	 BIT(UNREGISTER) | BIT(GC_MINOR_START) | BIT(GC_MINOR_END) |       \
	 BIT(GC_MAJOR_START) | BIT(GC_MAJOR_END) | BIT(GC_MAX_HEAP_SIZE) | \
	 BIT(OPEN))

static bool is_one_of(const struct inv_event *ev, uint32_t tags)
{
	return ev->tag < INV_TAG_COUNT && 1u << ev->tag & tags;
}

/* Redacts {send | 'receive' | print, Serial, From, To, Message}. */
static int seq_trace(struct inv_redact_copy *x)
{
	int rc = 0;

	if (!inv_redact_open_tuple(x, 5))
		return inv_redact_term(x, INV_REDACT_BY_RULES);
	for (unsigned i = 0; !rc && i < 4; i++)
		rc = inv_redact_term(x, INV_REDACT_NOT);
	return rc ? rc : inv_redact_term(x, INV_REDACT_BY_RULES);
}

static int payload(struct inv_redact_copy *x, const struct inv_event *ev,
		   struct inv_redact_call *call)
{
	if (is_one_of(ev, FUNCTION_TAGS))
		return inv_redact_mfa_term(x, call);
	if (is_one_of(ev, PLAIN_TAGS))
		return inv_redact_term(x, INV_REDACT_NOT);
	if (ev->tag == INV_TAG_SEQ_TRACE)
		return seq_trace(x);
	if (ev->tag == INV_TAG_EXIT && x->rules->n_functions > 0)
		return inv_redact_term(x, INV_REDACT_REASON);
	return inv_redact_term(x, INV_REDACT_BY_RULES);
}

/* Redacts {Class, Reason}. Called if at least one function has a rule, because
 * the exception may come from that function. hidden: the whole Reason is
 * replaced by a mark. */
static int exception(struct inv_redact_copy *x, bool hidden)
{
	int rc;

	if (!inv_redact_open_tuple(x, 2))
		return inv_redact_term(x, INV_REDACT_REASON);
	rc = inv_redact_term(x, INV_REDACT_NOT);
	return rc ? rc :
		    inv_redact_term(x, hidden ? INV_REDACT_HIDE :
						INV_REDACT_REASON);
}

static int extra(struct inv_redact_copy *x, const struct inv_event *ev,
		 const struct inv_redact_call *call)
{
	struct inv_redact_call spawned;

	switch (ev->tag) {
	case INV_TAG_SEND:
	case INV_TAG_SEND_NO_PROC:
		return inv_redact_term(x, INV_REDACT_NOT);
	case INV_TAG_SPAWN:
	case INV_TAG_SPAWNED:
		return inv_redact_mfa_term(x, &spawned);
	case INV_TAG_RETURN_FROM:
		return inv_redact_term(x, call->result ? INV_REDACT_HIDE :
							 INV_REDACT_BY_RULES);
	case INV_TAG_EXCEPTION_FROM:
		if (x->rules->n_functions > 0)
			return exception(x, call->result);
		break;
	default:
		break;
	}
	return inv_redact_term(x, INV_REDACT_BY_RULES);
}

/* Redacts the call in the record of a call's end (INV_EV_WHOLE). The terms are
 * three numbers, and then optionally the process, the call, and the value of a
 * match spec. */
static int whole(struct inv_redact_copy *x)
{
	struct inv_redact_call call = { .any = false };
	int rc = 0;

	for (unsigned i = 0; !rc && i < 3; i++)
		rc = inv_redact_term(x, INV_REDACT_NOT);
	if (rc || x->p >= x->end)
		return rc;
	rc = inv_redact_term(x, INV_REDACT_NOT);
	if (!rc)
		rc = inv_redact_mfa_term(x, &call);
	if (!rc && x->p < x->end)
		rc = call.any ? inv_redact_term(x, INV_REDACT_REASON) :
				inv_redact_result(x);
	return rc;
}

static int event(struct inv_redact_copy *x, const struct inv_event *ev)
{
	struct inv_redact_call call = { .any = false };
	int rc = 0;

	if (ev->tag == INV_TAG_OTHER)
		rc = inv_redact_term(x, INV_REDACT_NOT);
	if (!rc)
		rc = inv_redact_term(x, ev->tag == INV_TAG_SEQ_TRACE ?
						INV_REDACT_BY_RULES :
						INV_REDACT_NOT);
	if (!rc)
		rc = payload(x, ev, &call);
	if (!rc && ev->extra)
		rc = extra(x, ev, &call);
	if (!rc && ev->ms_result)
		rc = call.any ? inv_redact_term(x, INV_REDACT_REASON) :
				inv_redact_result(x);
	return !rc && ev->whole ? whole(x) : rc;
}

/* Redacts the terms of a note. Only one kind of note is changed: in a note with
 * a pid, INV_NAME_LABEL and a label, the label is redacted. */
static int note(struct inv_redact_copy *x, const struct inv_event *ev)
{
	bool label = false;
	int rc = 0;

	for (unsigned i = 0; !rc && x->p < x->end; i++) {
		if (i == 1)
			label = ev->note == INV_NOTE_NAME &&
				*x->p == INV_NAME_LABEL;
		rc = inv_redact_term(x, label && i == 2 ? INV_REDACT_BY_RULES :
							  INV_REDACT_NOT);
	}
	return rc;
}

/* Makes an item without terms from an item that cannot be read: a note becomes
 * a note of an unknown kind, an event becomes a loss. */
static void lose(struct inv_item *it)
{
	if (it->kind == INV_ITEM_NOTE) {
		it->ev.note = UINT32_MAX;
		it->ev.len = 0;
		return;
	}
	it->kind = INV_ITEM_LOSS;
	it->lost.n = 1;
	it->lost.reason = INV_LOST_UNREADABLE;
}

int inv_redact_item(struct inv_redact_events *r, struct inv_item *it,
		    struct inv_err *err)
{
	struct inv_redact_copy x = {
		.rules = &r->rules,
		.dict = it->ev.dict,
		.cursor = &r->cursor,
		.ends = &r->ends,
		.p = it->ev.terms,
		.end = it->ev.terms + it->ev.len,
		.out = &r->out,
	};
	int rc = 0;

	if (it->kind == INV_ITEM_LOSS)
		return 0;
	if (it->kind == INV_ITEM_NOTE && it->ev.note == INV_NOTE_RECORD &&
	    it->ev.enc == INV_ENC_PACKED)
		rc = learn(r, &it->ev, err);
	if (rc)
		return rc;
	inv_buf_reset(&r->out);
	inv_redact_ends_reset(&r->ends);
	rc = it->ev.enc != INV_ENC_PACKED ? INV_EFORMAT :
	     it->kind == INV_ITEM_NOTE	  ? note(&x, &it->ev) :
					    event(&x, &it->ev);
	if (r->out.error || r->ends.found.error)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	if (rc) {
		lose(it);
		return 0;
	}
	it->ev.terms = r->out.data;
	it->ev.len = r->out.len;
	it->ev.redacted |= x.marks > 0;
	r->marks += x.marks;
	return 0;
}
