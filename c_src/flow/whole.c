/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/whole.h"

#include <string.h>

/* `ev' is the event that ends a call. Moves the cursor past the event's own
 * terms, to the terms about the call. */
static bool skip_event(struct inv_cursor *c, const struct inv_event *ev)
{
	struct inv_token tok;

	if (inv_event_tracee(ev, c, &tok) || inv_event_payload(ev, c) ||
	    inv_cursor_skip(c))
		return false;
	return (!ev->extra || !inv_cursor_skip(c)) &&
	       (!ev->ms_result || !inv_cursor_skip(c));
}

static void set_event(struct inv_whole_call *w, struct inv_cursor *c,
		      const struct inv_event *ev)
{
	size_t begin = inv_cursor_offset(c);

	memset(&w->event, 0, sizeof(w->event));
	w->event.tag = INV_TAG_CALL;
	w->event.enc = ev->enc;
	w->event.redacted = ev->redacted;
	w->event.cut = ev->cut;
	w->event.light = ev->light;
	w->event.ends = true;
	w->event.terms = ev->terms + begin;
	w->event.len = ev->len - begin;
	w->event.dict = ev->dict;
	/* Skips the tracee and the payload. A term after them is the result of
	 * the match spec. */
	w->has_event = !inv_cursor_skip(c);
	if (w->has_event && inv_cursor_skip(c))
		w->has_event = false;
	w->event.ms_result = w->has_event && inv_cursor_offset(c) < ev->len;
}

bool inv_whole_read(struct inv_whole_call *w, struct inv_cursor *c,
		    const struct inv_event *ev)
{
	int64_t depth;

	if (!ev->whole || !skip_event(c, ev))
		return false;
	w->begin = inv_cursor_offset(c);
	w->has_event = false;
	if (inv_cursor_int(c, &w->duration_ns) ||
	    inv_cursor_int(c, &w->self_ns) || inv_cursor_int(c, &depth) ||
	    depth < 0 || depth > UINT32_MAX || w->duration_ns < 0)
		return false;
	w->depth = (uint32_t)depth;
	if (inv_cursor_offset(c) < ev->len)
		set_event(w, c, ev);
	return true;
}
