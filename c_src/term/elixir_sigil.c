/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints Elixir's ranges, dates and times in the short form of inspect/2: 1..10
 * or ~D[2026-11-25]. The short form is used only if the struct has exactly the
 * fields that its module defines, and if all values fit this form. Otherwise
 * the struct is printed like any other struct, as %Date{...}.
 */
#include "term/print_int.h"

#include <inttypes.h>
#include <string.h>

enum field {
	FIRST,
	LAST,
	STEP,
	YEAR,
	MONTH,
	DAY,
	HOUR,
	MINUTE,
	SECOND,
	UTC_OFFSET,
	STD_OFFSET,
	MICROSECOND,
	STRUCT,
	CALENDAR,
	TIME_ZONE,
	ZONE_ABBR,
	FIELDS
};

static const char *const names[FIELDS] = {
	[FIRST] = "first",
	[LAST] = "last",
	[STEP] = "step",
	[YEAR] = "year",
	[MONTH] = "month",
	[DAY] = "day",
	[HOUR] = "hour",
	[MINUTE] = "minute",
	[SECOND] = "second",
	[UTC_OFFSET] = "utc_offset",
	[STD_OFFSET] = "std_offset",
	[MICROSECOND] = "microsecond",
	[STRUCT] = "__struct__",
	[CALENDAR] = "calendar",
	[TIME_ZONE] = "time_zone",
	[ZONE_ABBR] = "zone_abbr",
};

#define BIT(f) (1u << (f))
#define OF_RANGE (BIT(FIRST) | BIT(LAST) | BIT(STEP))
#define OF_DATE (BIT(YEAR) | BIT(MONTH) | BIT(DAY))
#define OF_TIME (BIT(HOUR) | BIT(MINUTE) | BIT(SECOND) | BIT(MICROSECOND))
#define OF_ZONE \
	(BIT(UTC_OFFSET) | BIT(STD_OFFSET) | BIT(TIME_ZONE) | BIT(ZONE_ABBR))

static const struct kind {
	const char *module;
	unsigned fields;
	char sigil; /* letter of the sigil; 0: printed as a range */
} kinds[] = {
	{ "Elixir.Range", OF_RANGE, 0 },
	{ "Elixir.Date", BIT(CALENDAR) | OF_DATE, 'D' },
	{ "Elixir.Time", BIT(CALENDAR) | OF_TIME, 'T' },
	{ "Elixir.NaiveDateTime", BIT(CALENDAR) | OF_DATE | OF_TIME, 'N' },
	{ "Elixir.DateTime", BIT(CALENDAR) | OF_DATE | OF_TIME | OF_ZONE, 'U' },
};

struct values {
	int64_t v[MICROSECOND + 1];
	int64_t precision; /* how many digits of the microseconds are known */
	unsigned found;	   /* the set of fields that were read, without
			    * STRUCT */
};

static bool is_text(const struct inv_token *tok, const char *text)
{
	return tok->len == strlen(text) && !memcmp(tok->bytes, text, tok->len);
}

static bool get_int(struct inv_cursor *c, int64_t *v)
{
	struct inv_token tok;

	if (inv_cursor_next(c, &tok) || tok.kind != INV_TOK_INT)
		return false;
	*v = tok.i;
	return true;
}

/* Reads the tuple {Microseconds, Precision}, whose first token was just
 * read. */
static bool get_microsecond(struct inv_cursor *c, const struct inv_token *first,
			    struct values *v)
{
	struct inv_token tok;

	return first->kind == INV_TOK_TUPLE && first->count == 2 &&
	       get_int(c, &v->v[MICROSECOND]) && get_int(c, &v->precision) &&
	       !inv_cursor_next(c, &tok) && tok.kind == INV_TOK_END;
}

/* Reads the value of a field. Returns false if the value does not fit the short
 * form, so that the struct must be printed like any other struct. */
static bool get_value(struct inv_cursor *c, enum field f, struct values *v)
{
	struct inv_token tok;

	if (inv_cursor_next(c, &tok))
		return false;
	switch (f) {
	case STRUCT:
		return tok.kind == INV_TOK_ATOM;
	case CALENDAR:
		return inv_token_is(&tok, "Elixir.Calendar.ISO");
	case TIME_ZONE:
	case ZONE_ABBR:
		return tok.kind == INV_TOK_BINARY && !tok.cut &&
		       tok.last_bits == 8 &&
		       is_text(&tok, f == TIME_ZONE ? "Etc/UTC" : "UTC");
	case MICROSECOND:
		return get_microsecond(c, &tok, v);
	default:
		v->v[f] = tok.i;
		return tok.kind == INV_TOK_INT;
	}
}

/* Reads the pairs of the map that was just opened, and its END. */
static bool get_values(struct inv_cursor *c, unsigned fields, struct values *v)
{
	struct inv_token tok;
	unsigned f;

	for (;;) {
		if (inv_cursor_next(c, &tok))
			return false;
		if (tok.kind == INV_TOK_END)
			return v->found == fields;
		for (f = 0; f < FIELDS && !inv_token_is(&tok, names[f]); f++)
			;
		if (f == FIELDS || v->found & BIT(f) || !get_value(c, f, v))
			return false;
		v->found |= f == STRUCT ? 0 : BIT(f);
	}
}

static bool is_in(int64_t n, int64_t least, int64_t most)
{
	return n >= least && n <= most;
}

static bool is_date(const int64_t *v)
{
	static const uint8_t days[] = { 31, 28, 31, 30, 31, 30,
					31, 31, 30, 31, 30, 31 };
	bool leap = v[YEAR] % 4 == 0 && (v[YEAR] % 100 || v[YEAR] % 400 == 0);

	return is_in(v[YEAR], 0, 9999) && is_in(v[MONTH], 1, 12) &&
	       is_in(v[DAY], 1,
		     days[v[MONTH] - 1] + (leap && v[MONTH] == 2 ? 1 : 0));
}

/* Returns how many microseconds one unit of the last decimal place is, if
 * seconds have `precision' decimal places: 1000 for three places. */
static int64_t unit(int64_t precision)
{
	int64_t n = 1;

	for (; precision < 6; precision++)
		n *= 10;
	return n;
}

static bool is_time(const struct values *v)
{
	return is_in(v->v[HOUR], 0, 23) && is_in(v->v[MINUTE], 0, 59) &&
	       is_in(v->v[SECOND], 0, 59) && is_in(v->precision, 0, 6) &&
	       is_in(v->v[MICROSECOND], 0, 999999) &&
	       v->v[MICROSECOND] % unit(v->precision) == 0;
}

static bool is_valid(const struct values *v, unsigned fields)
{
	if (fields & BIT(STEP))
		return v->v[STEP] != 0;
	return (!(fields & BIT(DAY)) || is_date(v->v)) &&
	       (!(fields & BIT(HOUR)) || is_time(v)) && v->v[UTC_OFFSET] == 0 &&
	       v->v[STD_OFFSET] == 0;
}

static void put_range(const int64_t *v, struct inv_buf *out)
{
	inv_buf_printf(out, "%" PRId64 "..%" PRId64, v[FIRST], v[LAST]);
	if (v[STEP] != 1 || v[FIRST] > v[LAST])
		inv_buf_printf(out, "//%" PRId64, v[STEP]);
}

static void put_time(const struct values *v, struct inv_buf *out)
{
	inv_buf_printf(out, "%02d:%02d:%02d", (int)v->v[HOUR],
		       (int)v->v[MINUTE], (int)v->v[SECOND]);
	if (v->precision > 0)
		inv_buf_printf(out, ".%0*d", (int)v->precision,
			       (int)(v->v[MICROSECOND] / unit(v->precision)));
}

static void put_sigil(const struct kind *k, const struct values *v,
		      struct inv_buf *out)
{
	inv_buf_printf(out, "~%c[", k->sigil);
	if (k->fields & BIT(DAY))
		inv_buf_printf(out, "%04d-%02d-%02d", (int)v->v[YEAR],
			       (int)v->v[MONTH], (int)v->v[DAY]);
	if (k->fields & BIT(HOUR)) {
		inv_buf_puts(out, k->fields & BIT(DAY) ? " " : "");
		put_time(v, out);
	}
	inv_buf_puts(out, k->fields & BIT(TIME_ZONE) ? "Z]" : "]");
}

bool inv__elixir_sigil(struct inv_cursor *c, const uint8_t *module, size_t len,
		       uint32_t *inside, struct inv_buf *out)
{
	struct values v = { .found = 0 };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const struct kind *k = &kinds[i];

		if (len != strlen(k->module) ||
		    memcmp(module, k->module, len) != 0)
			continue;
		if (!get_values(c, k->fields, &v) || !is_valid(&v, k->fields))
			return false;
		if (k->sigil)
			put_sigil(k, &v, out);
		else
			put_range(v.v, out);
		*inside = k->fields & BIT(MICROSECOND) ? 1 : 0;
		return true;
	}
	return false;
}
