/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/filter_opts.h"

#include <stdio.h>

#include "cli/record_files.h"
#include "flow/facts.h"

int inv_filter_opts_init(struct inv_filter_opts *o)
{
	*o = (struct inv_filter_opts){ .has_from = false };
	return inv_filter_init(&o->filter);
}

void inv_filter_opts_release(struct inv_filter_opts *o)
{
	inv_filter_release(&o->filter);
	inv_spec_filter_free(o->spec);
	inv_records_release(&o->records);
}

bool inv_filter_opts_pass_end(const struct inv_filter_opts *o,
			      const struct inv_item *it)
{
	const struct inv_call *call = it->facts ? it->facts->call : NULL;

	return call && call->event && call->end != INV_CALL_EXIT &&
	       inv_spec_filter_wants(o->spec, call->event, it);
}

bool inv_filter_opts_dated(const struct inv_filter_opts *o)
{
	return !(o->has_from && inv_when_needs_day(&o->from)) &&
	       !(o->has_until && inv_when_needs_day(&o->until));
}

int inv_filter_opts_resolve(struct inv_filter_opts *o, bool utc,
			    int64_t first_ns, struct inv_err *err)
{
	int64_t from = INT64_MIN, until = INT64_MAX;

	if (!o->has_from && !o->has_until)
		return 0;
	if (o->has_from)
		from = inv_when_ns(&o->from, utc, first_ns, 0);
	if (o->has_until)
		until = inv_when_ns(&o->until, utc, first_ns, 0);
	/* If --to is earlier in the day than --from, --to is on the next
	 * day. */
	if (o->has_from && o->has_until && until < from &&
	    inv_when_needs_day(&o->from) && inv_when_needs_day(&o->until))
		until = inv_when_ns(&o->until, utc, first_ns, 1);
	if (until < from)
		return inv_err_set(
			err, INV_EINVAL,
			"--to is before --from, so no event can match");
	inv_filter_time(&o->filter, from, until);
	return 0;
}

enum {
	OPT_FROM = 512,
	OPT_TO,
	OPT_PID,
	OPT_TAG,
	OPT_MFA,
	OPT_FILTER,
	OPT_RECORDS,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Only some of the events:", 5 },
	{ "from", OPT_FROM, "TIME", 0,
	  "print events from TIME on: 2026-11-21T10:37:44.5 (with Z: UTC), "
	  "10:37:44.5 (on the day of the first event), or seconds since the "
	  "Unix epoch",
	  0 },
	{ "to", OPT_TO, "TIME", 0, "print events before TIME", 0 },
	{ "pid", OPT_PID, "PID", 0,
	  "print events of the process '<0.88.0>' (or port), as its own node "
	  "prints it; 'shop@host=<0.88.0>': only of that node; can be repeated",
	  0 },
	{ "tag", OPT_TAG, "TAG,...", 0,
	  "print events of these trace tags: call, return_from, send, ...; can "
	  "be repeated",
	  0 },
	{ "mfa", OPT_MFA, "M:F/A", 0,
	  "print events of this function: lists:seq/2, or Enum.map/2; "
	  "lists:seq is every arity, lists every function of the module; can "
	  "be repeated",
	  0 },
	{ "filter", OPT_FILTER, "SPEC", 0,
	  "print events that match SPEC, which is as for `inviso trace', such "
	  "as 'shop:order(N, _) when N > 9' or 'send(cart, {add, _})', or a "
	  "match spec over the process, the tag and the rest of the trace "
	  "message, such as '[{[_,send,stop,_],[],[]}]'",
	  0 },
	{ "records", OPT_RECORDS, "FILE", 0,
	  "FILE, a .hrl, .erl or .beam file, defines records, in --filter and "
	  "in the output; "
	  "can be repeated",
	  0 },
	{ 0 },
};

void inv_filter_odd_tag(const struct argp_state *state, const char *odd)
{
	if (*odd)
		fprintf(stderr,
			"%s: warning: --filter: there is no trace tag %s; "
			"`inviso merge --tag ?' lists them\n",
			state->name, odd);
}

/* Makes the filter when all options are known, because --records can come after
 * --filter. */
static void make_spec(struct inv_filter_opts *o, struct argp_state *state)
{
	struct inv_err err = { 0 };

	if (!o->text)
		return;
	if (inv_spec_filter_new(&o->spec, o->text, &o->records, &err))
		argp_error(state, "--filter: %s", err.text);
	else
		inv_filter_odd_tag(state, inv_spec_filter_odd(o->spec));
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct inv_filter_opts *o = state->input;
	struct inv_err err = { 0 };
	const char *name;
	int rc;

	switch (key) {
	case OPT_FROM:
		name = "--from";
		o->has_from = true;
		rc = inv_when_parse(&o->from, arg, &err);
		break;
	case OPT_TO:
		name = "--to";
		o->has_until = true;
		rc = inv_when_parse(&o->until, arg, &err);
		break;
	case OPT_PID:
		name = "--pid";
		rc = inv_filter_add_pid(&o->filter, arg, &err);
		break;
	case OPT_TAG:
		name = "--tag";
		rc = inv_filter_add_tags(&o->filter, arg, &err);
		break;
	case OPT_MFA:
		name = "--mfa";
		rc = inv_filter_add_mfa(&o->filter, arg, &err);
		break;
	case OPT_FILTER:
		o->text = arg;
		return 0;
	case OPT_RECORDS:
		if (inv_record_file_load(&o->records, arg, &err))
			argp_error(state, "%s", err.text);
		return 0;
	case ARGP_KEY_END:
		make_spec(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (rc)
		argp_error(state, "%s %s", name, err.text);
	return 0;
}

const struct argp inv_filter_argp = {
	.options = options,
	.parser = parse,
};
