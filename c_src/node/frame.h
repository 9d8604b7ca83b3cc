/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_FRAME_H
#define INV_NODE_FRAME_H

#include <ei.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "node/call.h"
#include "term/cursor.h"

/*
 * What goes over a connection after the handshake: a length of four bytes,
 * then, unless that is 0 (a tick), the byte 112, a control tuple, and with some
 * of those a message; both in the external format, with their version byte.
 *
 * The half that reads is handed what a node sent, which may be anything.
 */
enum inv_dist_frame_kind {
	INV_DIST_OTHER = 0, /* nothing that concerns us */
	INV_DIST_ANSWER,    /* {Tag, Answer} sent to our pid: tag, term, len */
	INV_DIST_DOWN,	    /* what was monitored for tag: term, len is why */
	INV_DIST_WATCHED,   /* somebody monitors a pid that is not ours */
};

struct inv_dist_frame {
	enum inv_dist_frame_kind kind;
	uint64_t tag;
	const char *term; /* within the bytes given, without version byte */
	size_t len;
	/* WATCHED: terms as they came */
	const char *watcher;
	size_t watcher_len;
	const char *watched;
	size_t watched_len;
	const char *ref;
	size_t ref_len;
};

/*
 * Takes a frame apart, the length's four bytes left out.  Every byte of it is
 * looked at: terms that are pointed to are whole and well-formed.
 * INV_EDAMAGED, and the other codes of a cursor.
 */
int inv_dist_frame_parse(struct inv_cursor *c, const void *bytes, size_t len,
			 const erlang_pid *self, struct inv_dist_frame *out);

/*
 * The half that writes: whole frames, appended to out.  INV_ENOMEM; INV_EINVAL
 * for a request that libei or a frame has no room for.
 */
int inv_dist_frame_put_request(struct inv_buf *out, const erlang_pid *self,
			       const struct inv_dest *to, uint64_t tag,
			       const void *term, size_t len);
int inv_dist_frame_put_monitor(struct inv_buf *out, const erlang_pid *self,
			       const struct inv_dest *to, uint64_t tag,
			       bool on);
/* Answers WATCHED: there is no such process. */
int inv_dist_frame_put_noproc(struct inv_buf *out,
			      const struct inv_dist_frame *f);
void inv_dist_frame_put_tick(struct inv_buf *out);

#endif
