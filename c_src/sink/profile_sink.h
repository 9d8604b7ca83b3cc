/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_PROFILE_SINK_H
#define INV_SINK_PROFILE_SINK_H

#include "base/json.h"
#include "flow/paths.h"
#include "sink/sink.h"

/* The common part of the sinks for profiles. When an event ends a call, such a
 * sink adds the call to the flow's profile. At the end it writes the
 * profile. */
int inv_paths_sink_event(struct inv_sink *s, const struct inv_item *it);

/* Returns what a profile counts: "calls" or "samples". */
const char *inv_paths_unit(const struct inv_paths *p);

/* The functions that write a finished profile in a format. */
void inv_paths_folded(const struct inv_paths *p, struct inv_buf *b);
void inv_paths_speedscope(const struct inv_paths *p, struct inv_buf *b);
void inv_paths_callgrind(const struct inv_paths *p, struct inv_buf *b);
/* Appends a gzip file. */
void inv_paths_pprof(const struct inv_paths *p, struct inv_buf *b);
void inv_paths_svg(const struct inv_paths *p, struct inv_buf *b);
/* Appends the profile for people: the `top' functions with the most time (0:
 * all functions), and the heaviest paths. */
void inv_paths_text(const struct inv_paths *p, uint64_t top, struct inv_buf *b);
/* Appends each path as an object of JSON on a line of its own. */
void inv_paths_json(const struct inv_paths *p, struct inv_json *j);

/* Appends a finished profile in `format', which is a format for profiles. */
void inv_paths_write(const struct inv_sink_ops *format,
		     const struct inv_paths *p, struct inv_buf *b);

#endif
