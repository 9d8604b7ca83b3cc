/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/spec_actions.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/units.h"

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '@';
}

static const char *skip_space(const char *p)
{
	while (isspace((unsigned char)*p))
		p++;
	return p;
}

/* Skips a quoted text, a literal of a character ($x, in Elixir ?x), or any
 * other single character at p. Returns the place after it. `begin' is the first
 * character of the whole SPEC. */
static const char *skip(const char *begin, const char *p)
{
	char quote = *p;
	/* The ? of ok?(1) belongs to the name of a function. */
	bool character = *p == '$' ||
			 (*p == '?' && (p == begin || !is_name(p[-1])));

	if (character && p[1])
		return p + (p[1] == '\\' && p[2] ? 3 : 2);
	if (quote != '\'' && quote != '"')
		return p + 1;
	for (p++; *p && *p != quote; p++)
		if (*p == '\\' && p[1])
			p++;
	return *p ? p + 1 : p;
}

/*
 * Returns the first place outside of brackets and quotes where `text' stands,
 * or NULL.
 */
static const char *find(const char *spec, const char *text)
{
	int depth = 0;

	for (const char *p = spec; *p; p = skip(spec, p)) {
		if (!depth && !strncmp(p, text, strlen(text)))
			return p;
		if (strchr("([{", *p))
			depth++;
		else if (strchr(")]}", *p))
			depth--;
	}
	return NULL;
}

/* Returns the arrow before the actions, or NULL if there are no actions. */
static const char *arrow(const char *spec)
{
	const char *a = find(spec, "->"), *b = find(spec, "::");

	return !a || (b && b < a) ? b : a;
}

/* --- the function --------------------------------------------------------- */

/* Returns 1 if p is at an opening bracket, -1 at a closing bracket, and 0
 * otherwise. */
static int bracket(const char *p)
{
	if (strchr("([{", *p) || !strncmp(p, "<<", 2))
		return 1;
	return strchr(")]}", *p) || !strncmp(p, ">>", 2) ? -1 : 0;
}

/* Returns how many arguments are in the brackets at p. The keywords of Elixir
 * (a: 1, b: 2) are one argument. */
static unsigned count_args(const char *spec, const char *p)
{
	bool any = false, keywords = false;
	unsigned commas = 0;
	int depth = 1;

	for (p++; *p; p = skip(spec, p)) {
		int nesting = bracket(p);

		depth += nesting;
		if (!depth)
			break;
		any = any || !isspace((unsigned char)*p);
		if (depth == 1 && *p == ',' && !keywords)
			commas++;
		if (depth == 1 && *p == ':' && isspace((unsigned char)p[1]))
			keywords = true;
		if (nesting && strchr("<>", *p))
			p++;
	}
	return any ? commas + 1 : 0;
}

/* Copies the SPEC without spaces, up to `end' or the first bracket after the
 * function's name. {M,F,A} becomes M:F/A. Returns the place where it
 * stopped. */
static const char *copy_function(struct inv_spec_actions *a, const char *spec,
				 const char *end)
{
	const char *separator = *spec == '{' ? ":/" : "";
	const char *p = spec + (*spec == '{');
	size_t n = 0;

	while (p < end && !strchr("([}", *p)) {
		size_t len = (size_t)(skip(spec, p) - p);

		if (n + len >= sizeof(a->function)) {
			n = 0;
			break;
		}
		if (*p == ',' && *separator)
			a->function[n++] = *separator++;
		else if (!isspace((unsigned char)*p)) {
			memcpy(a->function + n, p, len);
			n += len;
		}
		p += len;
	}
	a->function[n] = 0;
	return p;
}

static bool cut_end(char *text, const char *end)
{
	size_t n = strlen(text), len = strlen(end);

	if (n < len || strcmp(text + n - len, end) != 0)
		return false;
	text[n - len] = 0;
	return true;
}

/* Removes the wildcard that stands for any arity, and the wildcard that stands
 * for any function. */
static void cut_wildcards(char *text)
{
	char *arity = strrchr(text, '/');

	if (!cut_end(text, "/_") && !cut_end(text, "/'_'") &&
	    !cut_end(text, "/any") && arity) {
		*arity = 0;
		if (cut_end(text, ":_") || cut_end(text, ":'_'") ||
		    cut_end(text, "._"))
			return;
		*arity = '/';
	}
	if (!cut_end(text, ":_") && !cut_end(text, ":'_'"))
		(void)cut_end(text, "._");
}

/*
 * Returns the place after app(...) or behaviour(...) at the beginning of a
 * SPEC, or NULL if the SPEC begins otherwise.
 */
static const char *after_group(const char *spec)
{
	static const char *const words[] = { "app", "behaviour", "behavior" };
	const char *p, *close;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strncmp(spec, words[i], strlen(words[i])) != 0)
			continue;
		p = skip_space(spec + strlen(words[i]));
		close = *p == '(' ? strchr(p, ')') : NULL;
		if (close)
			return skip_space(close + 1);
	}
	return NULL;
}

/* Sets a->function. `end' is the place of the arrow before the actions. */
static void set_function(struct inv_spec_actions *a, const char *spec,
			 const char *end)
{
	const char *rest = after_group(spec);
	char any[4096];
	const char *p;
	size_t n;

	if (rest && rest <= end) {
		a->group = true;
		snprintf(any, sizeof(any), "*%s%.*s", rest < end ? ":" : "",
			 rest < end ? (int)(end - rest - 1) : 0,
			 rest < end ? rest + 1 : rest);
		spec = any;
		end = any + strlen(any);
	}
	p = copy_function(a, spec, end);
	n = strlen(a->function);

	if (n && *p == '(')
		snprintf(a->function + n, sizeof(a->function) - n, "/%u",
			 count_args(spec, p));
	cut_wildcards(a->function);
}

/* --- the actions ---------------------------------------------------------- */

/* Reads "(TIME)" at p. */
static int slow(struct inv_spec_actions *a, const char *p, struct inv_err *err)
{
	size_t n = strcspn(p, ")");
	char time[32] = "";
	uint64_t ns = 0;

	if (*p == '(' && p[n] && n <= sizeof(time)) {
		const char *from = skip_space(p + 1), *to = p + n;

		while (to > from && isspace((unsigned char)to[-1]))
			to--;
		memcpy(time, from, (size_t)(to - from));
	}
	if (inv_units_ns(time, &ns))
		return inv_err_set(err, INV_EINVAL,
				   "write slow(TIME) with " INV_UNITS_NS_HELP);
	a->slow = true;
	a->min_ns = (int64_t)ns;
	return 0;
}

static bool is_word(const char *p, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(p, word, n) && !isalnum((unsigned char)p[n]) &&
	       p[n] != '_';
}

int inv_spec_actions_find(struct inv_spec_actions *a, const char *spec,
			  struct inv_err *err)
{
	const char *end, *p;
	int rc = 0;

	memset(a, 0, sizeof(*a));
	spec = skip_space(spec);
	end = arrow(spec);
	p = end ? end + 2 : NULL;
	a->no_returns = p != NULL;
	while (!rc && p && *p) {
		p = skip_space(p);
		if (is_word(p, "slow"))
			rc = slow(a, skip_space(p + 4), err);
		else if (is_word(p, "failed"))
			a->failed = true;
		if (is_word(p, "slow") || is_word(p, "failed") ||
		    is_word(p, "return"))
			a->no_returns = false;
		/* to the next action */
		p += strcspn(p, ",;");
		if (*p)
			p++;
	}
	if (!rc && (a->slow || a->failed))
		set_function(a, spec, end);
	return rc;
}
