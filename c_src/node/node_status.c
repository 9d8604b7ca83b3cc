/* SPDX-License-Identifier: Apache-2.0 */
#include "node/node_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "node/ask.h"

#define LIST_MAX 1024

enum key {
	KEY_OTP,
	KEY_OS_PID,
	KEY_SESSIONS,
	KEY_CLIENTS,
	KEY_OTHERS,
};

static const char *const keys[] = { "otp",     "os_pid", "sessions",
				    "clients", "others", NULL };

/* {Release, Erts} */
static int decode_otp(struct inv_decode *d, struct inv_node_status *out)
{
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

/* The head of a list: its elements, or that it has none. */
static int list_head(struct inv_decode *d, size_t *n)
{
	struct inv_token tok;
	int rc = inv_cursor_next(&d->c, &tok);

	if (rc)
		return rc;
	*n = 0;
	if (tok.kind == INV_TOK_NIL)
		return 0;
	if (tok.kind != INV_TOK_LIST || tok.count > LIST_MAX)
		return inv_decode_bad(d);
	*n = tok.count;
	return 0;
}

static void release_sessions(struct inv_node_status *s)
{
	for (size_t i = 0; i < s->n_sessions; i++)
		inv_status_release(&s->sessions[i]);
	free(s->sessions);
	s->sessions = NULL;
	s->n_sessions = 0;
}

static int decode_sessions(struct inv_decode *d, struct inv_node_status *out)
{
	size_t n;
	int rc = list_head(d, &n);

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

/* #{kind := …, tracer := Text, what := Text} */
static int decode_other(struct inv_decode *d, struct inv_texts *out)
{
	static const char *const names[] = { "kind", "what", "tracer", NULL };
	char texts[3][1024] = { "", "", "" };
	uint32_t pairs = 0;
	struct inv_buf b = { 0 };
	int rc = inv_decode_map(d, &pairs);
	int key;

	for (uint32_t i = 0; !rc && i < pairs; i++) {
		rc = inv_decode_key(d, names, &key);
		if (rc)
			break;
		rc = key < 0 ?
			     inv_decode_skip(d) :
			     inv_decode_text(d, texts[key], sizeof(texts[key]));
	}
	if (!rc)
		rc = inv_cursor_end(&d->c);
	if (rc)
		return rc;
	for (char *p = texts[0]; *p; p++)
		if (*p == '_')
			*p = ' ';
	inv_buf_printf(&b, "%s: %s%s%s", texts[0], texts[1],
		       *texts[2] ? ", by " : "", texts[2]);
	inv_buf_put(&b, "", 1);
	if (b.error) {
		inv_buf_release(&b);
		return INV_ENOMEM;
	}
	out->v[out->n++] = (char *)b.data;
	return 0;
}

static int decode_others(struct inv_decode *d, struct inv_node_status *out)
{
	size_t n;
	int rc = list_head(d, &n);

	if (rc || !n)
		return rc;
	inv_texts_release(&out->others);
	out->others.n = 0;
	out->others.v = calloc(n, sizeof(char *));
	if (!out->others.v)
		return INV_ENOMEM;
	for (size_t i = 0; !rc && i < n; i++)
		rc = decode_other(d, &out->others);
	return rc ? rc : inv_cursor_end(&d->c);
}

static int decode_value(struct inv_decode *d, int key,
			struct inv_node_status *out)
{
	switch (key) {
	case KEY_OTP:
		return decode_otp(d, out);
	case KEY_OS_PID:
		return inv_decode_i64(d, &out->os_pid);
	case KEY_SESSIONS:
		return decode_sessions(d, out);
	case KEY_CLIENTS:
		inv_texts_release(&out->clients);
		return inv_decode_texts(d, &out->clients, LIST_MAX);
	case KEY_OTHERS:
		return decode_others(d, out);
	default:
		return inv_decode_skip(d);
	}
}

void inv_node_status_ask(struct inv_ask *ask, struct inv_conn *c, int ms)
{
	struct inv_ei e;

	inv_ei_init(&e);
	inv_ei_nil(&e);
	inv_ask_rex(ask, c, "inviso_status", "node", &e, ms);
}

int inv_node_status_got(const struct inv_ask *ask, struct inv_node_status *out,
			struct inv_err *err)
{
	struct inv_decode d;
	uint32_t pairs = 0;
	int rc = inv_ask_answer(ask, &d, err);
	int key;

	if (!rc)
		rc = inv_rex_check(&ask->mail, err);
	if (rc)
		return rc;
	rc = inv_decode_map(&d, &pairs);
	for (uint32_t i = 0; !rc && i < pairs; i++) {
		rc = inv_decode_key(&d, keys, &key);
		if (!rc)
			rc = decode_value(&d, key, out);
	}
	return rc ? inv_err_set(err, rc, "its status makes no sense") : 0;
}

void inv_node_status_release(struct inv_node_status *s)
{
	release_sessions(s);
	inv_texts_release(&s->clients);
	inv_texts_release(&s->others);
	memset(s, 0, sizeof(*s));
}
