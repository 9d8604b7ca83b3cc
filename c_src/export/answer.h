/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_EXPORT_ANSWER_H
#define INV_EXPORT_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* At most this many bytes of an answer's body are kept. */
#define INV_ANSWER_MAX (64u * 1024)

/* What a collector answered. */
struct inv_answer {
	uint64_t rejected;   /* spans that the collector did not accept */
	struct inv_buf text; /* the collector's message for people, without
				control characters; empty: none */
};

/*
 * Reads the body of an answer. If `ok' is true, the request was accepted, and
 * the body is an ExportTraceServiceResponse; otherwise it is a
 * google.rpc.Status. If `json' is true, the body is JSON or text; otherwise it
 * is a protocol buffer. An invalid body is ignored. The caller releases
 * a->text.
 */
void inv_answer_read(struct inv_answer *a, const uint8_t *p, size_t n, bool ok,
		     bool json);

#endif
