/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the conditions that users write. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log/filter_int.h"

/* --- processes ------------------------------------------------------------ */

/* Parses a decimal number that is followed by the text `end', and moves *p past
 * both. Returns false if the text at *p has another form. */
static bool number(const char **p, const char *end, uint64_t *v)
{
	char *after;

	if (**p < '0' || **p > '9')
		return false;
	*v = strtoull(*p, &after, 10);
	if (strncmp(after, end, strlen(end)) != 0)
		return false;
	*p = after + strlen(end);
	return true;
}

static bool pid_or_port(struct inv_filter_pid *x, const char *p)
{
	x->is_port = !strncmp(p, "#Port<0.", 8);
	if (x->is_port) {
		p += 8;
		return number(&p, ">", &x->number) && !*p;
	}
	if (strncmp(p, "<0.", 3) != 0)
		return false;
	p += 3;
	return number(&p, ".", &x->number) && number(&p, ">", &x->serial) &&
	       !*p;
}

int inv_filter_pid_parse(struct inv_filter_pid *x, const char *text,
			 struct inv_err *err)
{
	const char *eq = strchr(text, '=');

	memset(x, 0, sizeof(*x));
	if (!pid_or_port(x, eq ? eq + 1 : text) || eq == text)
		return inv_err_set(err, INV_EINVAL,
				   "%s: write a process as its own node prints "
				   "it, '<0.88.0>' or '#Port<0.5>', and where "
				   "it matters with the node: "
				   "'shop@host=<0.88.0>'",
				   text);
	if (!eq)
		return 0;
	x->node = strndup(text, (size_t)(eq - text));
	return x->node ? 0 : inv_err_set(err, INV_ENOMEM, "no memory");
}

/* --- functions ------------------------------------------------------------ */

void inv_filter_mfa_release(struct inv_filter_mfa *m)
{
	free(m->module);
	free(m->function);
	memset(m, 0, sizeof(*m));
}

/*
 * Parses the atom at *p, quoted or not. An unquoted atom ends at a character in
 * `ends' or at the end of the text. Sets *p to the atom's end. Returns NULL if
 * the atom is empty or a quote is missing.
 */
static char *atom(const char **p, const char *ends)
{
	const char *s = *p;
	char *out = malloc(strlen(s) + 1);
	size_t n = 0;

	if (!out)
		return NULL;
	if (*s == '\'') {
		for (s++; *s && *s != '\''; s++) {
			if (*s == '\\' && s[1])
				s++;
			out[n++] = *s;
		}
		if (!*s || (s[1] && !strchr(ends, s[1]))) {
			free(out);
			return NULL;
		}
		s++;
	} else {
		while (*s && !strchr(ends, *s))
			out[n++] = *s++;
		if (!n) {
			free(out);
			return NULL;
		}
	}
	out[n] = 0;
	*p = s;
	return out;
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_wild(const char *name)
{
	return strchr(name, '*') != NULL;
}

/* `part' is the text after the last dot of an Elixir name, n characters.
 * Returns true if this part belongs to the module's name. That is so if it
 * begins with an upper-case letter (Worker). It is also so if it begins with *
 * and no arity follows it. */
static bool is_module_part(const char *part, size_t n)
{
	return is_upper(*part) || (*part == '*' && !part[n]);
}

/* Parses a name in Elixir's syntax, such as "Enum.map" or "MyApp.Worker". The
 * last part is a function unless is_module_part says otherwise. Returns a
 * pointer to the end of the parsed text. */
static const char *elixir(struct inv_filter_mfa *m, const char *p)
{
	size_t n = strcspn(p, "/");
	const char *dot = memrchr(p, '.', n);
	size_t module = n;

	if (dot && !is_module_part(dot + 1, (size_t)(p + n - dot - 1))) {
		module = (size_t)(dot - p);
		m->function = strndup(dot + 1, n - module - 1);
		if (!m->function || !*m->function)
			return NULL;
	}
	if (asprintf(&m->module, "%s%.*s",
		     strncmp(p, "Elixir.", 7) != 0 ? "Elixir." : "",
		     (int)module, p) < 0)
		m->module = NULL;
	if (!m->module)
		return NULL;
	m->any_module = is_wild(m->module);
	m->any_function = m->function && is_wild(m->function);
	return p + n;
}

/* Parses "m", "m:" or "m:f", and in Elixir's syntax ":lists.map". Returns a
 * pointer to the end of the parsed text. */
static const char *erlang(struct inv_filter_mfa *m, const char *p)
{
	const char *between = ":/";
	bool quoted;

	if (*p == ':') {
		p++;
		between = "./";
	}
	quoted = *p == '\'';
	m->module = atom(&p, between);
	if (!m->module)
		return NULL;
	m->any_module = !quoted && is_wild(m->module);
	if (!strcmp(p, ":"))
		return p + 1;
	if (*p && *p == between[0]) {
		quoted = *++p == '\'';
		m->function = atom(&p, "/");
		if (!m->function)
			return NULL;
		m->any_function = !quoted && is_wild(m->function);
	}
	return p;
}

static bool arity(struct inv_filter_mfa *m, const char *p)
{
	uint64_t v;

	m->arity = -1;
	if (!*p)
		return true;
	if (*p++ != '/' || !m->function || !number(&p, "", &v) || *p || v > 255)
		return false;
	m->arity = (int64_t)v;
	return true;
}

int inv_filter_mfa_parse(struct inv_filter_mfa *m, const char *text,
			 struct inv_err *err)
{
	const char *p;

	memset(m, 0, sizeof(*m));
	p = is_upper(*text) || !strncmp(text, "*.", 2) ? elixir(m, text) :
							 erlang(m, text);
	if (p && arity(m, p))
		return 0;
	inv_filter_mfa_release(m);
	return inv_err_set(err, INV_EINVAL,
			   "%s: write a function as lists:seq/2, lists:seq or "
			   "lists, or as Elixir does: Enum.map/2, Enum.map or "
			   "Enum",
			   text);
}
