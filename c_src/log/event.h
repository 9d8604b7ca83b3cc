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
 * One trace event or note, from a log or a trace port's file. Its terms are not
 * decoded: `terms' points to the bytes of all terms, one after the other, which
 * callers read with a cursor (term/cursor.h).
 *
 * The pointers point into the reader's memory. They are valid until the reader
 * reads the next event.
 */
struct inv_event {
	uint8_t tag;	 /* enum inv_tag; 0: the record is a note */
	uint8_t ts_kind; /* enum inv_ts_kind */
	uint8_t enc;	 /* enum inv_enc */
	bool redacted;	 /* a mark replaces a value that a rule redacts */
	bool cut;	 /* a term was cut, because of a limit of size or
			    depth */
	bool light;	 /* the tracer recorded no payload (payload => none) */
	bool extra;	 /* `terms' has the trace tuple's fifth element */
	bool ms_result;	 /* `terms' has the Value of the match spec's
			    {message,Value} */
	bool has_sched;	 /* `sched' is valid */
	bool whole;	 /* the event ends a call; `terms' also has the call's
			  duration and other facts (INV_EV_WHOLE) */
	bool ends;     /* of a call: the record says that the VM will report the
		        * call's end (INV_NOTE_ENDS) */
	uint32_t note; /* only if tag is 0: the note's kind, of enum inv_note or
			  a kind that this version does not know */
	uint64_t sched;	   /* number of the scheduler */
	uint64_t cpu_ns;   /* CPU time; only if ts_kind is INV_TS_CPU */
	int64_t unique;	   /* the unique integer; only if ts_kind is
			      INV_TS_STRICT */
	const char *other; /* only for INV_TAG_OTHER: the tag's name, UTF-8, or
			      NULL */
	size_t other_len;
	/*
	 * The terms in their order.
	 *   Packed (inviso's encoding): the tag's atom (only with
	 *   INV_TAG_OTHER), tracee, payload, extra, ms_result.
	 *   ETF (external term format): tracee, the tag's atom, payload, extra,
	 *   ms_result.
	 * In a seq_trace event the label takes the place of the tracee, and in
	 * ETF the tag's atom is not among the terms. A note has the terms that
	 * abi/event.h gives for its kind.
	 */
	const uint8_t *terms;
	size_t len;
	const struct inv_dict *dict; /* packed: the packet's dictionary, to
					which `terms' refer */
	const uint8_t *raw;	     /* ETF: the whole tuple; packed: NULL */
	size_t raw_len;
	bool bare; /* ETF: the term at `raw' is not a trace tuple, and `terms'
		    * points to this term, too */
};

/* The times of a packet's records. */
struct inv_event_times {
	bool version_1;	   /* the packet's type is INV_LOG_EVENTS_1 */
	uint64_t begin_ns; /* monotonic time at which the packet was begun */
	uint64_t last_ns;  /* the time of the last record that was decoded;
			    * before the first record, begin_ns */
};

/*
 * Decodes the record at *p. Sets *p to the byte after the record, and
 * t->last_ns to the record's time. Returns 0, or INV_EDAMAGED if the record is
 * invalid. If the length of the record is invalid, too, its end is unknown, and
 * *p becomes NULL.
 */
int inv_event_decode(struct inv_event *ev, const uint8_t **p,
		     const uint8_t *end, const struct inv_dict *dict,
		     struct inv_event_times *t);

/*
 * inv_event_tracee initializes the cursor *c and reads the first token of the
 * event's tracee. inv_event_payload, called after that, skips the rest of the
 * tracee, so that the next token of *c is the first token of the payload. Both
 * functions return 0 or an error of inv_cursor_next, never INV_END.
 */
int inv_event_tracee(const struct inv_event *ev, struct inv_cursor *c,
		     struct inv_token *tok);
int inv_event_payload(const struct inv_event *ev, struct inv_cursor *c);

/* Returns the tag's name in Erlang and sets *len. */
const char *inv_event_tag(const struct inv_event *ev, size_t *len);
/* inv_tag_text returns the name of a tag, or NULL if INV_TAGS does not have the
 * tag. inv_tag_number returns the number of the tag with this name, or 0. */
const char *inv_tag_text(unsigned tag, size_t *len);
unsigned inv_tag_number(const char *text, size_t len);
/* The same functions for the tags of INV_SYSTEM_TAGS. inv_system_number returns
 * INV_SYSTEM_COUNT if no tag has this name. */
const char *inv_system_text(unsigned tag, size_t *len);
unsigned inv_system_number(const char *text, size_t len);
/* Returns the number of the event's tag in INV_SYSTEM_TAGS, or INV_SYSTEM_COUNT
 * if it has another tag. */
unsigned inv_event_system(const struct inv_event *ev);

#endif
