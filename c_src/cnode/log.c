/* SPDX-License-Identifier: Apache-2.0 */
#include "cnode/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/varint.h"

/* Larger packets are stored, but not compressed. */
#define BODY_MAX (96u * 1024)

/* Space for the packets that end a log. */
#define SPARE 4096u

/* After a packet, but at most once in LOOK_NS, the clocks are read. An anchor
 * is written if the wall clock was set (it has moved by at least SAME_NS
 * against the events' clock), or if the last anchor is QUIET_NS old. */
#define LOOK_NS 1000000000u
#define QUIET_NS 60000000000u
#define SAME_NS 1000000

/* --- the file ------------------------------------------------------------- */

static int create(const char *path, struct inv_err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		      0600);

	if (fd < 0)
		return inv_err_sys(err, errno, "create %s", path);
	/* Locks the log as spoolers do. Accepts a file system without locks. */
	(void)flock(fd, LOCK_EX | LOCK_NB);
	return fd;
}

static int put_head(struct inv_cnode_log *l, const char *node,
		    uint32_t creation, struct inv_err *err)
{
	struct inv_log_head head = { .n_streams = 1,
				     .creation = creation,
				     .created_ns = inv_real_ns() };
	char pid[16];
	/* A C node has neither an OTP release nor an erts version. */
	struct inv_log_texts texts = { node, "", "", pid };

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	if (getrandom(head.uuid, sizeof(head.uuid), 0) != sizeof(head.uuid))
		return inv_err_sys(err, errno, "getrandom");
	return inv_log_writer_head(&l->out, &head, &texts, err);
}

static bool is_near(const struct inv_anchor *a, const struct inv_anchor *b)
{
	int64_t d = a->offset - b->offset;

	return d < SAME_NS && d > -SAME_NS;
}

/* A C node has no Erlang time: its monotonic time is the events' clock, and its
 * system time is the wall clock. */
static int put_anchor(struct inv_cnode_log *l, bool always, struct inv_err *err)
{
	struct inv_log_packet p = { .type = INV_LOG_ANCHORS, .n_events = 1 };
	struct inv_anchor a = { .mono = inv_mono_ns(),
				.real = (int64_t)inv_real_ns(),
				.raw = inv_clock_ns(CLOCK_MONOTONIC_RAW) };
	struct iovec body = { &a, sizeof(a) };
	int r;

	a.erl = (int64_t)a.mono;
	a.offset = a.real - a.erl;
	l->looked_ns = a.mono;
	if (!always && is_near(&a, &l->anchor) &&
	    a.mono - l->anchor.mono < QUIET_NS)
		return 0;
	r = inv_log_writer_put(&l->out, &p, &body, 1, err);
	if (r == 0)
		l->anchor = a;
	return r;
}

int inv_cnode_log_open(struct inv_cnode_log *l, const char *path,
		       const char *node, uint32_t creation, struct inv_err *err)
{
	int fd, r;

	memset(l, 0, offsetof(struct inv_cnode_log, pack));
	memset(&l->events, 0,
	       sizeof(*l) - offsetof(struct inv_cnode_log, events));
	if (inv_pack_init(&l->pack, node, creation))
		return inv_err_set(err, INV_ENOMEM, "no memory for a log");
	r = inv_log_writer_init(&l->out, INV_CODEC_ZSTD, 0, BODY_MAX, SPARE,
				err);
	if (r < 0) {
		inv_pack_release(&l->pack);
		return r;
	}
	fd = r = create(path, err);
	if (fd >= 0) {
		r = inv_log_writer_open(&l->out, fd, 0, err);
		if (r == 0)
			r = put_head(l, node, creation, err);
		if (r == 0)
			r = put_anchor(l, true, err);
		if (r < 0)
			unlink(path);
	}
	if (r < 0) {
		inv_log_writer_release(&l->out);
		inv_pack_release(&l->pack);
		return r;
	}
	return 0;
}

/* --- events --------------------------------------------------------------- */

static void put_varint(struct inv_buf *b, uint64_t v)
{
	uint8_t *w = inv_buf_reserve(b, INV_VARINT_MAX);

	if (w)
		inv_buf_commit(b, (size_t)(inv_varint_put(w, v) - w));
}

static void pack_to(struct inv_pack *p, const struct inv_cnode_event *ev)
{
	if (ev->to) {
		inv_pack_pid(p, ev->to);
	} else if (!ev->to_name) {
		inv_pack_nil(p);
	} else if (!ev->to_node) {
		inv_pack_atom(p, ev->to_name);
	} else {
		inv_pack_tuple(p, 2);
		inv_pack_atom(p, ev->to_name);
		inv_pack_atom(p, ev->to_node);
	}
}

static void pack_message(struct inv_pack *p, const struct inv_cnode_event *ev)
{
	if (ev->exited) {
		inv_pack_tuple(p, 3);
		inv_pack_atom(p, "EXIT");
		inv_pack_pid(p, ev->exited);
	}
	inv_pack_etf(p, ev->term, ev->len);
}

/* Packs the label, and {send | 'receive' | print, {Prev,Cur}, From, To,
 * Message}. */
static void pack_terms(struct inv_pack *p, const struct inv_cnode_event *ev)
{
	static const char *const kinds[] = { [INV_CNODE_SEND] = "send",
					     [INV_CNODE_RECEIVE] = "receive",
					     [INV_CNODE_PRINT] = "print" };

	inv_buf_reset(&p->terms);
	p->cut = false;
	inv_pack_int(p, ev->label);
	inv_pack_tuple(p, 5);
	inv_pack_atom(p, kinds[ev->kind]);
	inv_pack_tuple(p, 2);
	inv_pack_int(p, ev->prev);
	inv_pack_int(p, ev->cur);
	inv_pack_pid(p, ev->from);
	pack_to(p, ev);
	pack_message(p, ev);
}

/* Appends the record (abi/event.h) of the terms in l->pack. */
static void put_record(struct inv_cnode_log *l,
		       const struct inv_cnode_event *ev, uint64_t now)
{
	uint8_t head[2 + 2 * INV_VARINT_MAX];
	uint8_t *w = head;

	*w++ = (uint8_t)(INV_TAG_SEQ_TRACE | (l->pack.cut ? INV_HEAD_CUT : 0) |
			 (ev->ts_kind ? INV_HEAD_FLAGS : 0));
	if (ev->ts_kind)
		*w++ = (uint8_t)(ev->ts_kind << INV_EV_TS_SHIFT);
	w = inv_varint_put(w, now - l->last_ns);
	if (ev->ts_kind == INV_TS_STRICT)
		w = inv_varint_put(w, inv_zigzag(++l->unique));
	put_varint(&l->events, (size_t)(w - head) + l->pack.terms.len);
	inv_buf_put(&l->events, head, (size_t)(w - head));
	inv_buf_put(&l->events, l->pack.terms.data, l->pack.terms.len);
}

static int lose(struct inv_cnode_log *l, enum inv_loss why, uint64_t n)
{
	l->dropped[why] += n;
	return why == INV_LOSS_LIMIT ? INV_ETOOBIG : INV_EIO;
}

static void begin_packet(struct inv_cnode_log *l, uint64_t now)
{
	inv_pack_clear(&l->pack);
	inv_buf_reset(&l->events);
	l->begin_ns = l->last_ns = now;
}

int inv_cnode_log_add(struct inv_cnode_log *l, const struct inv_cnode_event *ev,
		      size_t keep)
{
	uint64_t now = inv_mono_ns();
	size_t begin;

	l->produced++;
	if (l->max_bytes && l->out.off >= l->max_bytes)
		return lose(l, INV_LOSS_LIMIT, 1);
	if (l->pending == 0)
		begin_packet(l, now);
	begin = l->events.len;
	pack_terms(&l->pack, ev);
	if (l->pack.terms.error == 0)
		put_record(l, ev, now);
	if (l->pack.terms.error || l->events.error) {
		l->events.len = begin;
		l->events.error = 0;
		return lose(l, INV_LOSS_UNFINISHED, 1);
	}
	l->last_ns = now;
	l->pending++;
	l->recorded++;
	if (l->events.len + l->pack.def_len > keep ||
	    l->pack.n_defs > INV_PACK_DEFS_FULL)
		return inv_cnode_log_flush(l, NULL);
	return 0;
}

static int put_packet(struct inv_cnode_log *l, struct inv_err *err)
{
	struct inv_log_packet p = {
		.type = INV_LOG_EVENTS,
		.n_events = l->pending,
		.seq = ++l->seq,
		.first_event = l->numbered,
		.begin_ns = l->begin_ns,
		.end_ns = l->last_ns,
	};
	struct iovec body[2];

	inv_buf_reset(&l->defs);
	inv_pack_put_defs(&l->pack, &l->defs);
	if (l->defs.error)
		return inv_err_set(err, INV_ENOMEM, "no memory for a packet");
	p.def_len = (uint32_t)l->defs.len;
	memcpy(p.dropped, l->dropped, sizeof(p.dropped));
	body[0] = (struct iovec){ l->defs.data, l->defs.len };
	body[1] = (struct iovec){ l->events.data, l->events.len };
	return inv_log_writer_put(&l->out, &p, body, 2, err);
}

int inv_cnode_log_flush(struct inv_cnode_log *l, struct inv_err *err)
{
	uint32_t n = l->pending;
	int r;

	if (n == 0)
		return 0;
	r = put_packet(l, err);
	l->pending = 0;
	l->numbered += n;
	if (r < 0) {
		l->recorded -= n;
		lose(l, INV_LOSS_UNWRITTEN, n);
		return r;
	}
	/* A missing anchor makes times less exact, but no event is lost. */
	if (l->last_ns - l->looked_ns >= LOOK_NS)
		(void)put_anchor(l, false, NULL);
	return 0;
}

static int put_totals(struct inv_cnode_log *l, struct inv_err *err)
{
	struct inv_log_packet p = { .type = INV_LOG_TOTALS,
				    .n_events = 1,
				    .seq = INV_END_CLOSED };
	struct inv_log_totals t = { .produced = l->produced,
				    .recorded = l->recorded };
	struct iovec body = { &t, sizeof(t) };

	memcpy(t.dropped, l->dropped, sizeof(t.dropped));
	return inv_log_writer_put_last(&l->out, &p, &body, 1, err);
}

int inv_cnode_log_close(struct inv_cnode_log *l, struct inv_err *err)
{
	int r = inv_cnode_log_flush(l, err);
	int end;

	if (l->recorded > 0)
		(void)put_anchor(l, true, NULL);
	end = put_totals(l, r < 0 ? NULL : err);
	inv_log_writer_release(&l->out);
	inv_pack_release(&l->pack);
	inv_buf_release(&l->events);
	inv_buf_release(&l->defs);
	return r < 0 ? r : end;
}
