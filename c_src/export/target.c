/* SPDX-License-Identifier: Apache-2.0 */
#include "export/target.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PATH "/v1/traces"

static int no_memory(struct inv_err *err)
{
	return inv_err_set(err, INV_ENOMEM, "no memory");
}

/* --- the URL -------------------------------------------------------------- */

/* Returns the part after "http://" or "https://", or NULL. */
static const char *after_scheme(const char *url)
{
	static const char *const schemes[] = { "http://", "https://" };

	for (unsigned i = 0; i < 2; i++)
		if (!strncasecmp(url, schemes[i], strlen(schemes[i])))
			return url + strlen(schemes[i]);
	return NULL;
}

/* Sets t->shown to the URL without user and password. */
static int show(struct inv_target *t)
{
	const char *host = after_scheme(t->url);
	const char *end = host + strcspn(host, "/");
	const char *at = memrchr(host, '@', (size_t)(end - host));

	if (asprintf(&t->shown, "%.*s%s", (int)(host - t->url), t->url,
		     at ? at + 1 : host) < 0)
		t->shown = NULL;
	return t->shown ? 0 : INV_ENOMEM;
}

/* Sets t->url and t->shown. If `append' is true, `url' is the base URL of the
 * collector: appends /v1/traces, unless the URL ends with it. */
static int set_url(struct inv_target *t, const char *url, bool append,
		   struct inv_err *err)
{
	const char *host = after_scheme(url);
	size_t n = strlen(url);

	if (!host || !*host || strchr("/?#", *host))
		return inv_err_set(err, INV_EINVAL,
				   "the URL must be like "
				   "http://localhost:4318");
	for (const char *p = url; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == '?' || *p == '#')
			return inv_err_set(err, INV_EINVAL,
					   "the URL has a space, a query or a "
					   "fragment");
	while (append && n > (size_t)(host - url) && url[n - 1] == '/')
		n--;
	if (append && n > strlen(PATH) &&
	    !strncmp(url + n - strlen(PATH), PATH, strlen(PATH)))
		append = false;
	if (asprintf(&t->url, "%.*s%s", (int)n, url, append ? PATH : "") < 0)
		t->url = NULL;
	return t->url && !show(t) ? 0 : no_memory(err);
}

int inv_target_url(struct inv_target *t, const char *url, struct inv_err *err)
{
	free(t->url);
	free(t->shown);
	t->url = t->shown = NULL;
	return set_url(t, url, true, err);
}

/* --- headers and attributes ----------------------------------------------- */

static bool is_token(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)p[i]) &&
		    !memchr("!#$%&'*+-.^_`|~", p[i], 15))
			return false;
	return n > 0;
}

static bool is_value(const char *p)
{
	for (; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return false;
	return true;
}

static int add_header(struct inv_target *t, const char *key, size_t n,
		      const char *value, struct inv_err *err)
{
	struct inv_target_header *more;
	char *line;

	if (!is_token(key, n) || !is_value(value))
		return inv_err_set(err, INV_EINVAL,
				   "a header must be KEY=VALUE");
	for (size_t i = 0; i < t->n_headers; i++)
		if (t->headers[i].key_len == n &&
		    !strncasecmp(t->headers[i].line, key, n))
			return 0;
	more = realloc(t->headers, (t->n_headers + 1) * sizeof(*more));
	if (!more)
		return no_memory(err);
	t->headers = more;
	/* libcurl sends a header without a value only if a semicolon follows
	 * the key. */
	if (asprintf(&line, *value ? "%.*s: %s" : "%.*s;%s", (int)n, key,
		     value) < 0)
		return no_memory(err);
	more[t->n_headers++] =
		(struct inv_target_header){ .line = line, .key_len = n };
	return 0;
}

int inv_target_header(struct inv_target *t, const char *pair,
		      struct inv_err *err)
{
	const char *eq = strchr(pair, '=');

	if (!eq)
		return inv_err_set(err, INV_EINVAL,
				   "a header must be KEY=VALUE");
	return add_header(t, pair, (size_t)(eq - pair), eq + 1, err);
}

/* Adds an attribute. A later value of a key replaces an earlier one. */
static int add_attribute(struct inv_target *t, const char *key, size_t n,
			 const char *value, struct inv_err *err)
{
	struct inv_spans_attribute *a = NULL, *more;

	for (size_t i = 0; !a && i < t->n_attributes; i++)
		if (strlen(t->attributes[i].key) == n &&
		    !memcmp(t->attributes[i].key, key, n))
			a = &t->attributes[i];
	if (a) {
		free(a->value);
		a->value = strdup(value);
		return a->value ? 0 : no_memory(err);
	}
	more = realloc(t->attributes, (t->n_attributes + 1) * sizeof(*more));
	if (!more)
		return no_memory(err);
	t->attributes = more;
	a = &more[t->n_attributes++];
	a->key = strndup(key, n);
	a->value = strdup(value);
	return a->key && a->value ? 0 : no_memory(err);
}

int inv_target_compression(struct inv_target *t, const char *text)
{
	if (strcmp(text, "gzip") != 0 && strcmp(text, "none") != 0)
		return -1;
	t->gzip = !strcmp(text, "gzip");
	t->has_gzip = true;
	return 0;
}

/* --- the environment ------------------------------------------------------ */

/* Returns the variable's value; NULL: it is not set, or empty. */
static const char *get(const char *name)
{
	const char *value = getenv(name); /* NOLINT: one thread */

	return value && *value ? value : NULL;
}

/* Returns the value of the variable for traces. If that is not set, returns the
 * value of the variable for all signals. */
static const char *setting(const char *what, char name[64])
{
	const char *value;

	snprintf(name, 64, "OTEL_EXPORTER_OTLP_TRACES_%s", what);
	value = get(name);
	if (value)
		return value;
	snprintf(name, 64, "OTEL_EXPORTER_OTLP_%s", what);
	return get(name);
}

static int ignored(struct inv_buf *warnings, const char *name, const char *why)
{
	inv_buf_printf(warnings, "inviso export: %s is ignored: %s\n", name,
		       why);
	return 0;
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns the byte that two digits stand for, or -1. */
static int byte(const char *s)
{
	int high = hex(s[0]);
	int low = high < 0 ? -1 : hex(s[1]);

	return low < 0 ? -1 : high * 16 + low;
}

/* Decodes %XX in place. Returns false if the text is invalid. */
static bool decode(char *s)
{
	char *w = s;
	int c;

	for (; *s; s++, w++) {
		*w = *s;
		if (*s != '%')
			continue;
		c = byte(s + 1);
		if (c <= 0)
			return false;
		*w = (char)c;
		s += 2;
	}
	*w = 0;
	return true;
}

static char *trimmed(char *s)
{
	size_t n;

	s += strspn(s, " \t");
	n = strlen(s);
	while (n && strchr(" \t", s[n - 1]))
		s[--n] = 0;
	return s;
}

typedef int (*add_fn)(struct inv_target *t, const char *key, size_t n,
		      const char *value, struct inv_err *err);

/* Adds the pairs of "k1=v1,k2=v2", whose values are percent-encoded. */
static int add_pairs(struct inv_target *t, char *text, add_fn add,
		     struct inv_err *err)
{
	char *next = text;
	int rc = 0;

	while (!rc && next) {
		char *pair = trimmed(strsep(&next, ","));
		char *eq = strchr(pair, '=');
		char *key;

		if (!*pair)
			continue;
		if (!eq)
			return inv_err_set(err, INV_EINVAL, "not KEY=VALUE");
		*eq = 0;
		key = trimmed(pair);
		if (!*key || !decode(trimmed(eq + 1)))
			return inv_err_set(err, INV_EINVAL, "not KEY=VALUE");
		rc = add(t, key, strlen(key), trimmed(eq + 1), err);
	}
	return rc;
}

static int pairs(struct inv_target *t, const char *name, const char *value,
		 add_fn add, struct inv_buf *warnings, struct inv_err *err)
{
	char *copy = value ? strdup(value) : NULL;
	int rc;

	if (!value)
		return 0;
	if (!copy)
		return no_memory(err);
	rc = add_pairs(t, copy, add, err);
	free(copy);
	if (rc == INV_EINVAL)
		return ignored(warnings, name,
			       "it must be like k1=v1,k2=v2, with %XX for "
			       "other characters");
	return rc;
}

static int find_url(struct inv_target *t, struct inv_err *err)
{
	static const char own[] = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
	static const char base[] = "OTEL_EXPORTER_OTLP_ENDPOINT";
	const char *value = get(own);

	if (value)
		return set_url(t, value, false, err) ? inv_err_ctx(err, own) :
						       0;
	value = get(base);
	if (value)
		return set_url(t, value, true, err) ? inv_err_ctx(err, base) :
						      0;
	return inv_err_set(err, INV_EINVAL,
			   "no collector is named: use --otlp URL, such as "
			   "--otlp http://localhost:4318");
}

static void take_timeout(struct inv_target *t, struct inv_buf *warnings)
{
	char name[64], *end;
	const char *value = setting("TIMEOUT", name);
	unsigned long n;

	if (!value || t->timeout_ms)
		return;
	errno = 0;
	n = strtoul(value, &end, 10);
	if (errno || *end || !isdigit((unsigned char)*value) || !n ||
	    n > 86400000)
		ignored(warnings, name, "it must be milliseconds");
	else
		t->timeout_ms = (uint32_t)n;
}

static int take_resource(struct inv_target *t, struct inv_buf *warnings,
			 struct inv_err *err)
{
	const char *service = get("OTEL_SERVICE_NAME");
	int rc = pairs(t, "OTEL_RESOURCE_ATTRIBUTES",
		       get("OTEL_RESOURCE_ATTRIBUTES"), add_attribute, warnings,
		       err);

	if (!rc && service)
		rc = add_attribute(t, "service.name", 12, service, err);
	return rc;
}

static void take_file(const char **file, const char *what)
{
	char name[64];

	if (!*file)
		*file = setting(what, name);
}

int inv_target_environment(struct inv_target *t, struct inv_buf *warnings,
			   struct inv_err *err)
{
	char name[64];
	const char *value;
	int rc = t->url ? 0 : find_url(t, err);

	if (rc)
		return rc;
	value = setting("PROTOCOL", name);
	if (value && strcmp(value, "http/protobuf") != 0)
		ignored(warnings, name, "only http/protobuf is supported");
	value = setting("HEADERS", name);
	rc = pairs(t, name, value, add_header, warnings, err);
	if (rc)
		return rc;
	take_timeout(t, warnings);
	if (!t->timeout_ms)
		t->timeout_ms = INV_TARGET_TIMEOUT_MS;
	value = setting("COMPRESSION", name);
	if (!t->has_gzip && value && inv_target_compression(t, value))
		ignored(warnings, name, "it must be gzip or none");
	if (!t->has_gzip)
		t->gzip = true;
	take_file(&t->ca, "CERTIFICATE");
	take_file(&t->cert, "CLIENT_CERTIFICATE");
	take_file(&t->key, "CLIENT_KEY");
	return take_resource(t, warnings, err);
}

void inv_target_release(struct inv_target *t)
{
	for (size_t i = 0; i < t->n_headers; i++)
		free(t->headers[i].line);
	for (size_t i = 0; i < t->n_attributes; i++) {
		free(t->attributes[i].key);
		free(t->attributes[i].value);
	}
	free(t->headers);
	free(t->attributes);
	free(t->url);
	free(t->shown);
}
