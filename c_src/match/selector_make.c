/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "match/selector_int.h"

/*
 * Makes match specs from a parsed selector. This uses the parser's functions
 * that make terms. They need a struct inv__selector, of which they use only the
 * heap and the error.
 */
#define atom inv__selector_named
#define tuple inv__selector_tuple
#define cons inv__selector_cons

static struct inv__selector *maker(struct inv__selector *c, struct inv_heap *h,
				   struct inv_err *err)
{
	inv_text_init(&c->text, h, "", err);
	return c;
}

static inv_word list(struct inv__selector *c, size_t n, const inv_word *w)
{
	inv_word l = INV_NIL;

	while (n > 0)
		l = cons(c, w[--n], l);
	return l;
}

#define LIST(c, ...)                                                    \
	list(c, sizeof((inv_word[]){ __VA_ARGS__ }) / sizeof(inv_word), \
	     (inv_word[]){ __VA_ARGS__ })
#define TUPLE(c, ...)                                                    \
	tuple(c, sizeof((inv_word[]){ __VA_ARGS__ }) / sizeof(inv_word), \
	      (inv_word[]){ __VA_ARGS__ })

/* Returns the list l in reverse order. The functions below add clauses at the
 * front of a list, so it must be reversed at the end. */
static inv_word reversed(struct inv__selector *c, inv_word l)
{
	inv_word r = INV_NIL;

	for (; inv_is_cons(l); l = inv_cons(l)[1])
		r = cons(c, inv_cons(l)[0], r);
	return r;
}

static bool is_list(inv_word t)
{
	return t == INV_NIL || inv_is_cons(t);
}

/* Returns true if the term contains '$_'. */
static bool has_args(inv_word t)
{
	const inv_word *b;

	for (; inv_is_cons(t); t = inv_cons(t)[1])
		if (has_args(inv_cons(t)[0]))
			return true;
	if (inv_word_is(t, "$_"))
		return true;
	b = inv_box_of(t, INV_BOX_TUPLE);
	for (uint64_t i = 1; b && i <= inv_box_n(b); i++)
		if (has_args(b[i]))
			return true;
	b = inv_box_of(t, INV_BOX_MAP);
	for (uint64_t i = 1; b && i <= 2 * inv_box_n(b); i++)
		if (has_args(b[i]))
			return true;
	return false;
}

static int whole(struct inv__selector *c)
{
	return inv_err_set(c->text.err, INV_EINVAL,
			   "in a match spec for recorded events, '$_' would be "
			   "the whole event: name the arguments");
}

/* --- calls ---------------------------------------------------------------- */

static inv_word any_args(struct inv__selector *c, int arity)
{
	inv_word l = INV_NIL;

	if (arity < 0)
		return atom(c, "_");
	while (arity-- > 0)
		l = cons(c, atom(c, "_"), l);
	return l;
}

/* Returns a clause for call events: {[_, call, {M,F,Args}], Guards, Body}. */
static inv_word of_call(struct inv__selector *c, const struct inv_selector *s,
			inv_word args, inv_word guards, inv_word body)
{
	inv_word any = atom(c, "_");
	inv_word mfa = TUPLE(c, s->wild_module ? any : s->module,
			     s->wild_function ? any : s->function, args);

	return TUPLE(c, LIST(c, any, atom(c, "call"), mfa), guards, body);
}

/* Returns the clauses for a selector of calls that has neither arguments nor a
 * match spec. If it has an arity, one of the clauses has {M,F,Arity}, and
 * selects calls whose arguments were not recorded. */
static inv_word calls(struct inv__selector *c, const struct inv_selector *s)
{
	inv_word l = INV_NIL;

	if (s->arity >= 0)
		l = cons(c,
			 of_call(c, s, inv_make_int(c->text.h, s->arity),
				 INV_NIL, INV_NIL),
			 l);
	return cons(c, of_call(c, s, any_args(c, s->arity), INV_NIL, INV_NIL),
		    l);
}

static int call_clauses(struct inv__selector *c, const struct inv_selector *s,
			inv_word *spec)
{
	inv_word l = INV_NIL;

	if (s->clauses == INV_NIL) {
		*spec = calls(c, s);
		return 0;
	}
	for (inv_word x = s->clauses; inv_is_cons(x); x = inv_cons(x)[1]) {
		const inv_word *b = inv_box(inv_cons(x)[0]);
		inv_word args = b[1];

		if (has_args(b[2]) || has_args(b[3]))
			return whole(c);
		if (s->arity >= 0 && inv_word_is(args, "_"))
			args = any_args(c, s->arity);
		else if (s->arity >= 0 && !is_list(args))
			return inv_err_set(c->text.err, INV_EINVAL,
					   "with an arity, the head of the "
					   "match spec is a list");
		l = cons(c, of_call(c, s, args, b[2], b[3]), l);
	}
	*spec = reversed(c, l);
	return 0;
}

/* --- messages ------------------------------------------------------------- */

/* Adds to l clauses for messages that match `msg' and are sent to `to': one
 * clause for each of the two tags, send and send_to_non_existing_process. */
static inv_word of_send(struct inv__selector *c, inv_word to, inv_word msg,
			inv_word guards, inv_word body, inv_word l)
{
	static const char *const tags[] = { "send",
					    "send_to_non_existing_process" };

	for (size_t i = 0; i < 2; i++)
		l = cons(c,
			 TUPLE(c,
			       LIST(c, atom(c, "_"), atom(c, tags[i]), msg, to),
			       guards, body),
			 l);
	return l;
}

static bool is_name(inv_word t)
{
	const inv_word *b = inv_box_of(t, INV_BOX_ATOM);

	return b && !inv_word_is(t, "_") &&
	       (!inv_box_n(b) || *(const char *)inv_box_ptr(b, 1) != '$');
}

/* A message to the registered name Name can also be sent to {Name,Node}, where
 * Node is the sender's own node. Adds the clauses for this form to l. b is the
 * clause for messages to Name. */
static inv_word of_name(struct inv__selector *c, const struct inv_selector *s,
			const inv_word *b, inv_word l)
{
	inv_word to = inv_cons(b[1])[0];
	inv_word msg = inv_cons(inv_cons(b[1])[1])[0];
	inv_word var, guard;
	char text[16];

	snprintf(text, sizeof(text), "$%u", s->n_vars + 1);
	var = atom(c, text);
	guard = TUPLE(c, atom(c, "=="), var, TUPLE(c, atom(c, "node")));
	return of_send(c, TUPLE(c, to, var), msg, cons(c, guard, b[2]), b[3],
		       l);
}

static int send_clauses(struct inv__selector *c, const struct inv_selector *s,
			inv_word *spec)
{
	inv_word any = atom(c, "_"), l = INV_NIL;

	if (s->clauses == INV_NIL)
		l = of_send(c, any, any, INV_NIL, INV_NIL, l);
	for (inv_word x = s->clauses; inv_is_cons(x); x = inv_cons(x)[1]) {
		const inv_word *b = inv_box(inv_cons(x)[0]);
		inv_word to = any, msg = any;

		if (has_args(b[2]) || has_args(b[3]))
			return whole(c);
		if (inv_is_cons(b[1])) {
			to = inv_cons(b[1])[0];
			msg = inv_cons(inv_cons(b[1])[1])[0];
		} else if (!inv_word_is(b[1], "_")) {
			return whole(c);
		}
		l = of_send(c, to, msg, b[2], b[3], l);
		if (!s->raw && is_name(to))
			l = of_name(c, s, b, l);
	}
	*spec = reversed(c, l);
	return 0;
}

static int receive_clauses(struct inv__selector *c,
			   const struct inv_selector *s, inv_word *spec)
{
	inv_word any = atom(c, "_"), l = INV_NIL;

	if (s->clauses == INV_NIL)
		l = cons(c,
			 TUPLE(c, LIST(c, any, atom(c, "receive"), any),
			       INV_NIL, INV_NIL),
			 l);
	for (inv_word x = s->clauses; inv_is_cons(x); x = inv_cons(x)[1]) {
		const inv_word *b = inv_box(inv_cons(x)[0]);
		inv_word msg = any, from = any, node = any;

		if (has_args(b[2]) || has_args(b[3]))
			return whole(c);
		if (inv_is_cons(b[1])) {
			node = inv_cons(b[1])[0];
			from = inv_cons(inv_cons(b[1])[1])[0];
			msg = inv_cons(inv_cons(inv_cons(b[1])[1])[1])[0];
		}
		if ((!inv_is_cons(b[1]) && !inv_word_is(b[1], "_")) ||
		    !inv_word_is(from, "_") || !inv_word_is(node, "_"))
			return inv_err_set(
				c->text.err, INV_EINVAL,
				"an event of a received message does not have "
				"the sender: write receive(Msg)");
		l = cons(c,
			 TUPLE(c, LIST(c, any, atom(c, "receive"), msg), b[2],
			       b[3]),
			 l);
	}
	*spec = reversed(c, l);
	return 0;
}

/* --- other events --------------------------------------------------------- */

static const char *const of_procs[] = {
	"spawn",
	"spawned",
	"exit",
	"link",
	"unlink",
	"getting_linked",
	"getting_unlinked",
	"register",
	"unregister",
	NULL,
};
static const char *const of_ports[] = {
	"open",	    "closed",	      "link",
	"unlink",   "getting_linked", "getting_unlinked",
	"register", "unregister",     NULL,
};
static const char *const of_running[] = {
	"in", "out", "in_exiting", "out_exiting", "out_exited", NULL,
};
static const char *const of_gc[] = {
	"gc_minor_start", "gc_minor_end",     "gc_major_start",
	"gc_major_end",	  "gc_max_heap_size", NULL,
};

/* Returns a list of clauses, {[Tracee, Tag | _], Guards, []} for each of the
 * tags. `test' is the name of a function such as is_pid, which must be true for
 * the tracee, or NULL. */
static inv_word of_tags(struct inv__selector *c, const char *const *tags,
			const char *test)
{
	inv_word tracee = atom(c, "$1"), guards = INV_NIL, l = INV_NIL, head;

	if (test)
		guards = LIST(c, TUPLE(c, atom(c, test), tracee));
	for (; *tags; tags++) {
		head = cons(c, atom(c, *tags), atom(c, "_"));
		head = cons(c, tracee, head);
		l = cons(c, TUPLE(c, head, guards, INV_NIL), l);
	}
	return reversed(c, l);
}

int inv_selector_events(struct inv_heap *h, const struct inv_selector *s,
			inv_word *spec, struct inv_err *err)
{
	struct inv__selector maker_of, *c = maker(&maker_of, h, err);
	int rc = 0;

	if (s->actions)
		return inv_err_set(err, INV_EINVAL,
				   "actions have no place here: the events are "
				   "recorded already");
	*spec = 0;
	switch (s->kind) {
	case INV_SELECT_CALL:
		rc = call_clauses(c, s, spec);
		break;
	case INV_SELECT_SEND:
		rc = send_clauses(c, s, spec);
		break;
	case INV_SELECT_RECEIVE:
		rc = receive_clauses(c, s, spec);
		break;
	case INV_SELECT_PROCS:
		*spec = of_tags(c, of_procs, "is_pid");
		break;
	case INV_SELECT_PORTS:
		*spec = of_tags(c, of_ports, "is_port");
		break;
	case INV_SELECT_RUNNING:
		*spec = of_tags(c, of_running, NULL);
		break;
	case INV_SELECT_GC:
		*spec = of_tags(c, of_gc, NULL);
		break;
	case INV_SELECT_SYSTEM:
		*spec = of_tags(c, (const char *const[]){ s->system, NULL },
				NULL);
		break;
	}
	return rc ? rc : c->text.rc;
}

/* --- the match spec of a trace pattern ------------------------------------ */

static inv_word body(struct inv__selector *c, unsigned actions)
{
	inv_word caller = TUPLE(c, atom(c, "caller"));
	inv_word stack = TUPLE(c, atom(c, "current_stacktrace"));
	inv_word extra = actions & INV_ACTION_CALLER ? caller : stack;
	inv_word l = INV_NIL;

	if (actions & INV_ACTION_RETURN)
		l = cons(c, TUPLE(c, atom(c, "exception_trace")), l);
	if (actions & INV_ACTION_CALLER && actions & INV_ACTION_STACK)
		extra = TUPLE(c, TUPLE(c, caller, stack));
	if (actions & (INV_ACTION_CALLER | INV_ACTION_STACK))
		l = cons(c, TUPLE(c, atom(c, "message"), extra), l);
	return l;
}

int inv_selector_spec(struct inv_heap *h, const struct inv_selector *s,
		      inv_word *spec, enum inv_match_event *event,
		      struct inv_err *err)
{
	struct inv__selector maker_of, *c = maker(&maker_of, h, err);
	inv_word l = INV_NIL, does = body(c, s->actions);

	if (s->kind > INV_SELECT_RECEIVE)
		return inv_err_set(err, INV_EINVAL,
				   "only calls, send and receive have match "
				   "specs");
	if (s->actions & INV_ACTION_COUNT)
		return inv_err_set(
			err, INV_EINVAL,
			"count and time use the VM's counters, which "
			"have no match spec");
	*event = s->kind == INV_SELECT_CALL ? INV_MATCH_CALL :
		 s->kind == INV_SELECT_SEND ? INV_MATCH_SEND :
					      INV_MATCH_RECEIVE;
	if (s->clauses == INV_NIL)
		l = LIST(c, TUPLE(c,
				  s->kind == INV_SELECT_CALL ?
					  any_args(c, s->arity) :
					  atom(c, "_"),
				  INV_NIL, does));
	for (inv_word x = s->clauses; inv_is_cons(x); x = inv_cons(x)[1]) {
		const inv_word *b = inv_box(inv_cons(x)[0]);

		l = cons(c,
			 s->raw ? inv_cons(x)[0] : TUPLE(c, b[1], b[2], does),
			 l);
	}
	*spec = s->clauses == INV_NIL ? l : reversed(c, l);
	return c->text.rc;
}
