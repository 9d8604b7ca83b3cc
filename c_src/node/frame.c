/* SPDX-License-Identifier: Apache-2.0 */
#include "node/frame.h"

#include <string.h>

#include "node/encode.h"

#define PASS_THROUGH 112

/* Operations of the distribution protocol. */
enum control {
	OP_SEND = 2,
	OP_REG_SEND = 6,
	OP_SEND_TT = 12, /* a message with the token of a sequential trace */
	OP_MONITOR_P = 19,
	OP_DEMONITOR_P = 20,
	OP_MONITOR_P_EXIT = 21,
	OP_SEND_SENDER = 22,
	OP_SEND_SENDER_TT = 23,
};

/* Returns true if the control tuple is that of a message to a pid. A tuple with
 * a token has one more element: the token, which is last. */
static bool is_send(int64_t op, uint32_t arity)
{
	switch (op) {
	case OP_SEND:
	case OP_SEND_SENDER:
		return arity == 3;
	case OP_SEND_TT:
	case OP_SEND_SENDER_TT:
		return arity == 4;
	default:
		return false;
	}
}

/* --- reading ---------------------------------------------------------------*/

/* Skips one term, and sets `*at' and `*len' to its bytes. */
static int span(struct inv_cursor *c, const char *base, const char **at,
		size_t *len)
{
	size_t from = inv_cursor_offset(c);
	int r = inv_cursor_skip(c);

	*at = base + from;
	*len = inv_cursor_offset(c) - from;
	return r == INV_END ? INV_EDAMAGED : r;
}

static bool is_self(const struct inv_token *tok, const erlang_pid *self)
{
	return tok->kind == INV_TOK_PID && tok->id[0] == self->num &&
	       tok->id[1] == self->serial && tok->len == strlen(self->node) &&
	       memcmp(tok->bytes, self->node, tok->len) == 0;
}

/*
 * Returns true if the pid that ends at `end' has the creation of `self'. In all
 * supported releases, the creation is the last four bytes of a pid.
 */
static bool same_creation(const char *end, const erlang_pid *self)
{
	const uint8_t *p = (const uint8_t *)end - 4;

	return ((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
		(uint32_t)p[2] << 8 | p[3]) == self->creation;
}

/*
 * Sets `*tag' to the request's tag, which inv_dist_frame_put_monitor has put
 * into the reference.
 */
static bool ref_tag(const struct inv_token *tok, uint64_t *tag)
{
	if (tok->kind != INV_TOK_REF || tok->n_ids != 3)
		return false;
	*tag = tok->id[0] << 32 | (tok->id[1] & UINT32_MAX);
	return true;
}

/* Reads the message {Tag, Answer}. Ignores other terms. */
static int answer(struct inv_cursor *c, const char *base,
		  struct inv_dist_frame *out)
{
	struct inv_token tok;
	int64_t tag;
	int r = inv_cursor_next(c, &tok);

	if (r == INV_END)
		return INV_EDAMAGED;
	if (r < 0)
		return r;
	if (tok.kind != INV_TOK_TUPLE || tok.count != 2)
		return inv_cursor_skip_rest(c, &tok);
	r = inv_cursor_next(c, &tok);
	if (r < 0)
		return r;
	if (!inv_token_i64(&tok, &tag)) {
		r = inv_cursor_skip_rest(c, &tok);
		return r < 0 ? r : inv_cursor_leave(c, 0);
	}
	r = span(c, base, &out->term, &out->len);
	if (r < 0)
		return r;
	out->kind = INV_DIST_ANSWER;
	out->tag = (uint64_t)tag;
	return inv_cursor_leave(c, 0);
}

/* Reads {19, From, To, Ref}: the process From wants to monitor To. */
static int monitor(struct inv_cursor *c, const char *base,
		   const erlang_pid *self, struct inv_dist_frame *out)
{
	struct inv_token tok = { 0 };
	size_t from;
	int r = span(c, base, &out->watcher, &out->watcher_len);

	from = inv_cursor_offset(c);
	if (r == 0)
		r = inv_cursor_next(c, &tok);
	if (r == 0)
		r = inv_cursor_skip_rest(c, &tok);
	if (r < 0)
		return r;
	out->watched = base + from;
	out->watched_len = inv_cursor_offset(c) - from;
	r = span(c, base, &out->ref, &out->ref_len);
	if (r < 0)
		return r;
	if (tok.kind == INV_TOK_PID &&
	    !(is_self(&tok, self) &&
	      same_creation(out->watched + out->watched_len, self)))
		out->kind = INV_DIST_WATCHED;
	return 0;
}

/* Reads {21, From, To, Ref, Reason}: the process From, which the command
 * monitors, is down. */
static int monitor_exit(struct inv_cursor *c, const char *base,
			struct inv_dist_frame *out)
{
	struct inv_token tok = { 0 };
	int r = inv_cursor_skip(c);

	if (r == 0)
		r = inv_cursor_skip(c);
	if (r == 0)
		r = inv_cursor_next(c, &tok);
	if (r < 0)
		return r;
	if (ref_tag(&tok, &out->tag))
		out->kind = INV_DIST_DOWN;
	r = inv_cursor_skip_rest(c, &tok);
	if (r == 0)
		r = span(c, base, &out->term, &out->len);
	return r;
}

/*
 * Reads the control tuple.  Sets `*message' to true if a message for the
 * command's pid follows.
 */
static int control(struct inv_cursor *c, const char *base,
		   const erlang_pid *self, struct inv_dist_frame *out,
		   bool *message)
{
	struct inv_token tok = { 0 };
	uint32_t arity = 0;
	int64_t op = 0;
	int r = inv_cursor_tuple(c, &arity);

	if (r == 0)
		r = inv_cursor_int(c, &op);
	if (r < 0)
		return r;
	if (op == OP_MONITOR_P && arity == 4)
		r = monitor(c, base, self, out);
	else if (op == OP_MONITOR_P_EXIT && arity == 5)
		r = monitor_exit(c, base, out);
	else if (is_send(op, arity)) {
		r = inv_cursor_skip(c);
		if (r == 0)
			r = inv_cursor_next(c, &tok);
		if (r == 0)
			r = inv_cursor_skip_rest(c, &tok);
		/*
		 * If the pid has another creation, the message is for an
		 * earlier command with the same node name.
		 */
		*message = r == 0 && is_self(&tok, self) &&
			   same_creation(base + inv_cursor_offset(c), self);
	}
	return r < 0 ? r : inv_cursor_leave(c, 0);
}

int inv_dist_frame_parse(struct inv_cursor *c, const void *bytes, size_t len,
			 const erlang_pid *self, struct inv_dist_frame *out)
{
	const char *base = (const char *)bytes + 1;
	bool message = false;
	int r;

	memset(out, 0, sizeof(*out));
	if (len < 2 || ((const uint8_t *)bytes)[0] != PASS_THROUGH)
		return INV_EDAMAGED;
	inv_cursor_init(c, INV_ENC_ETF, NULL, base, len - 1);
	r = control(c, base, self, out, &message);
	if (r == 0 && message)
		r = answer(c, base, out);
	while (r == 0)
		r = inv_cursor_skip(c);
	return r == INV_END ? 0 : r;
}

/* --- writing ---------------------------------------------------------------*/

/* Begins a frame and returns its offset in `out'. end() writes the length. */
static size_t begin(struct inv_buf *out)
{
	static const uint8_t head[] = {
		0, 0, 0, 0, PASS_THROUGH, INV_ETF_VERSION
	};

	size_t from = out->len;

	inv_buf_put(out, head, sizeof(head));
	return from;
}

/* Ends the frame at `from': writes its length. If `r' is an error, or memory is
 * exhausted, removes the frame's bytes instead. Returns 0 or the error. */
static int end(struct inv_buf *out, size_t from, int r)
{
	size_t n = 0;
	uint8_t *p;

	if (r == 0 && out->error)
		r = INV_ENOMEM;
	if (r == 0)
		n = out->len - from - 4;
	if (n > INT32_MAX)
		r = INV_EINVAL;
	if (r < 0) {
		if (out->len > from)
			out->len = from;
		out->error = 0;
		return r;
	}
	p = out->data + from;
	p[0] = (uint8_t)(n >> 24);
	p[1] = (uint8_t)(n >> 16);
	p[2] = (uint8_t)(n >> 8);
	p[3] = (uint8_t)n;
	return 0;
}

static void put_dest(struct inv_buf *out, const struct inv_dest *to)
{
	if (to->name)
		inv_put_atom(out, to->name);
	else
		inv_put_pid(out, &to->pid);
}

int inv_dist_frame_put_request(struct inv_buf *out, const erlang_pid *self,
			       const struct inv_dest *to, uint64_t tag,
			       const void *term, size_t len)
{
	size_t from = begin(out);

	inv_etf_tuple(out, to->name ? 4 : 3);
	inv_etf_int(out, to->name ? OP_REG_SEND : OP_SEND);
	if (to->name)
		inv_put_pid(out, self);
	inv_put_atom(out, "");
	put_dest(out, to);
	inv_buf_putc(out, (char)INV_ETF_VERSION);
	inv_etf_tuple(out, 3);
	inv_put_atom(out, "$gen_call");
	inv_etf_tuple(out, 2);
	inv_put_pid(out, self);
	inv_etf_int(out, (int64_t)tag);
	inv_buf_put(out, term, len);
	return end(out, from, len ? 0 : INV_EINVAL);
}

int inv_dist_frame_put_monitor(struct inv_buf *out, const erlang_pid *self,
			       const struct inv_dest *to, uint64_t tag, bool on)
{
	erlang_ref ref = { .len = 3, .creation = self->creation };
	size_t from = begin(out);

	/* The tag is in words 1 and 2, because word 0 has only 18 bits. */
	ref.n[1] = (unsigned)(tag & UINT32_MAX);
	ref.n[2] = (unsigned)(tag >> 32);
	memcpy(ref.node, self->node, sizeof(ref.node));
	inv_etf_tuple(out, 4);
	inv_etf_int(out, on ? OP_MONITOR_P : OP_DEMONITOR_P);
	inv_put_pid(out, self);
	put_dest(out, to);
	inv_put_ref(out, &ref);
	return end(out, from, 0);
}

int inv_dist_frame_put_noproc(struct inv_buf *out,
			      const struct inv_dist_frame *f)
{
	size_t from = begin(out);

	inv_etf_tuple(out, 5);
	inv_etf_int(out, OP_MONITOR_P_EXIT);
	inv_buf_put(out, f->watched, f->watched_len);
	inv_buf_put(out, f->watcher, f->watcher_len);
	inv_buf_put(out, f->ref, f->ref_len);
	inv_put_atom(out, "noproc");
	return end(out, from, 0);
}

void inv_dist_frame_put_tick(struct inv_buf *out)
{
	static const uint8_t tick[4];

	inv_buf_put(out, tick, sizeof(tick));
}
