/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_SELECTOR_H
#define INV_MATCH_SELECTOR_H

#include "match/parse.h"
#include "match/records.h"
#include "term/tree.h"

/*
 * Parses selectors, the texts that `inviso trace' takes as SPEC, without a
 * node.
 *
 * 	lists:seq(A, B) when A > B, is_integer(B)
 * 	shop:order(#order{id = 7}, #{qty := N}) when N > 10; N == 0
 * 	lists:seq/2   lists:seq   lists   lists:seq/2 [{[1,_],[],[]}]
 * 	Shop.Cart.add(%{id: id}, _) when id > 3
 * 	shop_*:handle_*(_, stop)   Shop.*.add/2
 * 	send(Msg)   send(To, Msg)   receive(Msg)   procs   ports   running   gc
 * 	long_gc   long_schedule   large_heap   busy_port   busy_dist_port
 *
 * src/spec/inviso_spec.erl parses the same texts on a node;
 * test/ct/inviso_selector_SUITE compares the two parsers.
 */
enum inv_selector_kind {
	INV_SELECT_CALL,
	INV_SELECT_SEND,
	INV_SELECT_RECEIVE,
	INV_SELECT_PROCS,
	INV_SELECT_PORTS,
	INV_SELECT_RUNNING,
	INV_SELECT_GC,
	INV_SELECT_SYSTEM, /* long_gc and others, see `system' */
};

enum inv_selector_action {
	INV_ACTION_RETURN = 1, /* also slow and failed */
	INV_ACTION_CALLER = 2,
	INV_ACTION_STACK = 4,
	INV_ACTION_COUNT = 8, /* also time */
};

struct inv_selector {
	enum inv_selector_kind kind;
	const char *system; /* the tag of the system monitor's event */
	/* The names in a call. '_' stands for any name, and each can be a
	 * wildcard (base/glob.h). */
	inv_word module, function;
	bool wild_module, wild_function;
	int arity; /* -1: any */
	/* The match spec over the arguments, [To,Msg] or [Node,From,Msg], without
	 * the actions.  INV_NIL: every call or message. */
	inv_word clauses;
	bool raw; /* the user wrote the match spec */
	unsigned
		actions; /* set of enum inv_selector_action; of a raw match spec
			     0 */
	bool records;	 /* it has a record */
	bool to_name;	 /* a receiver of send is a name */
	unsigned n_vars; /* variables '$1' to '$n_vars'; not set for a raw
			  * selector */
};

/*
 * Parses text.  Its terms are stored in h.  records may be NULL.  Returns 0, or:
 *
 *	INV_EINVAL	a syntax error, an unknown record, or a group such as
 *			app(shop), which only a node knows; err has the reason
 *			and the character position
 *	INV_ETOOBIG, INV_EDEPTH, INV_ENOMEM
 */
int inv_selector_parse(struct inv_heap *h, const char *text,
		       const struct inv_records *records,
		       struct inv_selector *s, struct inv_err *err);

/*
 * Makes a match spec for events (match/event_match.h). In the place of a
 * wildcard, the match spec has '_'. Returns 0, INV_ETOOBIG, or INV_EINVAL if
 * events do not contain the facts that the selector tests.
 */
int inv_selector_events(struct inv_heap *h, const struct inv_selector *s,
			inv_word *spec, struct inv_err *err);

/*
 * Makes the match spec that `inviso trace' sets, with its actions. Returns 0,
 * INV_ETOOBIG, or INV_EINVAL if there is no such match spec: for procs, ports,
 * running, gc, long_gc and count.
 */
int inv_selector_spec(struct inv_heap *h, const struct inv_selector *s,
		      inv_word *spec, enum inv_match_event *event,
		      struct inv_err *err);

#endif
