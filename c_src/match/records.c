/* SPDX-License-Identifier: Apache-2.0 */
#include "match/records.h"

#include <string.h>

#include "base/alloc.h"

static char *copy(const char *text, size_t len)
{
	char *s = inv_alloc(len + 1);

	if (!s)
		return NULL;
	memcpy(s, text, len);
	s[len] = 0;
	return s;
}

static void release(struct inv_record_def *r)
{
	for (size_t i = 0; i < r->n; i++)
		inv_free(r->fields[i].name);
	inv_free(r->fields);
	inv_free(r->module);
	inv_free(r->name);
	inv_free(r);
}

void inv_records_release(struct inv_records *rs)
{
	struct inv_record_def *r, *next;

	for (r = rs->first; r; r = next) {
		next = r->next;
		release(r);
	}
	rs->first = NULL;
}

struct inv_record_def *inv_records_add(struct inv_records *rs,
				       const char *module, const char *name,
				       size_t len)
{
	struct inv_record_def *r = inv_alloc(sizeof(*r));

	if (!r)
		return NULL;
	*r = (struct inv_record_def){ .name = copy(name, len) };
	if (module)
		r->module = copy(module, strlen(module));
	if (!r->name || (module && !r->module)) {
		release(r);
		return NULL;
	}
	r->next = rs->first;
	rs->first = r;
	return r;
}

struct inv_record_field *inv_record_add_field(struct inv_record_def *r,
					      const char *name, size_t len)
{
	struct inv_record_field *f =
		inv_realloc(r->fields, (r->n + 1) * sizeof(*f));

	if (!f)
		return NULL;
	r->fields = f;
	f += r->n;
	*f = (struct inv_record_field){ .name = copy(name, len) };
	if (!f->name)
		return NULL;
	r->n++;
	return f;
}

/* --- header files --------------------------------------------------------- */

/* Returns a pointer to the character after the token at p. A token is a
 * comment, a string, a quoted atom, or a character such as $a. Every other
 * character is a token of its own. */
static const char *skip(const char *p)
{
	char quote = *p;

	if (quote == '%')
		return p + strcspn(p, "\n");
	if (quote == '$' && p[1])
		return p + (p[1] == '\\' && p[2] ? 3 : 2);
	if (quote != '"' && quote != '\'')
		return p + 1;
	for (p++; *p && *p != quote; p++)
		if (*p == '\\' && p[1])
			p++;
	return *p ? p + 1 : p;
}

static const char *skip_space(const char *p)
{
	for (;;) {
		p += strspn(p, " \t\r\n");
		if (*p != '%')
			return p;
		p = skip(p);
	}
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '@' || c & 0x80;
}

/*
 * Reads an atom at *p, and moves *p after it.  Returns a pointer to its name,
 * without quotes, and sets *len to the name's length.  Returns NULL if there is
 * no atom at *p, or if it has escapes.
 */
static const char *atom(const char **p, size_t *len)
{
	const char *from = *p, *end;

	if (*from == '\'') {
		end = skip(from);
		*p = end;
		*len = (size_t)(end - from) - 2;
		return end - from >= 2 && !memchr(from, '\\', *len + 2) ?
			       from + 1 :
			       NULL;
	}
	if (*from < 'a' || *from > 'z')
		return NULL;
	for (end = from; is_name_char(*end); end++)
		;
	*p = end;
	*len = (size_t)(end - from);
	return from;
}

/* Skips the default value and the type of a field. Returns a pointer to the
 * comma or the bracket that ends the field. */
static const char *skip_value(const char *p)
{
	int depth = 0;

	for (p = skip_space(p); *p; p = skip_space(skip(p))) {
		if (!depth && (*p == ',' || *p == '}'))
			return p;
		if (strchr("([{", *p)) {
			depth++;
		} else if (strchr(")]}", *p)) {
			depth--;
		} else if (!strncmp(p, "<<", 2) || !strncmp(p, ">>", 2)) {
			depth += *p == '<' ? 1 : -1;
			p++;
		}
	}
	return p;
}

static int bad(const struct inv_record_def *r, const char *why,
	       struct inv_err *err)
{
	return inv_err_set(err, INV_EINVAL, "record %s: %s", r->name, why);
}

static int fields(struct inv_record_def *r, const char *p, struct inv_err *err)
{
	struct inv_record_field *f;
	const char *name;
	size_t len;

	p = skip_space(p + 1);
	if (*p == '}')
		return 0;
	for (;;) {
		name = atom(&p, &len);
		if (!name)
			return bad(r, "the name of a field is expected", err);
		f = inv_record_add_field(r, name, len);
		if (!f)
			return inv_err_set(err, INV_ENOMEM, "no memory");
		p = skip_space(p);
		f->has_default = *p == '=';
		p = skip_value(p);
		if (*p != ',')
			return *p == '}' ? 0 :
					   bad(r, "its end is missing", err);
		p = skip_space(p + 1);
	}
}

/* Parses a record definition. p points to the record's name. */
static int record(struct inv_records *rs, const char *p, struct inv_err *err)
{
	struct inv_record_def *r;
	const char *name;
	size_t len;

	p = skip_space(p);
	name = atom(&p, &len);
	if (!name)
		return inv_err_set(err, INV_EINVAL,
				   "-record needs the name of a record");
	r = inv_records_add(rs, NULL, name, len);
	if (!r)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	p = skip_space(p);
	if (*p == ',')
		p = skip_space(p + 1);
	if (*p != '{')
		return bad(r, "{ and its fields are expected", err);
	return fields(r, p, err);
}

/* If p begins with "-record(", returns a pointer to the character after it;
 * otherwise NULL. */
static const char *is_record(const char *p)
{
	if (*p != '-')
		return NULL;
	p = skip_space(p + 1);
	if (strncmp(p, "record", 6) != 0 || is_name_char(p[6]))
		return NULL;
	p = skip_space(p + 6);
	return *p == '(' ? p + 1 : NULL;
}

int inv_records_parse(struct inv_records *rs, const char *text,
		      struct inv_err *err)
{
	bool begins = true; /* a form can begin at this place */
	int rc = 0;

	for (const char *p = skip_space(text); !rc && *p;) {
		const char *name = begins ? is_record(p) : NULL;

		if (name)
			rc = record(rs, name, err);
		/* A full stop ends a form. Directives such as -ifdef are forms,
		 * too. */
		begins = *p == '.' && (!p[1] || strchr(" \t\r\n%", p[1]));
		p = skip_space(skip(p));
	}
	return rc;
}

/* --- finding -------------------------------------------------------------- */

static bool alike(const struct inv_record_def *a,
		  const struct inv_record_def *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->fields[i].name, b->fields[i].name) != 0)
			return false;
	return true;
}

enum where {
	IN_MODULE,
	IN_HEADER,
	ANYWHERE,
};

static bool is_at(const struct inv_record_def *r, const char *module,
		  enum where where)
{
	switch (where) {
	case IN_MODULE:
		return module && r->module && !strcmp(r->module, module);
	case IN_HEADER:
		return !r->module;
	default:
		return true;
	}
}

const struct inv_record_def *inv_records_find(const struct inv_records *rs,
					      const char *module,
					      const char *name, bool any,
					      bool *twice)
{
	enum where last = any ? ANYWHERE : IN_HEADER;

	*twice = false;
	for (enum where w = IN_MODULE; w <= last; w++) {
		const struct inv_record_def *found = NULL;

		for (const struct inv_record_def *r = rs->first; r;
		     r = r->next) {
			if (strcmp(r->name, name) != 0 || !is_at(r, module, w))
				continue;
			*twice |= found && !alike(found, r);
			found = r;
		}
		if (found)
			return *twice ? NULL : found;
	}
	return NULL;
}
