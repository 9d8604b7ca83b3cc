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
 * The frames on a connection after the handshake. A frame begins with its
 * length in four bytes. Length 0 is a tick. In any other frame, the length is
 * followed by the byte 112, a control tuple, and for some tuples a message.
 * Tuple and message are in the external format with a version byte.
 *
 * The parser does not trust the bytes of the node.
 */
enum inv_dist_frame_kind {
	INV_DIST_OTHER = 0, /* a frame that the command ignores */
	/* A message {Tag, Answer} to the command's pid. The fields term and len
	 * have Answer. */
	INV_DIST_ANSWER,
	/*
	 * The process to which request `tag' was sent, and which the command
	 * monitors, has died or does not exist. The fields term and len have
	 * the reason.
	 */
	INV_DIST_DOWN,
	/*
	 * A process of the node wants to monitor a pid of this command. The
	 * command must answer that no such process exists.
	 */
	INV_DIST_WATCHED,
};

struct inv_dist_frame {
	enum inv_dist_frame_kind kind;
	uint64_t tag;
	const char *term; /* points into the parsed bytes; has no version
			     byte */
	size_t len;
	/* For INV_DIST_WATCHED: the terms of the frame, encoded. */
	const char *watcher;
	size_t watcher_len;
	const char *watched;
	size_t watched_len;
	const char *ref;
	size_t ref_len;
};

/*
 * Parses a frame; `bytes' begins after the frame's four length bytes.  Checks
 * every byte, so the terms in `*out' are complete and well-formed.  Returns 0,
 * INV_EDAMAGED or another error of the cursor.
 */
int inv_dist_frame_parse(struct inv_cursor *c, const void *bytes, size_t len,
			 const erlang_pid *self, struct inv_dist_frame *out);

/*
 * Both functions append a whole frame to `out'. inv_dist_frame_put_request
 * appends a request. inv_dist_frame_put_monitor appends a frame that begins
 * (`on') or ends the monitoring of the process to which the request goes. Both
 * return 0, INV_ENOMEM, or INV_EINVAL if the request is empty or too large for
 * a frame.
 */
int inv_dist_frame_put_request(struct inv_buf *out, const erlang_pid *self,
			       const struct inv_dest *to, uint64_t tag,
			       const void *term, size_t len);
int inv_dist_frame_put_monitor(struct inv_buf *out, const erlang_pid *self,
			       const struct inv_dest *to, uint64_t tag,
			       bool on);
/*
 * Appends the answer to a frame INV_DIST_WATCHED: the process does not exist.
 */
int inv_dist_frame_put_noproc(struct inv_buf *out,
			      const struct inv_dist_frame *f);
void inv_dist_frame_put_tick(struct inv_buf *out);

#endif
