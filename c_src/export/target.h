/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_EXPORT_TARGET_H
#define INV_EXPORT_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "sink/otlp_span.h"

/* A header line of an HTTP request, "Key: Value". */
struct inv_target_header {
	char *line;
	size_t key_len;
};

/*
 * Where spans are sent, and how. A setting comes from an option of the command,
 * or else from an environment variable that OpenTelemetry specifies for
 * exporters (OTEL_EXPORTER_OTLP_TRACES_*, or else OTEL_EXPORTER_OTLP_*).
 */
struct inv_target {
	char *url;   /* the URL to which spans are posted */
	char *shown; /* the url without user and password */
	struct inv_target_header *headers;
	size_t n_headers;
	uint32_t timeout_ms; /* for one request; 0: not set */
	bool has_gzip;	     /* `gzip' below has a value */
	bool gzip;
	bool insecure;	/* accept any certificate */
	const char *ca; /* files in PEM, borrowed; NULL: none */
	const char *cert;
	const char *key;
	/* attributes of the resource of all spans */
	struct inv_spans_attribute *attributes;
	size_t n_attributes;
};

#define INV_TARGET_TIMEOUT_MS 10000u

/*
 * Sets the URL: http or https. As with OTEL_EXPORTER_OTLP_ENDPOINT, /v1/traces
 * is appended to its path, unless the path ends with /v1/traces. Returns 0, or
 * INV_EINVAL or INV_ENOMEM with a message.
 */
int inv_target_url(struct inv_target *t, const char *url, struct inv_err *err);

/* Adds "KEY=VALUE". The first header with a key is used; later ones are
 * ignored. Errors are those of inv_target_url. */
int inv_target_header(struct inv_target *t, const char *pair,
		      struct inv_err *err);

/* Sets whether requests are compressed. Returns 0, or -1 if the text is neither
 * "gzip" nor "none". */
int inv_target_compression(struct inv_target *t, const char *text);

/*
 * Sets the fields that are not set yet: from the environment, or else to
 * defaults. An invalid value in the environment is ignored; a line about it,
 * without the value, is appended to `warnings'. Returns 0, INV_EINVAL if there
 * is no URL, or INV_ENOMEM.
 */
int inv_target_environment(struct inv_target *t, struct inv_buf *warnings,
			   struct inv_err *err);

void inv_target_release(struct inv_target *t);

#endif
