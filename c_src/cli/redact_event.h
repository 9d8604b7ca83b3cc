/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_REDACT_EVENT_H
#define INV_CLI_REDACT_EVENT_H

#include "log/item.h"
#include "match/redact_terms.h"

/*
 * Redacts the terms of events and notes of a log, as the tracer does while it
 * records (nif/record_put.c).
 */
struct inv_redact_events {
	struct inv_redact rules;
	/* Definitions of records, from --records and from the notes in logs. */
	struct inv_records known;
	struct inv_buf out;
	struct inv_redact_ends ends;
	struct inv_cursor cursor;
	uint64_t marks;
};

/* Makes the rules of the n texts. Returns 0 or an error with a message. */
int inv_redact_events_new(struct inv_redact_events **made,
			  const char *const *rules, size_t n,
			  const struct inv_records *records,
			  struct inv_err *err);
void inv_redact_events_free(struct inv_redact_events *r);

/*
 * Replaces the terms of the item by redacted terms, which are valid until the
 * next call. If the item's terms are invalid, or come from another tool's file,
 * the item becomes a loss, because nothing of it may be shown. If the item is a
 * note that defines a record, those fields of the record whose names are keys
 * in the rules are redacted from now on.
 * Returns 0, or INV_ENOMEM or INV_ETOOBIG with a message.
 */
int inv_redact_item(struct inv_redact_events *r, struct inv_item *it,
		    struct inv_err *err);

#endif
