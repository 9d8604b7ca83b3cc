/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_SET_H
#define INV_LOG_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "log/file.h"
#include "log/packet.h"

/*
 * A log: the files of one uuid in the order of their numbers, as if they were
 * one.  The oldest may be missing (deleted by rotation).
 */
struct inv_log_set {
	struct inv_log_file *files; /* owned, and opened */
	uint32_t n_files;
	uint32_t n_streams;  /* highest number seen, and one */
	bool beginning_lost; /* the first file here is not the log's first */
};

/*
 * Takes the files (an array from malloc, and what is in it), whose uuid is the
 * same: sorts them, leaves out what is there twice, reports what is missing.
 */
int inv_log_set_init(struct inv_log_set *s, struct inv_log_file *files,
		     uint32_t n_files, struct inv_notices *ns);
void inv_log_set_release(struct inv_log_set *s);

/*
 * Reports, once, how the log ends: nothing to say when its tracer was closed.
 * False: its end is not here, nor what became of the events since.
 */
bool inv_log_set_check_end(const struct inv_log_set *s, struct inv_notices *ns);
/* The same of the head of a file's last packet, zero if there is none. */
bool inv_log_check_end(const struct inv_log_packet *last, const char *file,
		       struct inv_notices *ns);

/* A position in the set: as struct inv_log_cursor, going on from file to file. */
struct inv_set_cursor {
	uint32_t file;
	struct inv_log_cursor in;
};

/* The next EVENTS packet of stream, or TOTALS; *file is where it lies. */
int inv_set_cursor_seek(struct inv_set_cursor *c, const struct inv_log_set *s,
			uint32_t stream, struct inv_log_place *at,
			const struct inv_log_file **file);
int inv_set_cursor_anchors(struct inv_set_cursor *c,
			   const struct inv_log_set *s,
			   struct inv_log_place *at);

/* The anchors of a set, one after the other; set and unpacker are borrowed, all
 * else is zero at first. */
struct inv_set_anchors {
	const struct inv_log_set *set;
	struct inv_unpacker *unpacker; /* for nothing else */
	struct inv_set_cursor cursor;
	struct inv_entries entries; /* and the next one to take */
	uint32_t entry;
};

/* For inv_clock_init. */
bool inv_set_anchors_next(void *set_anchors, struct inv_anchor *anchor);

#endif
