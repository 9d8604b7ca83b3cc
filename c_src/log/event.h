/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_EVENT_H
#define INV_LOG_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/event.h"
#include "term/cursor.h"
#include "term/dict.h"

/*
 * One trace event, whatever file it comes from.  Its terms are not decoded:
 * they lie one after the other in `terms`, and who wants them walks them.
 *
 * Pointers reach into the reader's memory and are good until its next event.
 */
struct inv_event {
	uint8_t tag;	 /* enum inv_tag */
	uint8_t ts_kind; /* enum inv_ts_kind */
	uint8_t enc;	 /* enum inv_enc */
	bool cut;	 /* some term was cut at a budget */
	bool light;	 /* recorded without payloads */
	bool extra;	 /* terms has the fifth element */
	bool ms_result;	 /* terms has the result of {message,_} */
	bool has_sched;
	uint64_t sched;
	uint64_t cpu_ns;   /* ts_kind CPU */
	int64_t unique;	   /* ts_kind STRICT */
	const char *other; /* tag INV_TAG_OTHER: its name, UTF-8, or NULL */
	size_t other_len;
	/*
	 * packed: the tag's atom with INV_TAG_OTHER, tracee, payload, extra,
	 * ms_result;  ETF: tracee, the tag's atom, payload, extra, ms_result.
	 * For seq_trace the tracee is the label, and ETF has no tag's atom.
	 */
	const uint8_t *terms;
	size_t len;
	const struct inv_dict *dict; /* packed */
	const uint8_t *raw;	     /* ETF: the whole tuple; packed: NULL */
	size_t raw_len;
	bool bare; /* ETF: no trace tuple at all: terms is raw */
};

/*
 * Decodes the record at *p; moves *p past it.  INV_EDAMAGED when it makes no
 * sense; *p is past it if its length does, else NULL.
 */
int inv_event_decode(struct inv_event *ev, const uint8_t **p,
		     const uint8_t *end, const struct inv_dict *dict,
		     uint64_t *ts_off);

/*
 * Sets c before the tracee and takes its token; inv_event_payload then sets it
 * before the payload, after whatever of the tracee was not walked.  Errors as
 * inv_cursor_next; INV_END is none that they return.
 */
int inv_event_tracee(const struct inv_event *ev, struct inv_cursor *c,
		     struct inv_token *tok);
int inv_event_payload(const struct inv_event *ev, struct inv_cursor *c);

/* The tag as Erlang has it; of len bytes. */
const char *inv_event_tag(const struct inv_event *ev, size_t *len);
/* The tag's text of INV_TAGS by number, NULL if there is none; and back: 0. */
const char *inv_tag_text(unsigned tag, size_t *len);
unsigned inv_tag_number(const char *text, size_t len);

#endif
