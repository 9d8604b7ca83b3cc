/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_GC_H
#define INV_FLOW_GC_H

#include <stdbool.h>
#include <stdint.h>

#include "log/item.h"
#include "term/cursor.h"

/* A garbage collection that has begun. A struct of zeros means that no
 * collection has begun. */
struct inv_open_gc {
	bool open;
	bool major;
	int64_t begin_ns; /* on the clock of the events */
	uint64_t words;	  /* size of the heap before the collection */
	uint64_t item;	  /* number of the item with the start event */
};

/* A garbage collection whose start event and end event were read. */
struct inv_gc {
	bool major;
	int64_t duration_ns;
	uint64_t before; /* size of the process's heap, in bytes */
	uint64_t after;
};

static inline bool inv_gc_is_start(unsigned tag)
{
	return tag == INV_TAG_GC_MINOR_START || tag == INV_TAG_GC_MAJOR_START;
}

static inline bool inv_gc_is_end(unsigned tag)
{
	return tag == INV_TAG_GC_MINOR_END || tag == INV_TAG_GC_MAJOR_END;
}

static inline bool inv_gc_is_major(unsigned tag)
{
	return tag == INV_TAG_GC_MAJOR_START || tag == INV_TAG_GC_MAJOR_END;
}

/* Reads the event's list of sizes with c. Returns the size of the heap in
 * words, or 0 if the list has another form. */
uint64_t inv_gc_words(const struct inv_event *ev, struct inv_cursor *c);

#endif
