/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_EXPORT_ANSWER_H
#define INV_EXPORT_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The part of an answer's body that is kept. */
#define INV_ANSWER_MAX (64u * 1024)

/* What a collector answered. */
struct inv_answer {
	uint64_t rejected;   /* spans that it did not accept */
	struct inv_buf text; /* its message for people, without control
				characters; empty: none */
};

/*
 * Reads the body of an answer. ok: the request was accepted, so the body is
 * ExportTraceServiceResponse, otherwise google.rpc.Status; json: as JSON, or as
 * text. An invalid body says nothing. Release a->text.
 */
void inv_answer_read(struct inv_answer *a, const uint8_t *p, size_t n, bool ok,
		     bool json);

#endif
