/* SPDX-License-Identifier: Apache-2.0 */
#include "node/node_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/ask.h"

#define LIST_MAX 1024

/* Reads {Release, Erts}. */
static int read_otp(struct inv_decode *d, void *at)
{
	struct inv_node_status *out = at;
	char release[32], erts[32];
	struct inv_token tok;
	int rc = inv_cursor_next(&d->c, &tok);

	if (rc || tok.kind != INV_TOK_TUPLE || tok.count != 2)
		return inv_decode_bad(d);
	rc = inv_decode_text(d, release, sizeof(release));
	if (!rc)
		rc = inv_decode_text(d, erts, sizeof(erts));
	if (!rc && inv_cursor_end(&d->c))
		rc = inv_decode_bad(d);
	if (!rc)
		snprintf(out->otp, sizeof(out->otp), "%s (erts %s)", release,
			 erts);
	return rc;
}

static void release_sessions(struct inv_node_status *s)
{
	for (size_t i = 0; i < s->n_sessions; i++)
		inv_status_release(&s->sessions[i]);
	free(s->sessions);
	s->sessions = NULL;
	s->n_sessions = 0;
}

static int read_sessions(struct inv_decode *d, void *at)
{
	struct inv_node_status *out = at;
	size_t n;
	int rc = inv_decode_list(d, LIST_MAX, &n);

	if (rc || !n)
		return rc;
	release_sessions(out);
	out->sessions = calloc(n, sizeof(*out->sessions));
	if (!out->sessions)
		return INV_ENOMEM;
	for (size_t i = 0; !rc && i < n; i++) {
		out->n_sessions++;
		rc = inv_status_decode(d, &out->sessions[i]);
	}
	return rc ? rc : inv_cursor_end(&d->c);
}

/* Reads what another tool traces: #{kind := …, tracer := Text, what := Text} */
static int decode_other(struct inv_decode *d, struct inv_texts *out)
{
	struct other {
		char kind[64], what[1024], tracer[1024];
	} o = { "", "", "" };
	static const struct inv_field fields[] = {
		INV_FIELD_TEXT("kind", struct other, kind),
		INV_FIELD_TEXT("what", struct other, what),
		INV_FIELD_TEXT("tracer", struct other, tracer),
		{ 0 },
	};
	int rc = inv_decode_fields(d, fields, &o);

	if (rc)
		return rc;
	for (char *p = o.kind; *p; p++)
		if (*p == '_')
			*p = ' ';
	if (asprintf(&out->v[out->n], "%s: %s%s%s", o.kind, o.what,
		     *o.tracer ? ", by " : "", o.tracer) < 0)
		return INV_ENOMEM;
	out->n++;
	return 0;
}

static int read_others(struct inv_decode *d, void *at)
{
	struct inv_texts *out = at;
	size_t n;
	int rc = inv_decode_list(d, LIST_MAX, &n);

	if (rc || !n)
		return rc;
	inv_texts_release(out);
	out->v = calloc(n, sizeof(*out->v));
	if (!out->v)
		return INV_ENOMEM;
	for (size_t i = 0; !rc && i < n; i++)
		rc = decode_other(d, out);
	return rc ? rc : inv_cursor_end(&d->c);
}

void inv_node_status_ask(struct inv_ask *ask, struct inv_conn *c, int ms)
{
	struct inv_buf e = { 0 };

	inv_etf_nil(&e);
	inv_ask_code(ask, c, "inviso_status", "node", &e, ms);
}

int inv_node_status_got(const struct inv_ask *ask, struct inv_node_status *out,
			struct inv_err *err)
{
	static const struct inv_field fields[] = {
		{ .key = "otp", .read = read_otp },
		INV_FIELD("os_pid", inv_field_number, struct inv_node_status,
			  os_pid),
		{ .key = "sessions", .read = read_sessions },
		INV_FIELD("clients", inv_field_texts, struct inv_node_status,
			  clients),
		INV_FIELD("others", read_others, struct inv_node_status,
			  others),
		{ 0 },
	};
	struct inv_decode d;
	int rc = inv_ask_answer(ask, &d, err);

	if (rc)
		return rc;
	if (inv_decode_fields(&d, fields, out) == 0)
		return 0;
	inv_decode_init(&d, d.term, d.len);
	return inv_decode_ok(&d, 0, err);
}

void inv_node_status_release(struct inv_node_status *s)
{
	release_sessions(s);
	inv_texts_release(&s->clients);
	inv_texts_release(&s->others);
	memset(s, 0, sizeof(*s));
}
