/* SPDX-License-Identifier: Apache-2.0 */
#include "spool/drain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spool/spool_int.h"

static int init_rings(struct inv_spool *s, struct inv_err *err)
{
	uint32_t i;

	s->rings = calloc(s->mem->n_rings, sizeof(*s->rings));
	if (!s->rings)
		return inv_err_set(err, INV_ENOMEM, "no memory for rings");
	for (i = 0; i < s->mem->n_rings; i++)
		if (inv_consumer_init(&s->rings[i], s->mem->ctl, s->mem->len,
				      i) < 0)
			return inv_err_set(err, INV_EDAMAGED,
					   "ring %u is damaged", i);
	return 0;
}

/* Returns the most bytes that the body of a packet in the log can have. */
static size_t longest_body(const struct inv_attached *mem)
{
	struct inv_larges large;

	inv_larges_init(&large, mem->ctl, mem->len);
	return large.data_len > mem->packet_bytes ? large.data_len :
						    mem->packet_bytes;
}

/* Sets all fields except the log file. */
static int init(struct inv_spool *s, struct inv_attached *mem,
		struct inv_err *err)
{
	struct inv_ring_ctl *ctl = mem->ctl;
	int r;

	*s = (struct inv_spool){ .mem = mem, .log.fd = -1 };
	inv_journal_redo(ctl, mem->n_rings);
	inv_log_pos_load(ctl, &s->at);
	memcpy(s->files.uuid, ctl->uuid, sizeof(ctl->uuid));
	s->files.rotates = ctl->rotate_bytes || ctl->rotate_ns;
	snprintf(s->files.path, sizeof(s->files.path), "%.*s",
		 (int)sizeof(ctl->path) - 1, ctl->path);
	r = init_rings(s, err);
	if (r == 0)
		r = inv_log_writer_init(&s->log, ctl->codec, ctl->level,
					longest_body(mem),
					inv_spool_totals_len(mem->n_rings),
					err);
	return r;
}

int inv_spool_open(struct inv_spool *s, struct inv_attached *mem,
		   struct inv_err *err)
{
	int r = init(s, mem, err);

	if (r == 0) {
		err->code = 0;
		r = inv_spool_log_open(s, err);
		if (r < 0 && s->at.off > 0)
			return 0;
	}
	if (r < 0)
		inv_spool_close(s);
	return r;
}

int inv_spool_open_again(struct inv_spool *s, struct inv_attached *mem,
			 struct inv_err *err)
{
	int r = init(s, mem, err);

	if (r == 0 && s->at.off == 0)
		r = inv_err_set(err, INV_EINVAL, "no log was begun");
	if (r == 0)
		r = inv_spool_log_reopen(s, err);
	if (r < 0)
		inv_spool_close(s);
	return r;
}

int inv_spool_open_at(struct inv_spool *s, struct inv_attached *mem,
		      const char *path, struct inv_err *err)
{
	int r = init(s, mem, err);

	if (r == 0) {
		s->files.rotates = false;
		snprintf(s->files.path, sizeof(s->files.path), "%s", path);
		r = inv_spool_log_create(
			s, s->at.off > 0 ? s->at.file + 1 : s->at.file,
			INV_LEFTOVER_NONE, err);
	}
	if (r < 0)
		inv_spool_close(s);
	return r;
}

void inv_spool_close(struct inv_spool *s)
{
	inv_log_writer_release(&s->log);
	free(s->rings);
	s->rings = NULL;
}

static int put_events(struct inv_spool *s, uint32_t ring,
		      const struct inv_fragment *f, struct inv_err *err)
{
	struct inv_log_packet p = { .type = INV_LOG_EVENTS,
				    .stream = ring,
				    .n_events = f->n_events,
				    .seq = f->seq,
				    .first_event = f->first_event,
				    .begin_ns = f->begin_ns,
				    .end_ns = f->end_ns,
				    .ev_off = f->ev_off,
				    .def_len = f->def_len };
	/* The casts remove `const', which struct iovec lacks: writev only reads
	 * the bytes. */
	struct iovec body[2] = {
		{ (void *)(uintptr_t)f->def, f->def_len },
		{ (void *)(uintptr_t)f->ev, f->ev_len },
	};
	int r;

	memcpy(p.dropped, f->dropped, sizeof(p.dropped));
	p.dropped[INV_LOSS_OVERWRITTEN] = f->next.overwritten;
	p.dropped[INV_LOSS_UNWRITTEN] = f->next.unwritten;
	p.dropped[INV_LOSS_DAMAGED] = f->next.damaged;
	inv_spool_log_rotate_if_due(s);
	r = inv_spool_log_ready(s, err);
	if (r == 0)
		r = inv_log_writer_put(&s->log, &p, body, 2, err);
	if (r == 0)
		s->file_has_events = true;
	return r;
}

/*
 * Drains one ring. Two rules bound the time for it: the function drains only up
 * to the packet that was the newest when it began, and it takes an open packet
 * only once. So the spooler comes to the other rings even if this ring's
 * producer is busy.
 */
static int drain_ring(struct inv_spool *s, uint32_t ring, unsigned take,
		      uint64_t *n_events, struct inv_err *err)
{
	struct inv_consumer *c = &s->rings[ring];
	uint64_t limit = inv_consumer_top(c);
	bool was_open = false;
	struct inv_fragment f;
	int r = 0;

	while (!was_open && !inv_consumer_next(c, limit, take, &f)) {
		if (f.ev_len > 0) {
			r = put_events(s, ring, &f, err);
			if (r < 0)
				break;
			was_open = f.next.seq == f.seq;
		}
		inv_spool_moved(s, ring, &f.next);
		inv_consumer_advance(c, &f.next);
		*n_events += f.n_events;
	}
	inv_consumer_release(c);
	return r;
}

int inv_spool_drain_anchors(struct inv_spool *s, struct inv_err *err)
{
	int r = inv_spool_log_ready(s, err);

	return r < 0 ? r : inv_spool_put_anchors(s, false, err);
}

int inv_spool_drain(struct inv_spool *s, unsigned take, bool anchor,
		    uint64_t *n_events, bool *behind, struct inv_err *err)
{
	uint32_t i;
	int r;

	*n_events = 0;
	*behind = false;
	r = inv_spool_log_ready(s, err);
	if (r == 0)
		r = inv_spool_put_anchors(s, anchor, err);
	for (i = 0; r == 0 && i < s->mem->n_rings; i++) {
		r = drain_ring(s, i, take, n_events, err);
		if (inv_consumer_is_behind(&s->rings[i]))
			*behind = true;
	}
	if (r == 0 && *n_events > 0 && !anchor)
		r = inv_spool_put_anchors(s, true, err);
	return r;
}
