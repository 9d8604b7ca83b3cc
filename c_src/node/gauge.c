/* SPDX-License-Identifier: Apache-2.0 */
#include "node/gauge.h"

#include <stdlib.h>
#include <string.h>

#include "abi/control.h"
#include "node/ask.h"

#define ROWS_MAX 600 /* 200 in each order: by mailbox, memory, speed */

static void put_int(struct inv_buf *e, const char *key, int64_t v)
{
	inv_put_atom(e, key);
	inv_etf_int(e, v);
}

void inv_gauge_start_ask(struct inv_ask *ask, struct inv_conn *c,
			 const erlang_pid *guard, int64_t top, int64_t every_ms,
			 int ms)
{
	struct inv_buf e = { 0 };

	inv_etf_list(&e, 1);
	inv_etf_map(&e, 4);
	inv_put_atom(&e, "guard");
	inv_put_pid(&e, guard);
	inv_put_atom(&e, "client");
	inv_put_pid(&e, inv_conn_self(c));
	put_int(&e, "top", top);
	put_int(&e, "every_ms", every_ms);
	inv_etf_nil(&e);
	inv_ask_code(ask, c, "inviso_gauge", "start", &e, ms);
}

int inv_gauge_start_got(const struct inv_ask *ask, struct inv_gauge *out,
			struct inv_err *err)
{
	struct inv_decode d;
	int rc = inv_ask_answer(ask, &d, err);

	out->conn = ask->conn;
	if (!rc)
		rc = inv_decode_ok(&d, 2, err);
	if (!rc && inv_decode_pid(&d, &out->pid))
		rc = inv_decode_strange(&d, err);
	return rc;
}

static void ask_gauge(struct inv_ask *ask, const struct inv_gauge *g,
		      const char *request, int ms)
{
	struct inv_buf e = { 0 };

	inv_put_atom(&e, request);
	inv_ask_pid(ask, g->conn, &g->pid, &e, ms);
}

void inv_gauge_ask(struct inv_ask *ask, const struct inv_gauge *g, int ms)
{
	ask_gauge(ask, g, "measure", ms);
}

void inv_gauge_stop_ask(struct inv_ask *ask, const struct inv_gauge *g, int ms)
{
	ask_gauge(ask, g, "stop", ms);
}

/* On a node to which the command has sent inviso's code, function f of module
 * inviso_x has the name inviso_tracer:'inviso_x:f' (docs/decisions/0513).
 * Changes such a text to inviso_x:f. */
static void plain_function(char *text)
{
	static const char head[] = INV_CONTROL_MODULE ":'";
	size_t n = sizeof(head) - 1;
	char *quote = strrchr(text, '\'');

	if (strncmp(text, head, n) != 0 || quote < text + n)
		return;
	memmove(quote, quote + 1, strlen(quote));
	memmove(text, text + n, strlen(text + n) + 1);
}

static int read_row(struct inv_decode *d, struct inv_gauge_row *row)
{
	static const struct inv_field fields[] = {
		INV_FIELD_TEXT("pid", struct inv_gauge_row, pid),
		INV_FIELD_TEXT("name", struct inv_gauge_row, name),
		INV_FIELD_TEXT("kind", struct inv_gauge_row, kind),
		INV_FIELD_TEXT("status", struct inv_gauge_row, status),
		INV_FIELD_TEXT("current", struct inv_gauge_row, current),
		INV_FIELD("mailbox", inv_field_number, struct inv_gauge_row,
			  mailbox),
		INV_FIELD("memory", inv_field_number, struct inv_gauge_row,
			  memory),
		INV_FIELD("speed", inv_field_number, struct inv_gauge_row,
			  speed),
		INV_FIELD("reductions", inv_field_number, struct inv_gauge_row,
			  reductions),
		{ 0 },
	};

	int rc;

	row->memory = -1;
	row->speed = -1;
	rc = inv_decode_fields(d, fields, row);
	plain_function(row->name);
	plain_function(row->current);
	return rc;
}

static int read_rows(struct inv_decode *d, void *at)
{
	struct inv_gauged *out = at;
	size_t n;
	int rc = inv_decode_list(d, ROWS_MAX, &n);

	if (rc || !n)
		return rc;
	free(out->rows);
	out->n_rows = 0;
	out->rows = calloc(n, sizeof(*out->rows));
	if (!out->rows)
		return INV_ENOMEM;
	while (!rc && out->n_rows < n)
		rc = read_row(d, &out->rows[out->n_rows++]);
	return rc ? rc : inv_cursor_end(&d->c);
}

#define NUMBER(key, member) \
	INV_FIELD(key, inv_field_number, struct inv_gauged, member)

static const struct inv_field memory_fields[] = {
	NUMBER("total", total),
	NUMBER("processes", in_processes),
	NUMBER("binary", binary),
	NUMBER("ets", ets),
	NUMBER("code", code),
	NUMBER("atom", atoms),
	{ 0 },
};

static const struct inv_field scan_fields[] = {
	NUMBER("age_ms", age_ms),
	NUMBER("processes", listed),
	NUMBER("looked", looked),
	NUMBER("round_ms", round_ms),
	NUMBER("cost_ppm", cost_ppm),
	{ .key = "memory", .fields = memory_fields },
	{ .key = "rows", .read = read_rows },
	{ 0 },
};

static const struct inv_field gauged_fields[] = {
	NUMBER("now", now_ns),
	NUMBER("uptime_ms", uptime_ms),
	NUMBER("schedulers", schedulers),
	NUMBER("run_queue", run_queue),
	NUMBER("processes", processes),
	NUMBER("process_limit", process_limit),
	NUMBER("ports", ports),
	NUMBER("reductions", reductions),
	{ .key = "scan", .fields = scan_fields },
	{ 0 },
};

int inv_gauge_got(const struct inv_ask *ask, struct inv_gauged *out,
		  struct inv_err *err)
{
	struct inv_decode d;
	int rc;

	memset(out, 0, sizeof(*out));
	out->age_ms = out->round_ms = -1;
	out->total = out->in_processes = out->binary = -1;
	out->ets = out->code = out->atoms = -1;
	rc = inv_ask_answer(ask, &d, err);
	if (rc)
		return rc;
	rc = inv_decode_fields(&d, gauged_fields, out);
	if (!rc)
		return 0;
	inv_decode_init(&d, d.term, d.len);
	rc = inv_decode_ok(&d, 0, err);
	return rc ? rc : inv_decode_strange(&d, err);
}

void inv_gauged_release(struct inv_gauged *out)
{
	free(out->rows);
	memset(out, 0, sizeof(*out));
}
