/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/casefile.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define SUFFIX ".case"
#define MAX_BYTES (64 * 1024)

/* --- variables in a line -------------------------------------------------- */

struct piece {
	const char *text; /* literal text, or the name of a variable */
	size_t len;
	bool var;
	const char *otherwise; /* the default value; NULL: the variable has
				  none */
	size_t otherwise_len;
};

static size_t name_len(const char *p)
{
	size_t n = 0;

	if (!isupper((unsigned char)*p))
		return 0;
	while (isupper((unsigned char)p[n]) || isdigit((unsigned char)p[n]) ||
	       p[n] == '_')
		n++;
	return n;
}

/* Parses the text after "${". Returns the position after "}", or NULL. */
static const char *braced(const char *p, struct piece *out)
{
	const char *end;

	out->text = p;
	out->len = name_len(p);
	out->var = true;
	p += out->len;
	if (!out->len)
		return NULL;
	if (*p == '}')
		return p + 1;
	if (strncmp(p, ":-", 2) != 0)
		return NULL;
	end = strchr(p, '}');
	if (!end)
		return NULL;
	out->otherwise = p + 2;
	out->otherwise_len = (size_t)(end - out->otherwise);
	return end + 1;
}

/*
 * Reads the next piece from *p. Returns 0, INV_END if *p is at the end, or
 * INV_EFORMAT if what follows "${" is invalid.
 */
static int next_piece(const char **p, struct piece *out)
{
	const char *s = *p;

	memset(out, 0, sizeof(*out));
	if (!*s)
		return INV_END;
	if (s[0] == '$' && s[1] == '{') {
		*p = braced(s + 2, out);
		return *p ? INV_OK : INV_EFORMAT;
	}
	if (s[0] == '$' && name_len(s + 1)) {
		out->text = s + 1;
		out->len = name_len(s + 1);
		out->var = true;
		*p = out->text + out->len;
		return INV_OK;
	}
	out->text = s;
	if (s[0] == '$' && s[1] == '$') {
		out->len = 1;
		*p = s + 2;
		return INV_OK;
	}
	out->len = 1 + strcspn(s + 1, "$");
	*p = s + out->len;
	return INV_OK;
}

static struct inv_case_var *find(const struct inv_casefile *c, const char *name,
				 size_t len)
{
	for (size_t i = 0; i < c->n_vars; i++)
		if (!strncmp(c->vars[i].name, name, len) &&
		    !c->vars[i].name[len])
			return &c->vars[i];
	return NULL;
}

/* Adds a variable. If the variable has several defaults, the first is used. */
static int learn(struct inv_casefile *c, const struct piece *piece)
{
	struct inv_case_var *var = find(c, piece->text, piece->len);

	if (!var) {
		struct inv_case_var *more =
			realloc(c->vars, (c->n_vars + 1) * sizeof(*more));

		if (!more)
			return INV_ENOMEM;
		c->vars = more;
		var = &more[c->n_vars];
		memset(var, 0, sizeof(*var));
		var->name = strndup(piece->text, piece->len);
		if (!var->name)
			return INV_ENOMEM;
		c->n_vars++;
	}
	if (piece->otherwise && !var->otherwise) {
		var->otherwise =
			strndup(piece->otherwise, piece->otherwise_len);
		if (!var->otherwise)
			return INV_ENOMEM;
	}
	return INV_OK;
}

/* --- reading -------------------------------------------------------------- */

static int read_text(struct inv_casefile *c, struct inv_err *err)
{
	FILE *f = fopen(c->path, "re");
	size_t n;

	if (!f)
		return inv_err_sys(err, errno, "%s", c->path);
	c->text = malloc(MAX_BYTES + 2);
	if (!c->text) {
		fclose(f);
		return inv_err_set(err, INV_ENOMEM, "no memory");
	}
	n = fread(c->text, 1, MAX_BYTES + 1, f);
	c->text[n] = '\0';
	if (ferror(f)) {
		int sys = errno;

		fclose(f);
		return inv_err_sys(err, sys, "%s", c->path);
	}
	fclose(f);
	if (n > MAX_BYTES)
		return inv_err_set(err, INV_ETOOBIG,
				   "%s: not a trace case: larger than %d bytes",
				   c->path, MAX_BYTES);
	if (strlen(c->text) != n)
		return inv_err_set(err, INV_EFORMAT,
				   "%s: not a trace case: it contains NUL "
				   "bytes",
				   c->path);
	return INV_OK;
}

/* Removes white space from both ends. */
static char *trim(char *line)
{
	char *end = line + strlen(line);

	while (end > line && isspace((unsigned char)end[-1]))
		*--end = '\0';
	while (isspace((unsigned char)*line))
		line++;
	return line;
}

static int learn_vars(struct inv_casefile *c, const char *line, unsigned number,
		      struct inv_err *err)
{
	struct piece piece;
	int r;

	while (!(r = next_piece(&line, &piece)))
		if (piece.var && learn(c, &piece))
			return inv_err_set(err, INV_ENOMEM, "no memory");
	if (r != INV_END)
		return inv_err_set(err, r,
				   "%s:%u: ${ must be followed by NAME} or "
				   "NAME:-VALUE}; a NAME is of A to Z, 0 to 9 "
				   "and _",
				   c->path, number);
	return INV_OK;
}

static int take_line(struct inv_casefile *c, char *line, unsigned number,
		     struct inv_err *err)
{
	if (*line == '#') {
		if (!*c->summary)
			c->summary = trim(line + strspn(line, "#"));
		return INV_OK;
	}
	if (!*line)
		return INV_OK;
	if (!c->command) {
		if (strcmp(line, "trace") != 0 && strcmp(line, "record") != 0)
			return inv_err_set(
				err, INV_EFORMAT,
				"%s:%u: the first line that is not a comment "
				"must be `trace' or `record'",
				c->path, number);
		c->command = line;
		return INV_OK;
	}
	c->lines[c->n_lines++] = line;
	return learn_vars(c, line, number, err);
}

static int take_lines(struct inv_casefile *c, struct inv_err *err)
{
	size_t most = 1;
	unsigned number = 0;
	char *line, *rest = c->text;

	for (const char *p = c->text; *p; p++)
		most += *p == '\n';
	c->lines = calloc(most, sizeof(*c->lines));
	if (!c->lines)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	while ((line = strsep(&rest, "\n"))) {
		int r = take_line(c, trim(line), ++number, err);

		if (r)
			return r;
	}
	if (!c->command)
		return inv_err_set(err, INV_EFORMAT,
				   "%s: the line `trace' or `record' is "
				   "missing",
				   c->path);
	return INV_OK;
}

int inv_casefile_read(struct inv_casefile *c, const char *path,
		      struct inv_err *err)
{
	int r;

	c->summary = "";
	c->path = strdup(path);
	c->name = inv_casefile_name(path);
	if (!c->path || !c->name)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	r = read_text(c, err);
	return r ? r : take_lines(c, err);
}

void inv_casefile_release(struct inv_casefile *c)
{
	for (size_t i = 0; i < c->n_vars; i++) {
		free(c->vars[i].name);
		free(c->vars[i].value);
		free(c->vars[i].otherwise);
	}
	free(c->vars);
	free(c->lines);
	free(c->text);
	free(c->path);
	free(c->name);
	memset(c, 0, sizeof(*c));
}

char *inv_casefile_name(const char *path)
{
	const char *base = strrchr(path, '/');
	size_t len;

	base = base ? base + 1 : path;
	len = strlen(base);
	if (len > strlen(SUFFIX) &&
	    !strcmp(base + len - strlen(SUFFIX), SUFFIX))
		len -= strlen(SUFFIX);
	return strndup(base, len);
}

/* --- arguments ------------------------------------------------------------ */

int inv_casefile_set(struct inv_casefile *c, const char *assignment,
		     struct inv_err *err)
{
	size_t len = name_len(assignment);
	struct inv_case_var *var;
	char *value;

	if (!len || assignment[len] != '=')
		return inv_err_set(err, INV_ENOTHING, "%s: not NAME=VALUE",
				   assignment);
	var = find(c, assignment, len);
	if (!var)
		return inv_err_set(err, INV_ENOTHING,
				   "%s: %s has no variable %.*s", assignment,
				   c->path, (int)len, assignment);
	value = strdup(assignment + len + 1);
	if (!value)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	free(var->value);
	var->value = value;
	return INV_OK;
}

/* Replaces the variables in a text. All variables must have values. */
static char *expand(const struct inv_casefile *c, const char *p, size_t len)
{
	struct inv_buf b = { 0 };
	char *line = strndup(p, len);
	struct piece piece;

	p = line ? line : "";
	while (!next_piece(&p, &piece)) {
		const struct inv_case_var *var;

		if (!piece.var) {
			inv_buf_put(&b, piece.text, piece.len);
			continue;
		}
		var = find(c, piece.text, piece.len);
		if (var)
			inv_buf_puts(&b,
				     var->value ? var->value : var->otherwise);
	}
	inv_buf_putc(&b, '\0');
	free(line);
	if (!line || b.error) {
		inv_buf_release(&b);
		return NULL;
	}
	return (char *)b.data;
}

/* Adds the arguments of a line. A line with an option and its value has two
 * arguments. A line with a SPEC is one argument. */
static int put_line(const struct inv_casefile *c, const char *line, char **args,
		    size_t *n)
{
	size_t len = strlen(line);
	size_t word = *line == '-' ? strcspn(line, " \t=") : len;
	bool split = word < len && line[word] != '=';

	if (!split)
		word = len;
	args[*n] = expand(c, line, word);
	if (!args[(*n)++])
		return INV_ENOMEM;
	if (!split)
		return INV_OK;
	line += word + strspn(line + word, " \t");
	args[*n] = expand(c, line, strlen(line));
	return args[(*n)++] ? INV_OK : INV_ENOMEM;
}

int inv_casefile_args(const struct inv_casefile *c, char ***args, size_t *n,
		      struct inv_err *err)
{
	char **v;

	for (size_t i = 0; i < c->n_vars; i++)
		if (!c->vars[i].value && !c->vars[i].otherwise)
			return inv_err_set(err, INV_ENOTHING,
					   "%s: %s needs a value: %s=...",
					   c->path, c->vars[i].name,
					   c->vars[i].name);
	v = calloc(2 * c->n_lines + 1, sizeof(*v));
	*n = 0;
	for (size_t i = 0; v && i < c->n_lines; i++)
		if (put_line(c, c->lines[i], v, n)) {
			inv_casefile_args_free(v);
			v = NULL;
		}
	*args = v;
	return v ? INV_OK : inv_err_set(err, INV_ENOMEM, "no memory");
}

void inv_casefile_args_free(char **args)
{
	for (size_t i = 0; args && args[i]; i++)
		free(args[i]);
	free(args);
}
