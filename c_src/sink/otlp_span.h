/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_OTLP_SPAN_H
#define INV_SINK_OTLP_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/proto.h"
#include "log/item.h"
#include "sink/otlp_link.h"

/*
 * Writes spans of OpenTelemetry (OTLP), as JSON or as protocol buffers:
 * requests to a collector (ExportTraceServiceRequest), each with spans of one
 * node. In JSON each request is a line. In protocol buffers the requests follow
 * each other, and together are also one valid request.
 *
 *	inv_spans_open(&w, node, &span);
 *	inv_spans_text(&w, "key", text, len);        any number of attributes
 *	inv_spans_close(&w, &span);
 *
 * Each node has a buffer. Its spans wait there until there are enough of them
 * for a request.
 */
struct inv_otlp_span {
	uint64_t trace[2];
	uint64_t id;
	uint64_t parent; /* id of the span around this span; 0: no span */
	const char *name;
	size_t name_len;
	unsigned kind;
	int64_t begin_ns;
	int64_t end_ns;
	bool failed;
	const char *why; /* the message of a failed span; NULL: no message */
	size_t why_len;
	struct inv_otlp_link links[INV_LINKS_MAX];
	uint32_t n_links;
};

enum inv_otlp_kind {
	INV_SPAN_INTERNAL = 1,
	INV_SPAN_CONSUMER = 5,
};

/* An attribute of the resource of all spans. */
struct inv_spans_attribute {
	char *key;
	char *value;
};

/*
 * Takes the requests to the collector, which are then not written to the
 * output. The attributes of this struct are added to the resource of each node.
 * They replace attributes of the resource that have the same keys.
 */
struct inv_spans_taker {
	/* Takes a request with this number of spans. Returns 0 or an error,
	 * with a message in err; after an error the function is not called
	 * again. NULL: requests are written to the output. */
	int (*take)(struct inv_spans_taker *t, const struct inv_buf *request,
		    uint32_t spans, struct inv_err *err);
	struct inv_spans_attribute *attributes;
	size_t n_attributes;
};

struct inv_spans_node {
	struct inv_buf buf; /* the encoded spans that wait for a request */
	uint32_t n;
	const struct inv_node *node;
};

struct inv_spans {
	bool json;
	struct inv_buf *out;
	struct inv_spans_taker *taker; /* NULL: write to out */
	struct inv_err *err;	       /* set if the taker fails */
	struct inv_spans_node *nodes;  /* nodes[i] is the node with the number
					 i */
	uint32_t n_nodes;
	/* the span between inv_spans_open and inv_spans_close */
	struct inv_spans_node *at;
	size_t begin; /* where the span begins in its buffer, so that it can
			 be removed */
	size_t span;
	struct inv_json w;
	struct inv_buf request; /* for the taker */
};

/* Stores the node, so that its spans can be written. */
void inv_spans_know(struct inv_spans *s, const struct inv_node *node);

/* Returns false if there is no memory. */
bool inv_spans_open(struct inv_spans *s, const struct inv_node *node,
		    const struct inv_otlp_span *span);
void inv_spans_text(struct inv_spans *s, const char *key, const void *p,
		    size_t n);
void inv_spans_int(struct inv_spans *s, const char *key, int64_t v);
void inv_spans_bool(struct inv_spans *s, const char *key, bool v);
void inv_spans_close(struct inv_spans *s, const struct inv_otlp_span *span);
/* Removes the open span, so that it is not written. */
void inv_spans_cancel(struct inv_spans *s);
/* Writes all spans that wait for a request. */
void inv_spans_flush(struct inv_spans *s);
void inv_spans_release(struct inv_spans *s);

#endif
