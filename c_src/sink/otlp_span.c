/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/otlp_span.h"

#include <stdlib.h>

#include "base/version.h"

/* A request to the collector has at most this many spans, and about this many
 * bytes. */
#define SPANS 512u
#define BYTES ((size_t)1 << 20)

/* The field numbers of each protobuf message. */
enum {
	EXPORT_RESOURCES = 1,
	RESOURCE_SPANS_RESOURCE = 1,
	RESOURCE_SPANS_SCOPES = 2,
	RESOURCE_ATTRIBUTE = 1,
	SCOPE_SPANS_SCOPE = 1,
	SCOPE_SPANS_SPAN = 2,
	SCOPE_NAME = 1,
	SCOPE_VERSION = 2,
	SPAN_TRACE = 1,
	SPAN_ID = 2,
	SPAN_PARENT = 4,
	SPAN_NAME = 5,
	SPAN_KIND = 6,
	SPAN_BEGIN = 7,
	SPAN_END = 8,
	SPAN_ATTRIBUTE = 9,
	SPAN_LINK = 13,
	SPAN_STATUS = 15,
	LINK_TRACE = 1,
	LINK_SPAN = 2,
	STATUS_MESSAGE = 2,
	STATUS_CODE = 3,
	PAIR_KEY = 1,
	PAIR_VALUE = 2,
	VALUE_TEXT = 1,
	VALUE_BOOL = 2,
	VALUE_INT = 3,
};

#define STATUS_ERROR 2u

/* --- identifiers ---------------------------------------------------------- */

static void put_bytes(uint8_t *w, uint64_t id)
{
	for (unsigned i = 0; i < 8; i++)
		w[i] = (uint8_t)(id >> (56 - 8 * i));
}

/* Writes the n numbers of an identifier, in hexadecimal digits. */
static void hex(struct inv_json *w, const char *key, const uint64_t *id,
		unsigned n)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t bytes[16];

	for (unsigned i = 0; i < n; i++)
		put_bytes(bytes + 8 * (size_t)i, id[i]);
	inv_json_begin(w, key);
	for (unsigned i = 0; i < 8 * n; i++) {
		inv_buf_putc(w->out, digits[bytes[i] >> 4]);
		inv_buf_putc(w->out, digits[bytes[i] & 15]);
	}
	inv_json_end_plain(w);
}

static void raw(struct inv_buf *out, uint32_t field, const uint64_t *id,
		unsigned n)
{
	uint8_t bytes[16];

	for (unsigned i = 0; i < n; i++)
		put_bytes(bytes + 8 * (size_t)i, id[i]);
	inv_proto_bytes(out, field, bytes, 8 * (size_t)n);
}

/* Writes v as a string: the JSON form of protocol buffers has 64-bit numbers as
 * strings. */
static void long_text(struct inv_json *w, const char *key, int64_t v)
{
	inv_json_begin(w, key);
	inv_buf_i64(w->out, v);
	inv_json_end_plain(w);
}

static uint64_t time_of(int64_t ns)
{
	return ns > 0 ? (uint64_t)ns : 0;
}

/* --- attributes ----------------------------------------------------------- */

static void json_pair(struct inv_json *w, const char *key)
{
	inv_json_open(w, NULL, '{');
	inv_json_text(w, "key", key);
	inv_json_open(w, "value", '{');
}

static void json_pair_end(struct inv_json *w)
{
	inv_json_close(w, '}');
	inv_json_close(w, '}');
}

struct pair {
	size_t pair;
	size_t value;
};

static struct pair pair(struct inv_buf *out, uint32_t field, const char *key)
{
	struct pair p = { .pair = inv_proto_open(out, field) };

	inv_proto_text(out, PAIR_KEY, key);
	p.value = inv_proto_open(out, PAIR_VALUE);
	return p;
}

static void pair_end(struct inv_buf *out, struct pair p)
{
	inv_proto_close(out, p.value);
	inv_proto_close(out, p.pair);
}

void inv_spans_text(struct inv_spans *s, const char *key, const void *p,
		    size_t n)
{
	struct pair x;

	if (s->json) {
		json_pair(&s->w, key);
		inv_json_bytes(&s->w, "stringValue", p, n);
		json_pair_end(&s->w);
		return;
	}
	x = pair(&s->at->buf, SPAN_ATTRIBUTE, key);
	inv_proto_bytes(&s->at->buf, VALUE_TEXT, p, n);
	pair_end(&s->at->buf, x);
}

void inv_spans_int(struct inv_spans *s, const char *key, int64_t v)
{
	struct pair x;

	if (s->json) {
		json_pair(&s->w, key);
		long_text(&s->w, "intValue", v);
		json_pair_end(&s->w);
		return;
	}
	x = pair(&s->at->buf, SPAN_ATTRIBUTE, key);
	inv_proto_i64(&s->at->buf, VALUE_INT, v);
	pair_end(&s->at->buf, x);
}

void inv_spans_bool(struct inv_spans *s, const char *key, bool v)
{
	struct pair x;

	if (s->json) {
		json_pair(&s->w, key);
		inv_json_bool(&s->w, "boolValue", v);
		json_pair_end(&s->w);
		return;
	}
	x = pair(&s->at->buf, SPAN_ATTRIBUTE, key);
	inv_proto_u64(&s->at->buf, VALUE_BOOL, v);
	pair_end(&s->at->buf, x);
}

/* --- requests of a collector ---------------------------------------------- */

static void resource_text(struct inv_spans *s, struct inv_buf *out,
			  const char *key, const char *text, size_t len)
{
	struct pair x;

	if (s->json) {
		json_pair(&s->w, key);
		inv_json_bytes(&s->w, "stringValue", text, len);
		json_pair_end(&s->w);
		return;
	}
	x = pair(out, RESOURCE_ATTRIBUTE, key);
	inv_proto_bytes(out, VALUE_TEXT, text, len);
	pair_end(out, x);
}

static void resource_pid(struct inv_spans *s, struct inv_buf *out,
			 const char *os_pid)
{
	int64_t pid = strtoll(os_pid, NULL, 10);
	struct pair x;

	if (pid <= 0)
		return;
	if (s->json) {
		json_pair(&s->w, "process.pid");
		long_text(&s->w, "intValue", pid);
		json_pair_end(&s->w);
		return;
	}
	x = pair(out, RESOURCE_ATTRIBUTE, "process.pid");
	inv_proto_i64(out, VALUE_INT, pid);
	pair_end(out, x);
}

/* Returns true if the user has set the attribute. */
static bool is_given(const struct inv_spans *s, const char *key)
{
	for (size_t i = 0; s->taker && i < s->taker->n_attributes; i++)
		if (!strcmp(s->taker->attributes[i].key, key))
			return true;
	return false;
}

/* Writes the node as a resource. The name of the service is the node's name
 * without the host. */
static void resource(struct inv_spans *s, struct inv_buf *out,
		     const struct inv_node *node)
{
	const char *erts = node->erts_version ? node->erts_version : "";
	const char *host = strchr(node->name, '@');
	size_t len = host ? (size_t)(host - node->name) : strlen(node->name);
	const struct {
		const char *key;
		const char *text;
		size_t len;
	} v[] = {
		{ "service.name", node->name, len },
		{ "service.instance.id", node->name, strlen(node->name) },
		{ "host.name", host ? host + 1 : "",
		  host ? strlen(host + 1) : 0 },
		{ "telemetry.sdk.name", "inviso", 6 },
		{ "telemetry.sdk.language", "erlang", 6 },
		{ "telemetry.sdk.version", INV_VERSION, strlen(INV_VERSION) },
		{ "process.runtime.name", "BEAM", 4 },
		{ "process.runtime.version", erts, strlen(erts) },
	};

	for (unsigned i = 0; i < sizeof(v) / sizeof(*v); i++) {
		if (v[i].len && !is_given(s, v[i].key))
			resource_text(s, out, v[i].key, v[i].text, v[i].len);
	}
	if (node->os_pid && !is_given(s, "process.pid"))
		resource_pid(s, out, node->os_pid);
	for (size_t i = 0; s->taker && i < s->taker->n_attributes; i++)
		resource_text(s, out, s->taker->attributes[i].key,
			      s->taker->attributes[i].value,
			      strlen(s->taker->attributes[i].value));
}

static void flush_json(struct inv_spans *s, const struct inv_spans_node *n)
{
	struct inv_json *w = &s->w;

	*w = (struct inv_json){ .out = s->out };
	inv_json_open(w, NULL, '{');
	inv_json_open(w, "resourceSpans", '[');
	inv_json_open(w, NULL, '{');
	inv_json_open(w, "resource", '{');
	inv_json_open(w, "attributes", '[');
	resource(s, s->out, n->node);
	inv_json_close(w, ']');
	inv_json_close(w, '}');
	inv_json_open(w, "scopeSpans", '[');
	inv_json_open(w, NULL, '{');
	inv_json_open(w, "scope", '{');
	inv_json_text(w, "name", "inviso");
	inv_json_text(w, "version", INV_VERSION);
	inv_json_close(w, '}');
	inv_json_open(w, "spans", '[');
	inv_buf_put(s->out, n->buf.data, n->buf.len);
	inv_json_close(w, ']');
	inv_json_close(w, '}');
	inv_json_close(w, ']');
	inv_json_close(w, '}');
	inv_json_close(w, ']');
	inv_json_close(w, '}');
	inv_json_line(w);
}

static void flush_proto(struct inv_spans *s, const struct inv_spans_node *n,
			struct inv_buf *out)
{
	size_t at = inv_proto_open(out, EXPORT_RESOURCES), inner, scope;

	inner = inv_proto_open(out, RESOURCE_SPANS_RESOURCE);
	resource(s, out, n->node);
	inv_proto_close(out, inner);
	inner = inv_proto_open(out, RESOURCE_SPANS_SCOPES);
	scope = inv_proto_open(out, SCOPE_SPANS_SCOPE);
	inv_proto_text(out, SCOPE_NAME, "inviso");
	inv_proto_text(out, SCOPE_VERSION, INV_VERSION);
	inv_proto_close(out, scope);
	inv_buf_put(out, n->buf.data, n->buf.len);
	inv_proto_close(out, inner);
	inv_proto_close(out, at);
}

static void pass_on(struct inv_spans *s, struct inv_spans_node *n)
{
	inv_buf_reset(&s->request);
	flush_proto(s, n, &s->request);
	if (s->request.error)
		s->out->error = s->request.error;
	else if (!s->err->code)
		(void)s->taker->take(s->taker, &s->request, n->n, s->err);
}

static void write_out(struct inv_spans *s, struct inv_spans_node *n)
{
	if (n->buf.error)
		s->out->error = n->buf.error;
	if (!n->n)
		return;
	if (s->json)
		flush_json(s, n);
	else if (s->taker && s->taker->take)
		pass_on(s, n);
	else
		flush_proto(s, n, s->out);
	inv_buf_reset(&n->buf);
	n->n = 0;
}

void inv_spans_flush(struct inv_spans *s)
{
	for (uint32_t i = 0; i < s->n_nodes; i++)
		write_out(s, &s->nodes[i]);
}

void inv_spans_release(struct inv_spans *s)
{
	for (uint32_t i = 0; i < s->n_nodes; i++)
		inv_buf_release(&s->nodes[i].buf);
	free(s->nodes);
	inv_buf_release(&s->request);
}

/* --- spans ---------------------------------------------------------------- */

static struct inv_spans_node *node_of(struct inv_spans *s,
				      const struct inv_node *node)
{
	if (node->number >= s->n_nodes) {
		uint32_t n = node->number + 1;
		struct inv_spans_node *more =
			realloc(s->nodes, n * sizeof(*more));

		if (!more) {
			s->out->error = INV_ENOMEM;
			return NULL;
		}
		memset(more + s->n_nodes, 0, (n - s->n_nodes) * sizeof(*more));
		s->nodes = more;
		s->n_nodes = n;
	}
	s->nodes[node->number].node = node;
	return &s->nodes[node->number];
}

void inv_spans_know(struct inv_spans *s, const struct inv_node *node)
{
	(void)node_of(s, node);
}

static void open_json(struct inv_spans *s, const struct inv_otlp_span *span)
{
	struct inv_json *w = &s->w;

	*w = (struct inv_json){ .out = &s->at->buf, .more = s->at->n > 0 };
	inv_json_open(w, NULL, '{');
	hex(w, "traceId", span->trace, 2);
	hex(w, "spanId", &span->id, 1);
	if (span->parent)
		hex(w, "parentSpanId", &span->parent, 1);
	inv_json_bytes(w, "name", span->name, span->name_len);
	inv_json_uint(w, "kind", span->kind);
	long_text(w, "startTimeUnixNano", (int64_t)time_of(span->begin_ns));
	long_text(w, "endTimeUnixNano", (int64_t)time_of(span->end_ns));
	inv_json_open(w, "attributes", '[');
}

static void open_proto(struct inv_spans *s, const struct inv_otlp_span *span)
{
	struct inv_buf *b = &s->at->buf;

	s->span = inv_proto_open(b, SCOPE_SPANS_SPAN);
	raw(b, SPAN_TRACE, span->trace, 2);
	raw(b, SPAN_ID, &span->id, 1);
	if (span->parent)
		raw(b, SPAN_PARENT, &span->parent, 1);
	inv_proto_bytes(b, SPAN_NAME, span->name, span->name_len);
	inv_proto_u64(b, SPAN_KIND, span->kind);
	inv_proto_fixed64(b, SPAN_BEGIN, time_of(span->begin_ns));
	inv_proto_fixed64(b, SPAN_END, time_of(span->end_ns));
}

bool inv_spans_open(struct inv_spans *s, const struct inv_node *node,
		    const struct inv_otlp_span *span)
{
	s->at = node_of(s, node);
	if (!s->at)
		return false;
	s->begin = s->at->buf.len;
	if (s->json)
		open_json(s, span);
	else
		open_proto(s, span);
	return true;
}

static void json_links(struct inv_json *w, const struct inv_otlp_span *span)
{
	inv_json_open(w, "links", '[');
	for (uint32_t i = 0; i < span->n_links; i++) {
		inv_json_open(w, NULL, '{');
		hex(w, "traceId", span->links[i].trace, 2);
		hex(w, "spanId", &span->links[i].span, 1);
		inv_json_close(w, '}');
	}
	inv_json_close(w, ']');
}

static void close_json(struct inv_spans *s, const struct inv_otlp_span *span)
{
	struct inv_json *w = &s->w;

	inv_json_close(w, ']');
	if (span->n_links)
		json_links(w, span);
	if (span->failed) {
		inv_json_open(w, "status", '{');
		inv_json_uint(w, "code", STATUS_ERROR);
		if (span->why)
			inv_json_bytes(w, "message", span->why, span->why_len);
		inv_json_close(w, '}');
	}
	inv_json_close(w, '}');
}

static void close_proto(struct inv_spans *s, const struct inv_otlp_span *span)
{
	struct inv_buf *b = &s->at->buf;
	size_t at;

	for (uint32_t i = 0; i < span->n_links; i++) {
		at = inv_proto_open(b, SPAN_LINK);
		raw(b, LINK_TRACE, span->links[i].trace, 2);
		raw(b, LINK_SPAN, &span->links[i].span, 1);
		inv_proto_close(b, at);
	}
	if (span->failed) {
		at = inv_proto_open(b, SPAN_STATUS);
		if (span->why)
			inv_proto_bytes(b, STATUS_MESSAGE, span->why,
					span->why_len);
		inv_proto_u64(b, STATUS_CODE, STATUS_ERROR);
		inv_proto_close(b, at);
	}
	inv_proto_close(b, s->span);
}

void inv_spans_close(struct inv_spans *s, const struct inv_otlp_span *span)
{
	if (s->json)
		close_json(s, span);
	else
		close_proto(s, span);
	if (++s->at->n >= SPANS || s->at->buf.len >= BYTES || s->at->buf.error)
		write_out(s, s->at);
}

void inv_spans_cancel(struct inv_spans *s)
{
	s->at->buf.len = s->begin;
}
