/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/look.h"

#include <stdlib.h>
#include <string.h>

enum {
	OPT_TIME = 0x800,
	OPT_INDENT,
	OPT_WIDTH,
	OPT_WRAP
};

#define WIDTH_MIN 40
#define WIDTH_MAX 100000

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "How events look as text:", 7 },
	{ "time", OPT_TIME, "HOW", 0,
	  "absolute (default); relative: seconds since the first event; delta: "
	  "seconds since the event before",
	  7 },
	{ "indent", OPT_INDENT, NULL, 0,
	  "indent calls and their ends by the calls around them", 7 },
	{ "width", OPT_WIDTH, "COLUMNS", 0,
	  "cut longer lines, and end them with an ellipsis; 0: print whole "
	  "lines (default: the width of a terminal in `inviso trace', else 0)",
	  7 },
	{ "wrap", OPT_WRAP, NULL, 0,
	  "continue long lines on the next line instead of cutting them", 7 },
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

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct inv_look *look = state->input;

	switch (key) {
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
	case OPT_WRAP:
		look->opts->wrap = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp inv_look_argp = { .options = options, .parser = parse };

bool inv_look_fits(const struct inv_look *look)
{
	return !look->has_width;
}
