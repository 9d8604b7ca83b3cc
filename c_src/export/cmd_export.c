/* SPDX-License-Identifier: Apache-2.0 */
#include "export/cmd_export.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/filter_opts.h"
#include "cli/merge_run.h"
#include "cli/pick.h"
#include "cli/redact_opts.h"
#include "cli/units.h"
#include "export/sender.h"
#include "export/target.h"
#include "sink/formats.h"

#define RETRY_MS 60000u
#define TIME_MAX_MS 86400000u

enum {
	OPT_OTLP = 256,
	OPT_HEADER,
	OPT_COMPRESSION,
	OPT_TIMEOUT,
	OPT_RETRY,
	OPT_CA,
	OPT_CERT,
	OPT_KEY,
	OPT_INSECURE,
	OPT_REDACT,
	OPT_UTC,
};

struct export
{
	struct inv_merge_opts merge;
	struct inv_target target;
	struct inv_sender sender;
	struct inv_sink_ops format; /* otlp-proto, whose spans are sent */
	bool json;
};

static const struct argp_option options[] = {
	{ "otlp", OPT_OTLP, "URL", 0,
	  "send the spans to the collector at URL (OTLP over HTTP), such as "
	  "http://localhost:4318; /v1/traces is appended. The default is "
	  "$OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, or "
	  "$OTEL_EXPORTER_OTLP_ENDPOINT",
	  0 },
	{ "header", OPT_HEADER, "KEY=VALUE", 0,
	  "send this header; can be repeated. Other users can see the command "
	  "line: pass secrets in $OTEL_EXPORTER_OTLP_HEADERS",
	  0 },
	{ "compression", OPT_COMPRESSION, "gzip|none", 0,
	  "compress requests; the default is gzip", 0 },
	{ "timeout", OPT_TIMEOUT, "TIME", 0,
	  "wait at most TIME for the answer to a request; the default is 10s",
	  0 },
	{ "retry", OPT_RETRY, "TIME", 0,
	  "repeat a request for at most TIME if the collector is unreachable "
	  "or busy; the default is 1m, and 0 repeats nothing",
	  0 },
	{ "ca", OPT_CA, "FILE", 0,
	  "https: trust the authorities in FILE (PEM), not those of the system",
	  0 },
	{ "cert", OPT_CERT, "FILE", 0,
	  "https: show the certificate in FILE (PEM)", 0 },
	{ "key", OPT_KEY, "FILE", 0, "https: the key of --cert", 0 },
	{ "insecure", OPT_INSECURE, NULL, 0,
	  "https: accept any certificate; then others can read and change "
	  "what is sent",
	  0 },
	{ "redact", OPT_REDACT, "RULES", 0,
	  INV_REDACT_HELP " such as password and authorization", 0 },
	{ "json", 'j', NULL, 0, "print the summary as JSON on a line", 0 },
	{ "utc", OPT_UTC, NULL, 0, "the times of --from and --to are UTC", 0 },
	{ "quiet", 'q', NULL, 0,
	  "print nothing about damage, progress and repeated requests", 0 },
	{ 0 },
};

static const char doc[] =
	"Sends recorded calls and requests as spans to Jaeger, Tempo, or any "
	"other collector of OpenTelemetry."
	"\v"
	"LOG is as for inviso merge: a log, or a directory with logs. The spans "
	"are those of `inviso merge --format otlp': a span for each call that "
	"has ended, for each message of a request (a sequential trace), and "
	"for each loss. If a recording is sent again, its spans have the same "
	"identifiers.\n"
	"\n"
	"Spans contain arguments and results. Values that must not leave the "
	"machine are left out with --redact.\n"
	"\n"
	"Examples:\n"
	"  inviso export --otlp http://localhost:4318 box/\n"
	"  inviso export --otlp http://localhost:4318 --mfa shop:order "
	"--min-duration 50ms box/\n"
	"  inviso export --otlp https://tempo.example --ca ca.pem --redact "
	"default box/\n"
	"  OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 inviso export "
	"a.log b.log\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 usage, 3 the collector cannot be "
	"reached, 4 the collector refused (401, 403, or the certificate of "
	"--cert), or its certificate is not trusted, 5 there are no spans, 7 "
	"done, but events were lost, or the collector rejected spans.";

/* --- options -------------------------------------------------------------- */

static uint64_t time_arg(const struct argp_state *state, const char *option,
			 const char *arg, uint64_t least)
{
	uint64_t ms;

	if (inv_units_ms(arg, &ms) || ms < least || ms > TIME_MAX_MS)
		argp_error(state, "%s %s: not %s, up to 1d", option, arg,
			   INV_UNITS_MS_HELP);
	return ms;
}

static void set_target(struct export *x, int key, const char *arg,
		       const struct argp_state *state)
{
	struct inv_err err = { 0 };

	if (key == OPT_OTLP ? inv_target_url(&x->target, arg, &err) :
			      inv_target_header(&x->target, arg, &err))
		argp_error(state, "--%s: %s",
			   key == OPT_OTLP ? "otlp" : "header", err.text);
}

static void check(struct export *x, const struct argp_state *state)
{
	struct inv_merge_opts *m = &x->merge;
	struct inv_buf warnings = { 0 };
	struct inv_err err = { 0 };
	int rc;

	if (!m->n_files)
		argp_error(state, "no LOG is named");
	inv_merge_opts_end(m, state);
	rc = inv_target_environment(&x->target, &warnings, &err);
	if (warnings.len)
		fprintf(stderr, "%.*s", (int)warnings.len,
			(const char *)warnings.data);
	inv_buf_release(&warnings);
	if (rc)
		argp_error(state, "%s", err.text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct export *x = state->input;
	struct inv_merge_opts *m = &x->merge;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &m->wanted;
		state->child_inputs[1] = &m->pick;
		return 0;
	case OPT_OTLP:
	case OPT_HEADER:
		set_target(x, key, arg, state);
		return 0;
	case OPT_COMPRESSION:
		if (inv_target_compression(&x->target, arg))
			argp_error(state, "--compression %s: not gzip or none",
				   arg);
		return 0;
	case OPT_TIMEOUT:
		x->target.timeout_ms =
			(uint32_t)time_arg(state, "--timeout", arg, 1);
		return 0;
	case OPT_RETRY:
		x->sender.retry_ms = time_arg(state, "--retry", arg, 0);
		return 0;
	case OPT_CA:
		x->target.ca = arg;
		return 0;
	case OPT_CERT:
		x->target.cert = arg;
		return 0;
	case OPT_KEY:
		x->target.key = arg;
		return 0;
	case OPT_INSECURE:
		x->target.insecure = true;
		return 0;
	case OPT_REDACT:
		m->redact_texts[m->n_redact_texts++] = arg;
		return 0;
	case OPT_UTC:
		m->sink.utc = 1;
		return 0;
	case 'j':
		x->json = true;
		return 0;
	case 'q':
		m->quiet = x->sender.quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		m->files[m->n_files++] = arg;
		return 0;
	case ARGP_KEY_END:
		check(x, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &inv_filter_argp, 0, NULL, 0 },
	{ &inv_pick_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "LOG...",
	.doc = doc,
	.children = children,
};

/* --- the work ------------------------------------------------------------- */

/* The counts of the merge, which are complete when its sink ends. */
static struct inv_summary sum;
/* How many calls were read, and how many ends of calls. */
static uint64_t calls, ends;

static int event(struct inv_sink *s, const struct inv_item *it)
{
	calls += it->ev.tag == INV_TAG_CALL;
	ends += it->ev.tag == INV_TAG_RETURN_FROM ||
		it->ev.tag == INV_TAG_EXCEPTION_FROM;
	return inv_sink_otlp_proto.event(s, it);
}

static void end(struct inv_sink *s)
{
	sum = s->sum;
	inv_sink_otlp_proto.end(s);
}

static void put_text(const struct export *x, struct inv_buf *b)
{
	const struct inv_sender *s = &x->sender;

	inv_buf_printf(b, "%s: %" PRIu64 " span(s) accepted", x->target.shown,
		       s->accepted);
	if (s->rejected)
		inv_buf_printf(b, ", %" PRIu64 " rejected", s->rejected);
	inv_buf_printf(b, ", in %" PRIu64 " request(s)", s->requests);
	if (s->retries)
		inv_buf_printf(b, ", %" PRIu64 " repeated", s->retries);
	inv_buf_puts(b, ": ");
	inv_summary_text(&sum, b);
	inv_buf_putc(b, '\n');
}

static void put_json(const struct export *x, struct inv_buf *b)
{
	const struct inv_sender *s = &x->sender;
	struct inv_json j = { .out = b };

	inv_json_open(&j, NULL, '{');
	inv_json_text(&j, "url", x->target.shown);
	inv_json_uint(&j, "accepted", s->accepted);
	inv_json_uint(&j, "rejected", s->rejected);
	inv_json_uint(&j, "requests", s->requests);
	inv_json_uint(&j, "retries", s->retries);
	inv_json_uint(&j, "recorded", sum.recorded);
	inv_json_uint(&j, "filtered", sum.filtered);
	inv_json_uint(&j, "lost", inv_summary_lost(&sum));
	inv_json_close(&j, '}');
	inv_json_line(&j);
}

static int say_summary(const struct export *x)
{
	struct inv_buf b = { 0 };
	int rc = -1;

	if (x->json)
		put_json(x, &b);
	else
		put_text(x, &b);
	if (!b.error && printf("%.*s", (int)b.len, (const char *)b.data) >= 0)
		rc = fflush(stdout);
	inv_buf_release(&b);
	if (rc)
		fprintf(stderr, "inviso export: cannot write the summary\n");
	return rc;
}

/* Reports rejected spans, and chooses the status. */
static int finish(const struct export *x, int status)
{
	const struct inv_sender *s = &x->sender;

	if (!s->rejected && s->why.len)
		fprintf(stderr,
			"inviso export: the collector accepted all spans, and "
			"says: %.*s\n",
			(int)s->why.len, (const char *)s->why.data);
	if (s->rejected)
		fprintf(stderr,
			"inviso export: the collector rejected %" PRIu64
			" span(s)%s%.*s\n",
			s->rejected, s->why.len ? ": " : "", (int)s->why.len,
			s->why.len ? (const char *)s->why.data : "");
	if (s->status)
		return s->status;
	if (status != INV_EXIT_DONE && status != INV_EXIT_LOST)
		return status;
	if (say_summary(x))
		return INV_EXIT_FAILED;
	if (calls && !ends)
		fprintf(stderr,
			"inviso export: calls without an end have no span, and "
			"no end is recorded or selected; to record the ends of "
			"calls, record with `-> return'\n");
	if (!s->requests) {
		fprintf(stderr,
			"inviso export: there are no spans: no call whose end "
			"is recorded, no request and no loss\n");
		return INV_EXIT_NOTHING;
	}
	return s->rejected ? INV_EXIT_LOST : status;
}

static int run(struct export *x)
{
	struct inv_err err = { 0 };

	if (inv_sender_init(&x->sender, &x->target, &err)) {
		fprintf(stderr, "inviso export: %s\n", err.text);
		return INV_EXIT_FAILED;
	}
	x->format = inv_sink_otlp_proto;
	x->format.event = event;
	x->format.end = end;
	x->merge.format = &x->format;
	x->merge.sink.spans = &x->sender.taker;
	return finish(x, inv_merge_run(&x->merge));
}

static int exec_export(int argc, char **argv)
{
	struct export x = { .sender = { .retry_ms = RETRY_MS } };
	struct inv_merge_opts *m = &x.merge;
	int status = inv_merge_opts_init(m, "inviso export", argc);

	m->sink.records = true;
	if (!status)
		status = argp_parse(&argp, argc, argv, 0, NULL, &x) ?
				 INV_EXIT_USAGE :
				 run(&x);
	inv_sender_release(&x.sender);
	inv_target_release(&x.target);
	inv_merge_opts_release(m);
	return status;
}

const struct inv_cmd inv_cmd_export = {
	.name = "export",
	.summary = INV_CMD_EXPORT_SUMMARY,
	.exec = exec_export,
};
