/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_SELECTOR_H
#define INV_MATCH_SELECTOR_H

#include "match/parse.h"
#include "match/records.h"
#include "term/tree.h"

/*
 * Parses selectors: the texts that select events, and that `inviso trace' takes
 * as SPEC. This parser works without a node. Examples:
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
	INV_ACTION_RETURN = 1, /* also for the actions slow and failed */
	INV_ACTION_CALLER = 2,
	INV_ACTION_STACK = 4,
	INV_ACTION_COUNT = 8, /* also for the action time */
};

struct inv_selector {
	enum inv_selector_kind kind;
	const char *system; /* only for INV_SELECT_SYSTEM: the tag of the system
			     * monitor's event */
	/* Atoms: the names of the module and the function of a call. '_' stands
	 * for any name. If wild_module is true, the module is a wildcard
	 * (base/glob.h); if wild_function is true, the function is one. */
	inv_word module, function;
	bool wild_module, wild_function;
	int arity; /* -1: any */
	/* A match spec without actions. Its heads match the list of a call's
	 * arguments, or [To,Msg] for send, or [Node,From,Msg] for receive.
	 * INV_NIL: every call or message is selected. */
	inv_word clauses;
	bool raw;	  /* the user wrote the match spec itself */
	unsigned actions; /* set of enum inv_selector_action; 0 if raw is
			     true */
	bool records;	  /* the selector contains a record */
	bool to_name;	  /* a receiver of send is a registered name */
	unsigned n_vars;  /* variables '$1' to '$n_vars'; not set for a raw
			  * selector */
};

/*
 * Parses text.  Stores its terms in *h.  `records' has the definitions of
 * records, or is NULL.  Returns 0, or:
 *
 *	INV_EINVAL	a syntax error, an unknown record, or a group such as
 *			app(shop), whose modules only a node knows; err has the
 *			reason and the character position
 *	INV_ETOOBIG, INV_EDEPTH, INV_ENOMEM
 */
int inv_selector_parse(struct inv_heap *h, const char *text,
		       const struct inv_records *records,
		       struct inv_selector *s, struct inv_err *err);

/*
 * Makes a match spec for events (match/event_match.h) that selects the same
 * events as the selector. Where the selector has a wildcard, the match spec has
 * '_', because match specs have no wildcards.
 * Returns 0, INV_ETOOBIG, or INV_EINVAL if events lack the data that the
 * selector tests.
 */
int inv_selector_events(struct inv_heap *h, const struct inv_selector *s,
			inv_word *spec, struct inv_err *err);

/*
 * Makes the match spec that `inviso trace' sets, with its actions. Sets *event
 * to the kind of events for which it is. Returns 0, INV_ETOOBIG, or INV_EINVAL
 * if there is no such match spec: the selector is not of calls, send or
 * receive, or has the action count or time.
 */
int inv_selector_spec(struct inv_heap *h, const struct inv_selector *s,
		      inv_word *spec, enum inv_match_event *event,
		      struct inv_err *err);

#endif
