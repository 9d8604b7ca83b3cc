/* SPDX-License-Identifier: Apache-2.0 */

/* The functions of inviso_cnode.h: the token of a handle, and its serials. */

#include "inviso_cnode.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cnode/log.h"
#include "cnode/message.h"

#define MAX_BYTES ((uint64_t)1 << 30)

#define FLAGS                                                            \
	(INVISO_CNODE_SEND | INVISO_CNODE_RECEIVE | INVISO_CNODE_PRINT | \
	 INVISO_CNODE_TIMESTAMP | INVISO_CNODE_STRICT |                  \
	 INVISO_CNODE_MONOTONIC)

/*
 * A C node has the counters that seq_trace's documentation describes for a
 * process: `clock' is curr_cnt, and `last' is prev_cnt.
 */
struct inviso_cnode {
	bool traced; /* the C node holds a token */
	long label;
	long flags;
	long received_prev; /* the token's `prev', as it was received */
	erlang_pid sender;  /* sender of the message that the token came with */
	long last;	    /* serial of the message that the token came with */
	long clock;
	erlang_pid self;
	size_t keep;
	inv_cnode_write *write;
	void *write_arg;
	char node[MAXATOMLEN_UTF8];
	struct inv_cnode_log log;
};

static int fail(int sys)
{
	erl_errno = sys;
	errno = sys;
	return ERL_ERROR;
}

struct inviso_cnode *inviso_cnode_open(const char *path, ei_cnode *ec,
				       const erlang_pid *self, char *why,
				       size_t size)
{
	struct inviso_cnode *c = malloc(sizeof(*c));
	struct inv_err err = { .text = "no memory for a handle" };

	if (c) {
		memset(c, 0, offsetof(struct inviso_cnode, log));
		c->self = self ? *self : *ei_self(ec);
		snprintf(c->node, sizeof(c->node), "%s", ei_thisnodename(ec));
		if (inv_cnode_log_open(&c->log, path, c->node, c->self.creation,
				       &err) == 0) {
			c->log.max_bytes = MAX_BYTES;
			return c;
		}
		free(c);
	}
	if (why && size > 0)
		snprintf(why, size, "%s", err.text);
	return NULL;
}

static uint64_t lost(const struct inviso_cnode *c)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < INV_LOSS_COUNT; i++)
		n += c->log.dropped[i];
	return n;
}

int inviso_cnode_close(struct inviso_cnode *c)
{
	struct inv_err err = { .sys = 0 };
	int r;

	if (!c)
		return 0;
	r = inv_cnode_log_close(&c->log, &err);
	if (r == 0 && lost(c) > 0)
		r = -1;
	free(c);
	errno = err.sys;
	return r < 0 ? -1 : 0;
}

/* --- events --------------------------------------------------------------- */

static enum inv_ts_kind ts_kind(long flags)
{
	if (flags & INVISO_CNODE_TIMESTAMP)
		return INV_TS_TIMESTAMP;
	if (flags & INVISO_CNODE_STRICT)
		return INV_TS_STRICT;
	return flags & INVISO_CNODE_MONOTONIC ? INV_TS_MONOTONIC : INV_TS_NONE;
}

static int record(struct inviso_cnode *c, struct inv_cnode_event *ev)
{
	ev->ts_kind = ts_kind(c->flags);
	ev->label = c->label;
	return inv_cnode_log_add(&c->log, ev, c->keep);
}

/* --- receive -------------------------------------------------------------- */

static void set(struct inviso_cnode *c, const erlang_trace *token)
{
	c->traced = true;
	c->label = token->label;
	c->flags = token->flags;
	c->sender = token->from;
	c->received_prev = token->prev;
	c->last = token->serial;
	if (c->clock < c->last)
		c->clock = c->last;
}

static void record_receive(struct inviso_cnode *c, const erlang_msg *msg,
			   const ei_x_buff *x)
{
	struct inv_cnode_event ev = { .kind = INV_CNODE_RECEIVE,
				      .prev = c->received_prev,
				      .cur = c->last,
				      .from = &c->sender,
				      .to = &c->self,
				      .term = x->buff,
				      .len = (size_t)x->index };

	if (msg->msgtype == ERL_EXIT || msg->msgtype == ERL_EXIT2)
		ev.exited = &msg->from;
	(void)record(c, &ev);
}

/* Links and other signals are not messages, and do not change the token. */
static bool is_message(const erlang_msg *msg)
{
	return msg->msgtype == ERL_SEND || msg->msgtype == ERL_REG_SEND ||
	       msg->msgtype == ERL_EXIT || msg->msgtype == ERL_EXIT2;
}

void inviso_cnode_received(struct inviso_cnode *c, erlang_msg *msg,
			   const ei_x_buff *x)
{
	if (!c)
		return;
	/* A token contains the pid of its sender, whose node is never empty. So
	 * an empty node means that the message came without a token. */
	if (is_message(msg)) {
		c->traced = msg->token.from.node[0] != '\0';
		if (c->traced)
			set(c, &msg->token);
		if (c->traced && c->flags & INVISO_CNODE_RECEIVE)
			record_receive(c, msg, x);
	}
	msg->token.from.node[0] = '\0';
}

/* Writes the events that are still in memory to the log, unless a message has
 * arrived already. */
static void flush_before_waiting(struct inviso_cnode *c, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (c->log.pending > 0 && poll(&p, 1, 0) <= 0)
		(void)inv_cnode_log_flush(&c->log, NULL);
}

int inviso_cnode_receive_msg(struct inviso_cnode *c, int fd, erlang_msg *msg,
			     ei_x_buff *x, unsigned ms)
{
	int r;

	if (c) {
		flush_before_waiting(c, fd);
		msg->token.from.node[0] = '\0';
	}
	r = ei_xreceive_msg_tmo(fd, msg, x, ms);
	if (r == ERL_MSG)
		inviso_cnode_received(c, msg, x);
	return r;
}

/* --- send ----------------------------------------------------------------- */

/* Increments the clock for the next serial, and records an event with this
 * serial. */
static int advance(struct inviso_cnode *c, struct inv_cnode_event *ev,
		   long flag)
{
	ev->prev = c->last;
	/* A hostile peer may have set the clock to the highest number, so the
	 * addition is unsigned: it must not overflow. */
	c->clock = (long)((unsigned long)c->clock + 1);
	ev->cur = c->clock;
	ev->from = &c->self;
	return c->flags & flag ? record(c, ev) : 0;
}

/*
 * Records the event before it sends the message: the time of the send event
 * must not be later than the time of the receive event.
 */
static int send_message(struct inviso_cnode *c, struct inv_cnode_message *m,
			const char *node, int fd, unsigned ms)
{
	struct inv_cnode_event ev = { .kind = INV_CNODE_SEND,
				      .to = m->to,
				      .to_name = m->name,
				      .to_node = node,
				      .term = m->term,
				      .len = (size_t)m->len };
	erlang_trace token;
	int r;

	if (m->len <= 0 || !m->term || (!m->to && !m->name))
		return fail(EINVAL);
	m->from = &c->self;
	if (c->traced) {
		(void)advance(c, &ev, INVISO_CNODE_SEND);
		token = (erlang_trace){ .serial = ev.cur,
					.prev = ev.prev,
					.label = c->label,
					.flags = c->flags };
		token.from = c->self;
		m->token = &token;
	}
	r = inv_cnode_message_send(m, fd, ms, c->write, c->write_arg);
	return r ? fail(r) : 0;
}

int inviso_cnode_send(struct inviso_cnode *c, int fd, const erlang_pid *to,
		      const char *buf, int len, unsigned ms)
{
	struct inv_cnode_message m = { .to = to, .term = buf, .len = len };

	if (!c)
		return ei_send_tmo(fd, (erlang_pid *)(uintptr_t)to,
				   (char *)(uintptr_t)buf, len, ms);
	return send_message(c, &m, NULL, fd, ms);
}

/* The parameters are those of ei_reg_send_tmo, and also the handle and the
 * node. */
/* NOLINTNEXTLINE(readability-function-size) */
int inviso_cnode_reg_send(struct inviso_cnode *c, ei_cnode *ec, int fd,
			  const char *name, const char *node, const char *buf,
			  int len, unsigned ms)
{
	struct inv_cnode_message m = { .name = name, .term = buf, .len = len };

	if (!c)
		return ei_reg_send_tmo(ec, fd, (char *)(uintptr_t)name,
				       (char *)(uintptr_t)buf, len, ms);
	return send_message(c, &m, node, fd, ms);
}

void inviso_cnode_set_write(struct inviso_cnode *c,
			    int (*write)(void *arg, int fd, const void *p,
					 size_t n, unsigned ms),
			    void *arg)
{
	if (!c)
		return;
	c->write = write;
	c->write_arg = arg;
}

/* --- the token ------------------------------------------------------------ */

static bool is_label(long label)
{
	return label >= INVISO_CNODE_LABEL_MIN &&
	       label <= INVISO_CNODE_LABEL_MAX;
}

static int invalid(void)
{
	errno = EINVAL;
	return -1;
}

int inviso_cnode_start(struct inviso_cnode *c, long label, unsigned flags)
{
	if (!is_label(label) || flags & ~(unsigned)FLAGS)
		return invalid();
	if (!c)
		return 0;
	if (!c->traced) {
		c->sender = c->self;
		c->received_prev = 0;
	}
	c->traced = true;
	c->label = label;
	c->flags = (long)flags;
	return 0;
}

int inviso_cnode_get_token(const struct inviso_cnode *c, erlang_trace *token)
{
	if (!c || !c->traced)
		return 0;
	token->serial = c->last;
	token->prev = c->received_prev;
	token->from = c->sender;
	token->label = c->label;
	token->flags = c->flags;
	return 1;
}

int inviso_cnode_set_token(struct inviso_cnode *c, const erlang_trace *token)
{
	if (token && !is_label(token->label))
		return invalid();
	if (!c)
		return 0;
	if (token)
		set(c, token);
	else
		c->traced = false;
	return 0;
}

/* --- print ---------------------------------------------------------------- */

int inviso_cnode_print(struct inviso_cnode *c, const char *buf, int len)
{
	struct inv_cnode_event ev = { .kind = INV_CNODE_PRINT,
				      .term = buf,
				      .len = (size_t)len };

	if (!c || !c->traced || !(c->flags & INVISO_CNODE_PRINT))
		return 0;
	if (!buf || len <= 0)
		return invalid();
	return advance(c, &ev, INVISO_CNODE_PRINT) < 0 ? -1 : 1;
}

int inviso_cnode_print_label(struct inviso_cnode *c, long label,
			     const char *buf, int len)
{
	if (!c || !c->traced || c->label != label)
		return 0;
	return inviso_cnode_print(c, buf, len);
}

/* --- the log -------------------------------------------------------------- */

void inviso_cnode_set_buffer(struct inviso_cnode *c, size_t bytes)
{
	if (!c)
		return;
	c->keep = bytes < INVISO_CNODE_BUFFER_MAX ? bytes :
						    INVISO_CNODE_BUFFER_MAX;
	if (c->keep == 0)
		(void)inv_cnode_log_flush(&c->log, NULL);
}

int inviso_cnode_flush(struct inviso_cnode *c)
{
	struct inv_err err = { .sys = 0 };

	if (!c || inv_cnode_log_flush(&c->log, &err) == 0)
		return 0;
	errno = err.sys;
	return -1;
}

void inviso_cnode_set_max_bytes(struct inviso_cnode *c, uint64_t bytes)
{
	if (c)
		c->log.max_bytes = bytes;
}

void inviso_cnode_info(const struct inviso_cnode *c,
		       struct inviso_cnode_info *info)
{
	memset(info, 0, sizeof(*info));
	if (!c)
		return;
	info->recorded = c->log.recorded;
	info->lost = lost(c);
	info->bytes = c->log.out.off;
}
