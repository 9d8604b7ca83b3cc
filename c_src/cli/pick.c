/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/pick.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/spec_actions.h"
#include "cli/units.h"
#include "flow/flow.h"

struct inv_pick_spec {
	struct inv_pick_rule rule;
	struct inv_filter functions;
};

int inv_pick_init(struct inv_pick *p)
{
	memset(p, 0, sizeof(*p));
	p->cursor = malloc(sizeof(*p->cursor));
	return p->cursor ? 0 : INV_ENOMEM;
}

void inv_pick_release(struct inv_pick *p)
{
	for (size_t i = 0; i < p->n_specs; i++)
		inv_filter_release(&p->specs[i].functions);
	free(p->specs);
	free(p->cursor);
	inv_spec_filter_free(p->returns);
	memset(p, 0, sizeof(*p));
}

/* --- the actions of SPECs ------------------------------------------------- */

int inv_pick_add_spec(struct inv_pick *p, const char *spec, struct inv_err *err)
{
	struct inv_spec_actions a;
	struct inv_pick_spec *x;
	int rc = inv_spec_actions_find(&a, spec, err);

	if (!rc && a.no_returns && (p->all.slow || p->all.failed))
		return inv_err_set(err, INV_EINVAL,
				   "--min-duration and --failed need returns: "
				   "add the action return");
	if (rc || (!a.slow && !a.failed))
		return rc;
	x = realloc(p->specs, (p->n_specs + 1) * sizeof(*x));
	if (!x)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	p->specs = x;
	x += p->n_specs;
	x->rule = (struct inv_pick_rule){ a.slow, a.min_ns, a.failed };
	p->group |= a.group;
	if (inv_filter_init(&x->functions))
		return inv_err_set(err, INV_ENOMEM, "no memory");
	p->n_specs++;
	rc = inv_filter_add_mfa(&x->functions, a.function, err);
	/* If the SPEC is invalid, the node's parser reports the error. */
	return rc == INV_EINVAL ? 0 : rc;
}

/*
 * Returns the rules for the nodes. With --failed=PATTERN the nodes do not get
 * the rule `failed', because only the command can test the pattern.
 */
struct inv_session_decide inv_pick_decide(const struct inv_pick *p)
{
	return (struct inv_session_decide){
		.slow = p->all.slow,
		.min_ns = (uint64_t)p->all.min_ns,
		.failed = p->all.failed && !p->returns,
	};
}

/* --- testing an event ----------------------------------------------------- */

/* Returns true if the next term is `error' or a tuple whose first element is
 * `error'. */
static bool is_error(struct inv_cursor *c)
{
	struct inv_token tok;

	if (inv_cursor_next(c, &tok))
		return false;
	if (tok.kind == INV_TOK_TUPLE && tok.count && inv_cursor_next(c, &tok))
		return false;
	return inv_token_is(&tok, "error");
}

/* Moves the cursor to the payload. */
static bool to_payload(struct inv_pick *p, const struct inv_event *ev)
{
	struct inv_token tok;

	return !inv_event_tracee(ev, p->cursor, &tok) &&
	       !inv_event_payload(ev, p->cursor);
}

static bool has_failed(struct inv_pick *p, const struct inv_item *it)
{
	const struct inv_event *ev = &it->ev;
	struct inv_token tok;

	switch (ev->tag) {
	case INV_TAG_EXCEPTION_FROM:
		return true;
	case INV_TAG_EXIT:
		return to_payload(p, ev) && !inv_cursor_next(p->cursor, &tok) &&
		       !inv_token_is(&tok, "normal");
	default:
		if (!ev->extra) { /* the event was recorded without arguments
				     and results */
			p->without_value++;
			return false;
		}
		return (to_payload(p, ev) && !inv_cursor_skip(p->cursor) &&
			is_error(p->cursor)) ||
		       (p->returns &&
			inv_spec_filter_wants(p->returns, ev, it));
	}
}

/* Returns true if the rule picks the call that the event ended. */
static bool picks(struct inv_pick *p, const struct inv_pick_rule *rule,
		  const struct inv_item *it)
{
	const struct inv_call *call = it->facts->call;

	/* If the call is unknown, its duration is unknown, too. */
	if (rule->slow && (!call || call->duration_ns < rule->min_ns))
		return false;
	return !rule->failed || has_failed(p, it);
}

static bool ends_call(const struct inv_item *it)
{
	return it->ev.tag == INV_TAG_RETURN_FROM ||
	       it->ev.tag == INV_TAG_EXCEPTION_FROM || it->facts->call;
}

/* Returns true if the event is a call of a function of the SPEC, or the end of
 * such a call. Other events of such a function, a spawn for example, are not
 * calls. */
static bool has_function(const struct inv_pick_spec *x,
			 const struct inv_item *it)
{
	const struct inv_call *call = it->facts->call;
	struct inv_item begin;

	switch (it->ev.tag) {
	case INV_TAG_CALL:
	case INV_TAG_RETURN_FROM:
	case INV_TAG_EXCEPTION_FROM:
		return it->facts->mfa && inv_filter_wants(&x->functions, it);
	case INV_TAG_EXIT:
		if (!call || !call->event)
			return false;
		begin = *it;
		begin.ev = *call->event;
		return inv_filter_wants(&x->functions, &begin);
	default:
		return false;
	}
}

/* Sets *ruled to true if a SPEC has a rule for the event's function. Returns
 * true if one of these rules picks the event. */
static bool one_of_specs(struct inv_pick *p, const struct inv_item *it,
			 bool *ruled)
{
	*ruled = false;
	for (size_t i = 0; i < p->n_specs; i++) {
		const struct inv_pick_spec *x = &p->specs[i];

		if (!has_function(x, it))
			continue;
		*ruled = true;
		if (ends_call(it) && picks(p, &x->rule, it))
			return true;
	}
	return false;
}

static bool show_call(const struct inv_item *it)
{
	if (it->facts->call)
		inv_flow_show_call(it->facts->flow);
	return true;
}

bool inv_pick_test(struct inv_pick *p, const struct inv_item *it)
{
	bool ruled;

	if (it->kind == INV_ITEM_LOSS)
		return true;
	if (p->decided && it->facts->call && it->facts->call->decided)
		return show_call(it);
	if ((p->all.slow || p->all.failed) &&
	    !(ends_call(it) && picks(p, &p->all, it)))
		return false;
	if (one_of_specs(p, it, &ruled))
		return show_call(it);
	/* The exit of a process is shown even if the call that it ends is not
	 * picked, because the exit is also an event of its own. */
	if (ruled && it->ev.tag != INV_TAG_EXIT)
		return false;
	return p->all.slow || p->all.failed ? show_call(it) : true;
}

uint64_t inv_pick_undecided(const struct inv_pick *p)
{
	return p->without_value +
	       (p->returns ? inv_spec_filter_undecided(p->returns) : 0);
}

/* --- options -------------------------------------------------------------- */

enum {
	OPT_MIN_DURATION = 768,
	OPT_FAILED,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0,
	  "Only some calls, each as one entry, with arguments and result:", 6 },
	{ "min-duration", OPT_MIN_DURATION, "TIME", 0,
	  "show calls that took at least TIME: 500us, 50ms, 2s", 0 },
	{ "failed", OPT_FAILED, "PATTERN", OPTION_ARG_OPTIONAL,
	  "show calls that ended with an exception, or that returned error or "
	  "a tuple that begins with error; with PATTERN, also those that "
	  "returned a term like PATTERN: '--failed={nok,_}'",
	  0 },
	{ 0 },
};

static int set_pattern(struct inv_pick *p, const char *pattern,
		       struct inv_err *err)
{
	char *text = NULL;
	int rc;

	if (asprintf(&text, "[{[_,return_from,_,%s],[],[]}]", pattern) < 0)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	inv_spec_filter_free(p->returns);
	p->returns = NULL;
	rc = inv_spec_filter_new(&p->returns, text, NULL, err);
	free(text);
	return rc;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct inv_pick *p = state->input;
	struct inv_err err = { 0 };
	uint64_t ns;

	switch (key) {
	case OPT_MIN_DURATION:
		if (inv_units_ns(arg, &ns))
			argp_error(state,
				   "--min-duration %s: "
				   "not " INV_UNITS_NS_HELP,
				   arg);
		p->all.slow = true;
		p->all.min_ns = (int64_t)ns;
		return 0;
	case OPT_FAILED:
		p->all.failed = true;
		if (arg && set_pattern(p, arg, &err))
			argp_error(state, "--failed=%s: not a pattern: %s", arg,
				   err.text);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp inv_pick_argp = {
	.options = options,
	.parser = parse,
};
