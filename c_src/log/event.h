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
 * One trace event, from any kind of file. Its terms are not decoded: `terms'
 * points to the bytes of all terms, one after the other, which callers read
 * with a cursor.
 *
 * Pointers refer to the reader's memory and are valid until the reader's next
 * event.
 */
struct inv_event {
	uint8_t tag;	 /* enum inv_tag; 0: the record is a note */
	uint8_t ts_kind; /* enum inv_ts_kind */
	uint8_t enc;	 /* enum inv_enc */
	bool redacted;	 /* a mark replaces a redacted value */
	bool cut;	 /* a term was cut, because of a limit of size or
			    depth */
	bool light;	 /* the tracer recorded no payload (payload => none) */
	bool extra;	 /* `terms' has the tuple's fifth element */
	bool ms_result;	 /* `terms' has the Value of the match spec's
			    {message,Value} */
	bool has_sched;
	bool whole;    /* `terms' also has facts about the call that the
			  event ends: see INV_EV_WHOLE */
	bool ends;     /* call: has the mark that the VM will report its end;
		        * see INV_NOTE_ENDS */
	uint32_t note; /* a note's kind, enum inv_note or a newer one; `terms'
			  are then those of the note */
	uint64_t sched;
	uint64_t cpu_ns;   /* CPU time; only if ts_kind is INV_TS_CPU */
	int64_t unique;	   /* the unique integer; only if ts_kind is
			      INV_TS_STRICT */
	const char *other; /* only for INV_TAG_OTHER: the tag's name, UTF-8, or
			      NULL */
	size_t other_len;
	/*
	 * packed: the tag's atom (only with INV_TAG_OTHER), tracee, payload,
	 * extra, ms_result. ETF: tracee, the tag's atom, payload, extra,
	 * ms_result. In a seq_trace event the tracee is the label, and ETF has
	 * no atom.
	 */
	const uint8_t *terms;
	size_t len;
	const struct inv_dict *dict; /* packed: the packet's dictionary, to
					which `terms' refer */
	const uint8_t *raw;	     /* ETF: the whole tuple; packed: NULL */
	size_t raw_len;
	bool bare; /* ETF: not a trace tuple; terms is the same as raw */
};

/* The times of a packet's records. */
struct inv_event_times {
	bool version_1;	   /* the packet's type is INV_LOG_EVENTS_1 */
	uint64_t begin_ns; /* monotonic time at which the packet was begun */
	uint64_t last_ns;  /* the time of the last record that was decoded;
			    * before the first record, begin_ns */
};

/*
 * Decodes the record at *p, sets *p to the byte after the record, and
 * t->last_ns to its time. Returns 0, or INV_EDAMAGED if the record is invalid.
 * In that case, if the record's length is also invalid, sets *p to NULL.
 */
int inv_event_decode(struct inv_event *ev, const uint8_t **p,
		     const uint8_t *end, const struct inv_dict *dict,
		     struct inv_event_times *t);

/*
 * inv_event_tracee starts c at the event's tracee and reads the tracee's first
 * token. inv_event_payload then skips the rest of the tracee, so that the
 * payload is next. Both return the errors of inv_cursor_next, but never
 * INV_END.
 */
int inv_event_tracee(const struct inv_event *ev, struct inv_cursor *c,
		     struct inv_token *tok);
int inv_event_payload(const struct inv_event *ev, struct inv_cursor *c);

/* Returns the tag's name in Erlang and sets *len. */
const char *inv_event_tag(const struct inv_event *ev, size_t *len);
/* inv_tag_text returns the name of a tag in INV_TAGS, or NULL; inv_tag_number
 * returns the tag with this name, or 0. */
const char *inv_tag_text(unsigned tag, size_t *len);
unsigned inv_tag_number(const char *text, size_t len);
/* The same for INV_SYSTEM_TAGS; inv_system_number returns INV_SYSTEM_COUNT if there is
 * no such tag. */
const char *inv_system_text(unsigned tag, size_t *len);
unsigned inv_system_number(const char *text, size_t len);
/* Returns the number of the event's tag in INV_SYSTEM_TAGS, or INV_SYSTEM_COUNT. */
unsigned inv_event_system(const struct inv_event *ev);

#endif
