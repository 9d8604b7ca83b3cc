/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/spec_actions.h"

#include <ctype.h>
#include <string.h>

#include "cli/units.h"

/* Returns the character after a quoted text, a character ($x), or the character
 * at p. */
static const char *skip(const char *p)
{
	char quote = *p;

	if (*p == '$' && p[1])
		return p + (p[1] == '\\' && p[2] ? 3 : 2);
	if (quote != '\'' && quote != '"')
		return p + 1;
	for (p++; *p && *p != quote; p++)
		if (*p == '\\' && p[1])
			p++;
	return *p ? p + 1 : p;
}

/* Returns the first place outside of brackets and quotes where `text' stands.
 * NULL: none. */
static const char *find(const char *p, const char *text)
{
	int depth = 0;

	for (; *p; p = skip(p)) {
		if (!depth && !strncmp(p, text, strlen(text)))
			return p;
		if (strchr("([{", *p))
			depth++;
		else if (strchr(")]}", *p))
			depth--;
	}
	return NULL;
}

/* Returns the actions, after the arrow. NULL: none. */
static const char *arrow(const char *spec)
{
	const char *a = find(spec, "->"), *b = find(spec, "::");

	if (!a || (b && b < a))
		a = b;
	return a ? a + 2 : NULL;
}

/* Copies the SPEC up to the arguments or the arrow. */
static void copy_function(struct inv_spec_actions *a, const char *spec)
{
	const char *p = spec;
	size_t n = 0;

	while (isspace((unsigned char)*p))
		p++;
	spec = p;
	while (*p && *p != '(' && !isspace((unsigned char)*p) &&
	       strncmp(p, "->", 2) != 0)
		p = skip(p);
	n = (size_t)(p - spec);
	if (n >= sizeof(a->function))
		n = 0;
	memcpy(a->function, spec, n);
	a->function[n] = 0;
}

static const char *skip_space(const char *p)
{
	while (isspace((unsigned char)*p))
		p++;
	return p;
}

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
	const char *p = arrow(spec);
	int rc = 0;

	memset(a, 0, sizeof(*a));
	while (!rc && p && *p) {
		p = skip_space(p);
		if (is_word(p, "slow"))
			rc = slow(a, skip_space(p + 4), err);
		else if (is_word(p, "failed"))
			a->failed = true;
		/* to the next action */
		p += strcspn(p, ",;");
		if (*p)
			p++;
	}
	if (!rc && (a->slow || a->failed))
		copy_function(a, spec);
	return rc;
}
