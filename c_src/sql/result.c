/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/result.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "sink/fit.h"

/* The minimum width of a column if the line is too narrow for all columns. */
#define NARROW 12u

void inv_result_release(struct inv_result *r)
{
	inv_buf_release(&r->out);
	inv_buf_release(&r->cells);
	free(r->widths);
	free(r->numbers);
	memset(r, 0, sizeof(*r));
}

/* --- CSV ------------------------------------------------------------------ */

static void csv_text(struct inv_buf *b, const char *p, size_t n)
{
	bool plain = n > 0;

	for (size_t i = 0; plain && i < n; i++)
		plain = p[i] != '"' && p[i] != ',' && p[i] != '\n' &&
			p[i] != '\r';
	if (plain) {
		inv_buf_put(b, p, n);
		return;
	}
	inv_buf_putc(b, '"');
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '"')
			inv_buf_putc(b, '"');
		inv_buf_putc(b, p[i]);
	}
	inv_buf_putc(b, '"');
}

/* Appends a blob as SQLite writes it, X'00ff'. */
static void blob(struct inv_buf *b, const uint8_t *p, size_t n)
{
	inv_buf_puts(b, "X'");
	for (size_t i = 0; i < n; i++)
		inv_buf_printf(b, "%02X", p[i]);
	inv_buf_putc(b, '\'');
}

static void csv_row(struct inv_result *r, sqlite3_stmt *s)
{
	for (int i = 0; i < r->n; i++) {
		if (i)
			inv_buf_putc(&r->out, ',');
		switch (sqlite3_column_type(s, i)) {
		case SQLITE_NULL:
			break;
		case SQLITE_TEXT:
			csv_text(&r->out,
				 (const char *)sqlite3_column_text(s, i),
				 (size_t)sqlite3_column_bytes(s, i));
			break;
		case SQLITE_BLOB:
			blob(&r->out, sqlite3_column_blob(s, i),
			     (size_t)sqlite3_column_bytes(s, i));
			break;
		default:
			inv_buf_puts(&r->out,
				     (const char *)sqlite3_column_text(s, i));
			break;
		}
	}
	inv_buf_puts(&r->out, "\r\n");
}

static void csv_head(struct inv_result *r, sqlite3_stmt *s)
{
	for (int i = 0; i < r->n; i++) {
		const char *name = sqlite3_column_name(s, i);

		if (i)
			inv_buf_putc(&r->out, ',');
		csv_text(&r->out, name, strlen(name));
	}
	inv_buf_puts(&r->out, "\r\n");
}

/* --- JSON ----------------------------------------------------------------- */

static void json_cell(struct inv_json *j, sqlite3_stmt *s, int i)
{
	struct inv_buf b = { 0 };

	inv_json_key_text(j, sqlite3_column_name(s, i));
	switch (sqlite3_column_type(s, i)) {
	case SQLITE_NULL:
		inv_json_null(j, NULL);
		break;
	case SQLITE_TEXT:
		inv_json_bytes(j, NULL, sqlite3_column_text(s, i),
			       (size_t)sqlite3_column_bytes(s, i));
		break;
	case SQLITE_BLOB:
		blob(&b, sqlite3_column_blob(s, i),
		     (size_t)sqlite3_column_bytes(s, i));
		inv_json_bytes(j, NULL, b.data, b.len);
		inv_buf_release(&b);
		break;
	case SQLITE_FLOAT: {
		double f = sqlite3_column_double(s, i);

		/* JSON has no infinite numbers. */
		if (f - f != 0) {
			inv_json_null(j, NULL);
			break;
		}
		inv_buf_puts(j->out, (const char *)sqlite3_column_text(s, i));
		j->more = true;
		break;
	}
	default:
		inv_json_int(j, NULL, sqlite3_column_int64(s, i));
		break;
	}
}

static void json_row(struct inv_result *r, sqlite3_stmt *s)
{
	struct inv_json j = { .out = &r->out };

	inv_json_open(&j, NULL, '{');
	for (int i = 0; i < r->n; i++)
		json_cell(&j, s, i);
	inv_json_close(&j, '}');
	inv_json_line(&j);
}

/* --- tables --------------------------------------------------------------- */

/* Stores the text of a cell. Question marks replace control characters and
 * hidden characters. */
static void keep(struct inv_result *r, int column, const void *text, size_t len)
{
	size_t begin = r->cells.len;
	const uint8_t *p = text, *end = p + len;
	unsigned columns;

	while (p < end) {
		unsigned n;
		uint32_t c = inv_utf8_get(p, end, &n);

		if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == INV_CHAR_BAD ||
		    inv_char_hidden(c))
			inv_buf_putc(&r->cells, '?');
		else
			inv_buf_put(&r->cells, p, n);
		p += n;
	}
	if (r->cells.error)
		return;
	columns = inv_fit_columns(r->cells.data + begin, r->cells.len - begin);
	if (columns > r->widths[column] && !r->begun)
		r->widths[column] = columns;
	inv_buf_putc(&r->cells, 0);
}

static void table_row(struct inv_result *r, sqlite3_stmt *s)
{
	for (int i = 0; i < r->n; i++) {
		struct inv_buf b = { 0 };
		int type = sqlite3_column_type(s, i);

		if (type == SQLITE_TEXT || type == SQLITE_BLOB)
			r->numbers[i] = false;
		if (type == SQLITE_BLOB) {
			blob(&b, sqlite3_column_blob(s, i),
			     (size_t)sqlite3_column_bytes(s, i));
			keep(r, i, b.data, b.len);
			inv_buf_release(&b);
		} else {
			const void *text = sqlite3_column_text(s, i);

			keep(r, i, text ? text : "",
			     (size_t)sqlite3_column_bytes(s, i));
		}
	}
}

/* Narrows the widest columns until a line fits. */
static void fit(struct inv_result *r)
{
	for (;;) {
		unsigned all = 0;
		int widest = 0;

		for (int i = 0; i < r->n; i++) {
			all += r->widths[i] + (i ? 2 : 0);
			if (r->widths[i] > r->widths[widest])
				widest = i;
		}
		if (!r->width || all <= r->width || !r->n ||
		    r->widths[widest] <= NARROW)
			return;
		r->widths[widest] -=
			all - r->width < r->widths[widest] - NARROW &&
					r->widths[widest] > 40 ?
				1 + (all - r->width) / 4 :
				1;
	}
}

static void pad(struct inv_buf *b, unsigned n)
{
	while (n--)
		inv_buf_putc(b, ' ');
}

static void table_cell(struct inv_result *r, int i, const char *text)
{
	size_t len = strlen(text), begin;
	unsigned columns = inv_fit_columns(text, len);
	struct inv_buf spare = { 0 };

	if (i)
		inv_buf_puts(&r->out, "  ");
	if (columns < r->widths[i] && r->numbers[i])
		pad(&r->out, r->widths[i] - columns);
	begin = r->out.len;
	inv_buf_put(&r->out, text, len);
	if (columns > r->widths[i] && r->widths[i])
		inv_fit_lines(&r->out, begin, r->widths[i], "", &spare);
	else if (!r->numbers[i] && i + 1 < r->n)
		pad(&r->out, r->widths[i] - columns);
	inv_buf_release(&spare);
}

/* Prints the kept rows. */
static void table_flush(struct inv_result *r)
{
	size_t at = 0;

	if (r->cells.error)
		r->out.error = r->cells.error;
	if (!r->begun)
		fit(r);
	r->begun = true;
	while (at < r->cells.len && !r->out.error) {
		for (int i = 0; i < r->n; i++) {
			const char *text = (const char *)r->cells.data + at;

			table_cell(r, i, text);
			at += strlen(text) + 1;
		}
		inv_buf_putc(&r->out, '\n');
	}
	inv_buf_reset(&r->cells);
}

static void table_head(struct inv_result *r, sqlite3_stmt *s)
{
	for (int i = 0; i < r->n; i++) {
		const char *name = sqlite3_column_name(s, i);

		keep(r, i, name, strlen(name));
	}
}

/* -------------------------------------------------------------------------- */

int inv_result_begin(struct inv_result *r, sqlite3_stmt *s)
{
	r->n = sqlite3_column_count(s);
	r->widths = calloc((size_t)r->n + 1, sizeof(*r->widths));
	r->numbers = calloc((size_t)r->n + 1, sizeof(*r->numbers));
	if (!r->widths || !r->numbers)
		return INV_ENOMEM;
	for (int i = 0; i < r->n; i++)
		r->numbers[i] = true;
	if (r->form == INV_RESULT_CSV)
		csv_head(r, s);
	else if (r->form == INV_RESULT_TABLE)
		table_head(r, s);
	return 0;
}

void inv_result_row(struct inv_result *r, sqlite3_stmt *s)
{
	if (r->form == INV_RESULT_CSV)
		csv_row(r, s);
	else if (r->form == INV_RESULT_JSON)
		json_row(r, s);
	else
		table_row(r, s);
	if (r->cells.len > INV_RESULT_KEPT)
		table_flush(r);
}

void inv_result_end(struct inv_result *r)
{
	if (r->form == INV_RESULT_TABLE)
		table_flush(r);
}
