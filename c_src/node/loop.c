/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "node/conn_int.h"
#include "node/encode.h"
#include "node/handshake.h"

#define LEAVE_MS 1000
/*
 * While a frame arrives, its buffer grows in steps of this many bytes. It is
 * not allocated at once, because the length that the node has sent is not
 * trusted.
 */
#define BODY_STEP 65536
/* After this many frames, the thread does its other work before it reads more
 * frames. */
#define FRAMES_STEP 64

/* --- sending -------------------------------------------------------------- */

/* If all bytes of `sending' were sent, moves the queue to `sending'. Returns
 * true if there are bytes to send. */
static bool have_output(struct inv_conn *c)
{
	if (c->sent == c->sending.len) {
		struct inv_buf empty = c->sending;

		inv_buf_reset(&empty);
		pthread_mutex_lock(&c->lock);
		c->sending = c->queue;
		c->queue = empty;
		pthread_mutex_unlock(&c->lock);
		c->sent = 0;
	}
	return c->sent < c->sending.len;
}

static int was_lost(const struct inv_conn *c, int sys, struct inv_err *err)
{
	struct inv_err why;

	if (inv_wire_why(&c->wire, &why))
		return inv_err_set(err, INV_ELOST,
				   "the connection was lost: %s", why.text);
	return inv_err_set(err, INV_ELOST, "the connection was lost: %s",
			   strerrordesc_np(sys));
}

static int send_some(struct inv_conn *c, int64_t now, struct inv_err *err)
{
	while (have_output(c)) {
		size_t n = c->sending.len - c->sent;
		int sys = 0;
		int r = inv_wire_send(&c->wire, c->sending.data + c->sent, &n,
				      &sys);

		if (r < 0)
			return was_lost(c, sys, err);
		if (r == INV_END) {
			if (c->stuck == 0)
				c->stuck = now;
			return 0;
		}
		c->sent += n;
		c->spoke = now;
		c->stuck = 0;
	}
	return 0;
}

/* --- receiving ------------------------------------------------------------ */

static int damaged(struct inv_err *err)
{
	return inv_err_set(err, INV_EDAMAGED, "the node sent invalid data");
}

/* Reads the node's tick time: an integer, or {ongoing_change_to, Seconds}. */
static void take_tick_time(struct inv_conn *c, const struct inv_dist_frame *f)
{
	struct inv_token tok;
	int64_t s;

	inv_cursor_init(&c->cursor, INV_ENC_ETF, NULL, f->term, f->len);
	if (inv_cursor_next(&c->cursor, &tok) != 0)
		return;
	if (tok.kind == INV_TOK_TUPLE && tok.count == 2 &&
	    (inv_cursor_skip(&c->cursor) != 0 ||
	     inv_cursor_next(&c->cursor, &tok) != 0))
		return;
	if (inv_token_i64(&tok, &s) && s > 0 && s < 1000000)
		c->tick_ms = s * 1000;
}

static int got_frame(struct inv_conn *c, struct inv_err *err)
{
	struct inv_request *q;
	struct inv_dist_frame f;
	int r = inv_dist_frame_parse(&c->cursor, c->body.data, c->body.len,
				     &c->self, &f);

	if (r < 0)
		return damaged(err);
	if (f.kind == INV_DIST_WATCHED) {
		pthread_mutex_lock(&c->lock);
		if (c->queue.len < c->opts.queue_max)
			(void)inv_dist_frame_put_noproc(&c->queue, &f);
		pthread_mutex_unlock(&c->lock);
	}
	if (f.kind != INV_DIST_ANSWER && f.kind != INV_DIST_DOWN)
		return 0;
	q = inv_request_take(c, f.tag, f.kind == INV_DIST_DOWN);
	if (!q) /* the request has timed out: ignore its answer */
		return 0;
	if (q->own && f.kind == INV_DIST_ANSWER)
		take_tick_time(c, &f);
	else if (!q->own && f.kind == INV_DIST_ANSWER)
		r = inv_deliver_answer(c, &f, q, err);
	else if (!q->own)
		r = inv_deliver_gone(c, &f, q, err);
	free(q);
	return r;
}

/* Answers a node's tick. If other data are queued, no separate answer is
 * needed: these data answer the tick. */
static void got_tick(struct inv_conn *c)
{
	pthread_mutex_lock(&c->lock);
	if (c->queue.len == 0)
		inv_dist_frame_put_tick(&c->queue);
	pthread_mutex_unlock(&c->lock);
}

static int got_head(struct inv_conn *c, struct inv_err *err)
{
	size_t n = (size_t)c->head[0] << 24 | (size_t)c->head[1] << 16 |
		   (size_t)c->head[2] << 8 | c->head[3];

	if (n == 0) {
		c->head_got = 0;
		got_tick(c);
		return 0;
	}
	if (n > c->opts.answer_max)
		return inv_err_set(err, INV_ETOOBIG,
				   "the node sent a message of %zu bytes; at "
				   "most %zu are accepted",
				   n, c->opts.answer_max);
	c->body_len = n;
	inv_buf_reset(&c->body);
	return 0;
}

/* Receives up to `n' bytes.  Returns INV_END if no bytes are available now. */
static int receive(struct inv_conn *c, void *at, size_t n, size_t *got,
		   struct inv_err *err)
{
	int sys = 0;
	int r;

	*got = n;
	r = inv_wire_recv(&c->wire, at, got, &sys);
	if (r < 0)
		return was_lost(c, sys, err);
	if (r == 0 && *got == 0)
		return inv_err_set(err, INV_ELOST,
				   "the node closed the connection: it "
				   "stopped, or was told to disconnect");
	return r;
}

/*
 * Receives a part of a frame.  Returns INV_END if no bytes are available now.
 */
static int receive_part(struct inv_conn *c, struct inv_err *err)
{
	uint8_t *at;
	size_t left;
	size_t got = 0;
	int r;

	if (c->head_got < sizeof(c->head)) {
		r = receive(c, c->head + c->head_got,
			    sizeof(c->head) - c->head_got, &got, err);
		if (r)
			return r;
		c->head_got += got;
		return c->head_got == sizeof(c->head) ? got_head(c, err) : 0;
	}
	left = c->body_len - c->body.len;
	if (left > BODY_STEP)
		left = BODY_STEP;
	at = inv_buf_reserve(&c->body, left);
	if (!at)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	r = receive(c, at, left, &got, err);
	if (r)
		return r;
	inv_buf_commit(&c->body, got);
	if (c->body.len < c->body_len)
		return 0;
	c->head_got = 0;
	return got_frame(c, err);
}

static int receive_some(struct inv_conn *c, int64_t now, struct inv_err *err)
{
	int i;
	int r = 0;

	for (i = 0; i < FRAMES_STEP && r == 0; i++) {
		r = receive_part(c, err);
		if (r == 0)
			c->heard = now;
	}
	return r < 0 ? r : 0;
}

/* --- time ----------------------------------------------------------------- */

static int64_t silence_ms(const struct inv_conn *c)
{
	return c->tick_ms + c->tick_ms / 4 + 1000;
}

static int check_times(struct inv_conn *c, int64_t now, struct inv_err *err)
{
	if (now - c->heard > silence_ms(c))
		return inv_err_set(err, INV_ETIME,
				   "the node has been silent for longer than "
				   "its net_ticktime of %lld s",
				   (long long)c->tick_ms / 1000);
	if (c->stuck && now - c->stuck > c->opts.write_ms)
		return inv_err_set(err, INV_ETIME,
				   "the node has read nothing for %d s",
				   c->opts.write_ms / 1000);
	if (now - c->spoke >= c->tick_ms / 4) {
		c->spoke = now;
		got_tick(c);
	}
	return 0;
}

/* Puts an item INV_MAIL_TIMEOUT into the inbox for each request whose deadline
 * has passed. Sets `*next' to the time of the next check. */
static int expire(struct inv_conn *c, int64_t now, int64_t *next,
		  struct inv_err *err)
{
	struct inv_request *q;
	int r = 0;

	while (r == 0 && (q = inv_request_expired(c, now, next)) != NULL) {
		if (!q->own)
			r = inv_deliver_timeout(c, q, err);
		free(q);
	}
	return r;
}

static int64_t earliest(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t next_time(const struct inv_conn *c, int64_t next)
{
	next = earliest(next, c->heard + silence_ms(c) + 1);
	next = earliest(next, c->spoke + c->tick_ms / 4);
	if (c->stuck)
		next = earliest(next, c->stuck + c->opts.write_ms + 1);
	return next;
}

/* --- the thread ----------------------------------------------------------- */

static bool is_closing(struct inv_conn *c)
{
	bool closing;

	pthread_mutex_lock(&c->lock);
	closing = c->closing;
	pthread_mutex_unlock(&c->lock);
	return closing;
}

/* Waits for an event, but not longer than `until'. */
static void wait_for(struct inv_conn *c, int64_t until)
{
	struct pollfd fds[2] = { { c->wire.fd, POLLIN, 0 },
				 { c->wake, POLLIN, 0 } };
	int64_t left = until - inv_mono_ms();
	eventfd_t n;

	if (c->sent < c->sending.len)
		fds[0].events |= POLLOUT;
	if (left < 0 || inv_wire_has_bytes(&c->wire))
		left = 0;
	if (left > 60000)
		left = 60000;
	if (poll(fds, 2, (int)left) > 0 && fds[1].revents)
		(void)eventfd_read(c->wake, &n);
}

static int serve(struct inv_conn *c, struct inv_err *err)
{
	int64_t next;
	int r = 0;

	while (r == 0 && !is_closing(c)) {
		int64_t now = inv_mono_ms();

		r = receive_some(c, now, err);
		if (r == 0)
			r = expire(c, now, &next, err);
		if (r == 0)
			r = check_times(c, now, err);
		if (r == 0)
			r = send_some(c, now, err);
		if (r == 0)
			wait_for(c, next_time(c, next));
	}
	return r;
}

/* Sends what is queued, if the node reads it within LEAVE_MS. */
static void leave(struct inv_conn *c)
{
	int64_t until = inv_mono_ms() + LEAVE_MS;
	struct inv_patience p = { until, -1 };

	while (inv_mono_ms() < until && send_some(c, until, NULL) == 0 &&
	       c->sent < c->sending.len)
		if (inv_net_wait(c->wire.fd, POLLOUT, &p) < 0)
			break;
	inv_wire_finish(&c->wire);
}

static int connect_node(struct inv_conn *c, struct inv_err *err)
{
	struct inv_patience p = { inv_mono_ms() + c->opts.connect_ms, c->wake };
	struct inv_endpoint at = { 0 };
	struct inv_handshake h = { 0 };
	int r = 0;

	if (c->opts.unreachable) {
		*err = *c->opts.unreachable;
		r = err->code;
	}
	if (r == 0)
		r = inv_endpoint_find(&c->asked, c->opts.at, &at, &p, err);
	if (r == 0)
		r = inv_handshake(&c->asked, &at, c->cookie, c->opts.tls, &p,
				  &h, err);
	explicit_bzero(c->cookie, sizeof(c->cookie));
	if (r < 0)
		return r;
	c->wire = h.wire;
	c->self = h.self;
	c->peer = h.peer;
	c->peer.port = c->asked.port;
	memcpy(c->peer.service, c->asked.service, sizeof(c->peer.service));
	inv_wire_peer(&c->wire, c->address, sizeof(c->address));
	c->heard = c->spoke = inv_mono_ms();
	return 0;
}

/* Asks for the node's tick time. The tick time determines how long the node may
 * be silent before the connection counts as lost. */
static int ask_tick_time(struct inv_conn *c, struct inv_err *err)
{
	static const struct inv_dest rex = { .name = "rex" };
	struct inv_question q = { .to = &rex, .ms = 60000, .own = true };
	struct inv_buf call = { 0 };
	uint64_t tag;
	int r;

	inv_etf_tuple(&call, 5);
	inv_put_atom(&call, "call");
	inv_put_atom(&call, "net_kernel");
	inv_put_atom(&call, "get_net_ticktime");
	inv_etf_nil(&call);
	inv_put_atom(&call, "user");
	q.term = call.data;
	q.len = call.len;
	r = call.error ? inv_err_set(err, call.error, "no memory") :
			 inv_request_add(c, &q, &tag, err);
	inv_buf_release(&call);
	return r;
}

static int come_up(struct inv_conn *c, struct inv_err *err)
{
	int r;

	pthread_mutex_lock(&c->lock);
	c->state = INV_CONN_UP;
	c->named = true;
	pthread_mutex_unlock(&c->lock);
	r = ask_tick_time(c, err);
	return r < 0 ? r : inv_deliver_connected(c, err);
}

void *inv_conn_run(void *conn)
{
	struct inv_conn *c = conn;
	struct inv_err err = { 0 };
	int r = connect_node(c, &err);

	if (r == 0)
		r = come_up(c, &err);
	if (r == 0)
		r = serve(c, &err);
	if (r == 0)
		leave(c);
	inv_wire_close(&c->wire);
	if (r < 0)
		inv_deliver_lost(c, r, &err);
	return NULL;
}
