/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/look.h"

#include <stdlib.h>
#include <string.h>

enum {
	OPT_TIME = 0x800,
	OPT_INDENT,
	OPT_WIDTH,
	OPT_WRAP,
	OPT_NO_RECORDS,
	OPT_PRINT_DEPTH,
	OPT_SYNTAX,
	OPT_PRETTY,
};

#define WIDTH_MIN 40
#define WIDTH_MAX 100000
#define DEPTH_MAX 10000

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "How events look as text:", 8 },
	{ "time", OPT_TIME, "HOW", 0,
	  "absolute (default); relative: seconds since the first event; delta: "
	  "seconds since the event before",
	  8 },
	{ "indent", OPT_INDENT, NULL, 0,
	  "indent calls and their ends by the calls around them", 8 },
	{ "width", OPT_WIDTH, "COLUMNS", 0,
	  "cut longer lines, and end them with an ellipsis; 0: print whole "
	  "lines (default: the width of a terminal in `inviso trace', else 0)",
	  8 },
	{ "wrap", OPT_WRAP, NULL, 0,
	  "continue long lines on the next line instead of cutting them", 8 },
	{ "pretty", OPT_PRETTY, NULL, 0,
	  "print terms that do not fit into a line on several lines, indented",
	  8 },
	{ "print-depth", OPT_PRINT_DEPTH, "N", 0,
	  "print N levels of nested terms, and deeper ones as {...}; what is "
	  "recorded stays the same (default: all levels)",
	  8 },
	{ "syntax", OPT_SYNTAX, "LANGUAGE", 0,
	  "print terms as erlang or elixir (default: elixir for nodes that run "
	  "Elixir)",
	  8 },
	{ "no-records", OPT_NO_RECORDS, NULL, 0,
	  "print records as tuples, without the names of their fields", 8 },
	{ 0 },
};

static bool set_time(struct inv_sink_opts *o, const char *arg)
{
	static const char *const words[] = {
		[INV_SINK_ABSOLUTE] = "absolute",
		[INV_SINK_RELATIVE] = "relative",
		[INV_SINK_DELTA] = "delta",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(arg, words[i])) {
			o->time = (enum inv_sink_time)i;
			return true;
		}
	return false;
}

static bool set_width(struct inv_look *look, const char *arg)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (*end || end == arg || *arg == '-' || n > WIDTH_MAX ||
	    (n && n < WIDTH_MIN))
		return false;
	look->opts->width = (unsigned)n;
	look->has_width = true;
	return true;
}

static bool set_syntax(struct inv_sink_opts *o, const char *arg)
{
	o->has_syntax = true;
	o->syntax = strcmp(arg, "elixir") ? INV_SYNTAX_ERLANG :
					    INV_SYNTAX_ELIXIR;
	return o->syntax == INV_SYNTAX_ELIXIR || !strcmp(arg, "erlang");
}

static bool set_depth(struct inv_sink_opts *o, const char *arg)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (*end || end == arg || *arg == '-' || n < 1 || n > DEPTH_MAX)
		return false;
	o->depth = (uint32_t)n;
	return true;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct inv_look *look = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		look->opts->records = true;
		return 0;
	case OPT_NO_RECORDS:
		look->opts->records = false;
		return 0;
	case OPT_SYNTAX:
		if (!set_syntax(look->opts, arg))
			argp_error(state,
				   "--syntax %s: not one of erlang and elixir",
				   arg);
		return 0;
	case OPT_PRINT_DEPTH:
		if (!set_depth(look->opts, arg))
			argp_error(state,
				   "--print-depth %s: give a number of levels "
				   "from 1 to %d",
				   arg, DEPTH_MAX);
		return 0;
	case OPT_TIME:
		if (!set_time(look->opts, arg))
			argp_error(state,
				   "--time %s: not one of absolute, relative "
				   "and delta",
				   arg);
		return 0;
	case OPT_INDENT:
		look->opts->indent = true;
		return 0;
	case OPT_WIDTH:
		if (!set_width(look, arg))
			argp_error(state,
				   "--width %s: give 0, or a number of columns "
				   "from %d to %d",
				   arg, WIDTH_MIN, WIDTH_MAX);
		return 0;
	case OPT_PRETTY:
		look->opts->pretty = true;
		return 0;
	case OPT_WRAP:
		look->opts->wrap = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp inv_look_argp = { .options = options, .parser = parse };

void inv_look_release(struct inv_look *look)
{
	inv_fields_release(&look->fields);
}

static int add_record(struct inv_look *look, const struct inv_record_def *r)
{
	const char *module = r->module ? r->module : "";
	struct inv_buf names = { 0 };
	int rc;

	for (size_t i = 0; i < r->n; i++) {
		size_t len = strlen(r->fields[i].name);

		if (len > UINT8_MAX)
			len = UINT8_MAX;
		inv_buf_putc(&names, (char)len);
		inv_buf_put(&names, r->fields[i].name, len);
	}
	rc = names.error;
	if (!rc && names.len)
		rc = inv_fields_add(&look->fields, (const uint8_t *)module,
				    strlen(module), (const uint8_t *)r->name,
				    strlen(r->name), (uint32_t)r->n, names.data,
				    names.len);
	inv_buf_release(&names);
	return rc;
}

int inv_look_records(struct inv_look *look, const struct inv_records *rs)
{
	int rc = 0;

	for (const struct inv_record_def *r = rs->first; !rc && r; r = r->next)
		rc = add_record(look, r);
	if (rs->first)
		look->opts->fields = &look->fields;
	return rc;
}

bool inv_look_fits(const struct inv_look *look)
{
	return !look->has_width;
}
