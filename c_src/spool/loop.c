/* SPDX-License-Identifier: Apache-2.0 */
#include "spool/loop.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "abi/options.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "spool/drain.h"
#include "spool/watch.h"

#define MS 1000000u
#define IDLE_MS 100u
#define STALL_MS 100u
#define END_PATIENCE_NS (5000ull * MS)
#define EOF_PATIENCE_NS (2500ull * MS)
/*
 * The keeper takes an anchor each second. If the keeper takes an anchor later
 * than this time after the end of standard input, the keeper is alive.
 */
#define EOF_STILL_NS (500ull * MS)

static const struct inv_option options[] = { INV_OPTIONS(INV_OPTION_ROW) };

struct server {
	struct inv_attached *mem;
	struct inv_ring_ctl *ctl;
	struct inv_serve how;
	struct inv_vm_watch vm;
	struct inv_spool spool;
	uint64_t next_flush_ns;
	uint64_t end_by_ns; /* if the spooler is to end but cannot write the
			       log: the deadline for writing the log's end;
			       otherwise 0 */
	uint64_t eof_ns;    /* when standard input ended; 0: it has not ended */
	uint64_t eof_anchors;
	bool terminated;
	bool stalled;
	bool woken;
	unsigned wait_ms;
};

/* What the VM has requested. The spooler reads the requests before a pass over
 * the rings, and this pass fulfils them. */
struct asked {
	int end; /* enum inv_log_end: why the log ends; 0: the log continues */
	uint64_t flush; /* number of the newest flush request; 0: it was
			   answered already, or there was none */
	unsigned take;
};

static void set_state(struct inv_ring_ctl *ctl, enum inv_spool_state state)
{
	atomic_store_explicit(&ctl->spool_state, state, memory_order_release);
}

static void set_error(struct inv_ring_ctl *ctl, const struct inv_err *err)
{
	int sys = err->sys ? err->sys : EIO;

	atomic_store_explicit(&ctl->error, 0, memory_order_release);
	snprintf(ctl->error_text, sizeof(ctl->error_text), "%.*s",
		 (int)sizeof(ctl->error_text) - 1, err->text);
	atomic_store_explicit(&ctl->error, sys, memory_order_release);
}

void inv_spool_failed(struct inv_ring_ctl *ctl, const struct inv_err *err)
{
	set_error(ctl, err);
	set_state(ctl, INV_SPOOL_FAILED);
}

static int why_end(struct server *s)
{
	bool dead = inv_vm_watch_is_dead(&s->vm);
	uint32_t state =
		atomic_load_explicit(&s->ctl->state, memory_order_acquire);

	if (state == INV_TRACER_CLOSED)
		return INV_END_CLOSED;
	if (state == INV_TRACER_OWNER_DIED)
		return INV_END_OWNER;
	if (dead)
		return INV_END_VM;
	return s->terminated ? INV_END_TERMINATED : 0;
}

static struct asked ask(struct server *s)
{
	struct asked a = { .end = why_end(s) };
	uint64_t now = inv_mono_ns();
	uint64_t done =
		atomic_load_explicit(&s->ctl->flush_done, memory_order_relaxed);
	uint32_t flush_ms = s->ctl->flush_ms;

	a.flush =
		atomic_load_explicit(&s->ctl->flush_req, memory_order_acquire);
	if (a.flush == done)
		a.flush = 0;
	if (a.end || a.flush)
		a.take = INV_TAKE_OPEN;
	if (a.end && a.end != INV_END_TERMINATED)
		a.take |= INV_TAKE_LAST;
	if (flush_ms && now >= s->next_flush_ns) {
		s->next_flush_ns = now + (uint64_t)flush_ms * MS;
		if (s->ctl->keep == INV_KEEP_OLDEST)
			a.take |= INV_TAKE_OPEN;
	}
	return a;
}

static void stalled(struct server *s, const struct inv_err *err)
{
	set_error(s->ctl, err);
	if (!s->stalled)
		set_state(s->ctl, INV_SPOOL_STALLED);
	s->stalled = true;
	s->wait_ms = STALL_MS;
}

static void running(struct server *s)
{
	if (!s->stalled)
		return;
	s->stalled = false;
	s->end_by_ns = 0;
	set_state(s->ctl, INV_SPOOL_RUNNING);
	atomic_store_explicit(&s->ctl->error, 0, memory_order_release);
}

/* Returns n, or the nearest number in the option's range. n is from the control
 * page, which is not trusted. */
static unsigned within(enum inv_option_name name, uint32_t n)
{
	const struct inv_option *o = &options[name];

	return n < o->least ? (unsigned)o->least :
	       n > o->most  ? (unsigned)o->most :
			      n;
}

/*
 * Sets the time until the next pass. If a ring is more than half full, this
 * time is 0. While there are no events, it increases up to IDLE_MS.
 */
static void pace(struct server *s, uint64_t n_events, bool behind)
{
	unsigned drain_ms = within(INV_OPT_DRAIN_MS, s->ctl->drain_ms);

	if (behind && s->ctl->keep == INV_KEEP_OLDEST)
		s->wait_ms = 0;
	else if (n_events > 0 || s->woken || s->wait_ms < drain_ms)
		s->wait_ms = drain_ms;
	else if (s->wait_ms * 2 <= IDLE_MS)
		s->wait_ms *= 2;
	else if (s->wait_ms < IDLE_MS)
		s->wait_ms = IDLE_MS;
	s->woken = false;
}

static int answer_flush(struct server *s, uint64_t flush, struct inv_err *err)
{
	int r = 0;

	if (s->ctl->keep == INV_KEEP_NEWEST)
		r = inv_spool_finish(&s->spool, INV_END_FLUSHED, err);
	if (r == 0)
		atomic_store_explicit(&s->ctl->flush_done, flush,
				      memory_order_release);
	return r;
}

/* Makes one pass over the rings. Returns 0, or a negative error code if the log
 * cannot be written. */
static int pass(struct server *s, const struct asked *a, struct inv_err *err)
{
	uint64_t n_events = 0;
	bool behind = false;
	int r;

	if (s->ctl->keep == INV_KEEP_NEWEST && !a->take) {
		/* This is a flight recorder, and the VM has requested nothing.
		 * Write only the anchors now, because the keeper would
		 * overwrite them before the next request. */
		r = inv_spool_drain_anchors(&s->spool, err);
	} else {
		r = inv_spool_drain(&s->spool, a->take, a->end || a->flush,
				    &n_events, &behind, err);
	}
	if (r == 0 && a->end)
		r = inv_spool_finish(&s->spool, (enum inv_log_end)a->end, err);
	else if (r == 0 && a->flush)
		r = answer_flush(s, a->flush, err);
	if (r == 0)
		pace(s, n_events, behind);
	return r;
}

/* `r' is the result of the last pass. Returns true if the spooler is to exit:
 * it has written the log's end, or the deadline for writing it has passed. */
static bool ended(struct server *s, const struct asked *a, int r)
{
	uint64_t now;

	if (!a->end)
		return false;
	if (r == 0)
		return true;
	now = inv_mono_ns();
	if (s->end_by_ns == 0)
		s->end_by_ns = now + inv_deadline(END_PATIENCE_NS);
	return now >= s->end_by_ns;
}

/* Ends the spooler without writing the end of the log. The events stay in the
 * ring file, from which `inviso recover' can write them. Returns the exit
 * status. */
static int leave_ring_file(struct server *s, const struct inv_err *err)
{
	inv_spool_close(&s->spool);
	inv_spool_failed(s->ctl, err);
	return 1;
}

static int leave(struct server *s, const struct asked *a, int r,
		 const struct inv_err *err)
{
	bool final = a->end != INV_END_TERMINATED;

	if (r < 0 && final && inv_attach_is_file(s->mem))
		return leave_ring_file(s, err);
	if (r < 0) {
		if (final)
			inv_spool_give_up(&s->spool);
		inv_spool_finish(&s->spool, (enum inv_log_end)a->end, NULL);
	}
	if (a->flush && (final || r == 0))
		atomic_store_explicit(&s->ctl->flush_done, a->flush,
				      memory_order_release);
	inv_spool_close(&s->spool);
	set_state(s->ctl, final ? INV_SPOOL_DONE : INV_SPOOL_NONE);
	return r < 0 ? 1 : 0;
}

/* Reads the bytes that have arrived, and ignores their values: each byte only
 * wakes the spooler up. */
static void read_input(struct server *s)
{
	char buf[256];
	ssize_t n = read(s->how.wake_fd, buf, sizeof(buf));

	s->woken = true;
	if (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)))
		return;
	s->how.wake_fd = -1;
	s->eof_ns = inv_mono_ns();
	s->eof_anchors = UINT64_MAX;
}

/* Returns true if this spooler must exit: standard input has ended, but the
 * keeper is alive, and will start another spooler (loop.h). */
static bool is_superfluous(struct server *s)
{
	uint64_t n, since;

	if (s->eof_ns == 0)
		return false;
	since = inv_mono_ns() - s->eof_ns;
	if (since < EOF_STILL_NS)
		return false;
	n = atomic_load_explicit(&s->ctl->n_anchors, memory_order_relaxed);
	if (s->eof_anchors == UINT64_MAX)
		s->eof_anchors = n;
	if (n != s->eof_anchors)
		return true;
	if (since >= EOF_PATIENCE_NS)
		s->eof_ns = 0; /* the keeper is dead: continue */
	return false;
}

static void wait_for_something(struct server *s)
{
	struct pollfd p[3] = {
		{ .fd = s->how.wake_fd, .events = POLLIN },
		{ .fd = s->how.term_fd, .events = POLLIN },
		{ .fd = s->vm.dead ? -1 : s->vm.pidfd, .events = POLLIN },
	};
	int timeout = (int)s->wait_ms;

	if (s->terminated || s->vm.dead)
		p[1].fd = -1;
	if (poll(p, 3, timeout) <= 0)
		return;
	if (p[0].revents)
		read_input(s);
	if (p[1].revents)
		s->terminated = true;
}

static int loop(struct server *s)
{
	for (;;) {
		struct asked a = ask(s);
		struct inv_err err = { 0 };
		int r = pass(s, &a, &err);

		if (ended(s, &a, r))
			return leave(s, &a, r, &err);
		if (r < 0)
			stalled(s, &err);
		else
			running(s);
		if (is_superfluous(s)) {
			inv_spool_close(&s->spool);
			return 0;
		}
		wait_for_something(s);
	}
}

/* Reports that the log could not be opened, and sets the state `failed'. But if
 * memory was exhausted and a log exists, sets the state `stalled', because the
 * next spooler may succeed. */
static void not_opened(struct inv_ring_ctl *ctl, int r,
		       const struct inv_err *err)
{
	if (r != INV_ENOMEM ||
	    atomic_load_explicit(&ctl->log_off, memory_order_relaxed) == 0) {
		inv_spool_failed(ctl, err);
		return;
	}
	set_error(ctl, err);
	set_state(ctl, INV_SPOOL_STALLED);
}

int inv_spool_serve(struct inv_attached *mem, const struct inv_serve *how)
{
	struct inv_ring_ctl *ctl = mem->ctl;
	struct server s = { .mem = mem, .ctl = ctl, .how = *how };
	struct inv_err err = { 0 };
	int r;

	r = (int)atomic_load_explicit(&ctl->spool_state, memory_order_acquire);
	if (r == INV_SPOOL_DONE || r == INV_SPOOL_FAILED)
		return r == INV_SPOOL_DONE ? 0 : 1;
	atomic_store_explicit(&ctl->spool_pid, getpid(), memory_order_relaxed);
	atomic_fetch_add_explicit(&ctl->respawns, 1, memory_order_relaxed);
	inv_vm_watch_open(&s.vm, ctl->vm_pid, ctl->vm_start);
	s.next_flush_ns = inv_mono_ns() + (uint64_t)ctl->flush_ms * MS;
	r = inv_spool_open(&s.spool, mem, &err);
	if (r < 0) {
		not_opened(ctl, r, &err);
		r = 1;
	} else {
		if (err.code < 0) {
			stalled(&s, &err);
		} else {
			atomic_store_explicit(&ctl->error, 0,
					      memory_order_release);
			set_state(ctl, INV_SPOOL_RUNNING);
		}
		r = loop(&s);
	}
	inv_vm_watch_close(&s.vm);
	atomic_store_explicit(&ctl->spool_pid, 0, memory_order_release);
	return r;
}
