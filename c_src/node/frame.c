/* SPDX-License-Identifier: Apache-2.0 */
#include "node/frame.h"

#include <string.h>

#define PASS_THROUGH 112
#define ETF_VERSION 131

/* Of the distribution protocol. */
enum control {
	OP_SEND = 2,
	OP_REG_SEND = 6,
	OP_MONITOR_P = 19,
	OP_DEMONITOR_P = 20,
	OP_MONITOR_P_EXIT = 21,
	OP_SEND_SENDER = 22,
};

/* --- reading ---------------------------------------------------------------*/

/* One term at the cursor, and where it lies. */
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

/* The creation of a pid, which the cursor does not give: its last four bytes
 * in the only form that nodes of today send. */
static bool same_creation(const char *end, const erlang_pid *self)
{
	const uint8_t *p = (const uint8_t *)end - 4;

	return ((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
		(uint32_t)p[2] << 8 | p[3]) == self->creation;
}

/* The tag that inv_dist_frame_put_monitor made the reference of. */
static bool ref_tag(const struct inv_token *tok, uint64_t *tag)
{
	if (tok->kind != INV_TOK_REF || tok->n_ids != 3)
		return false;
	*tag = tok->id[0] << 32 | (tok->id[1] & UINT32_MAX);
	return true;
}

/* {Tag, Answer}; anything else is not for us. */
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

/* {19, From, To, Ref} */
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

/* {21, From, To, Ref, Reason} */
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

/* The control tuple; *message: a message to our pid follows. */
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
	else if ((op == OP_SEND || op == OP_SEND_SENDER) && arity == 3) {
		r = inv_cursor_skip(c);
		if (r == 0)
			r = inv_cursor_next(c, &tok);
		if (r == 0)
			r = inv_cursor_skip_rest(c, &tok);
		/* Not to an earlier command that had our node's name. */
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

/* A frame is begun with room for its length, and ended by filling that in. */
static size_t begin(struct inv_buf *out)
{
	static const uint8_t head[] = { 0, 0, 0, 0, PASS_THROUGH, ETF_VERSION };

	size_t from = out->len;

	inv_buf_put(out, head, sizeof(head));
	return from;
}

/* Cuts what was begun off again when it did not work. */
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

static int put_x(struct inv_buf *out, ei_x_buff *x, int r)
{
	if (r == 0)
		inv_buf_put(out, x->buff, (size_t)x->index);
	ei_x_free(x);
	return r == 0 ? 0 : INV_ENOMEM;
}

static int x_dest(ei_x_buff *x, const struct inv_dest *to)
{
	if (!to->name)
		return ei_x_encode_pid(x, &to->pid);
	return ei_x_encode_atom_len_as(x, to->name, (int)strlen(to->name),
				       ERLANG_UTF8, ERLANG_UTF8);
}

static int put_send(struct inv_buf *out, const erlang_pid *self,
		    const struct inv_dest *to)
{
	ei_x_buff x;
	int r = ei_x_new(&x);

	if (r)
		return INV_ENOMEM;
	if (to->name)
		r = ei_x_encode_tuple_header(&x, 4) |
		    ei_x_encode_long(&x, OP_REG_SEND) |
		    ei_x_encode_pid(&x, self);
	else
		r = ei_x_encode_tuple_header(&x, 3) |
		    ei_x_encode_long(&x, OP_SEND);
	r |= ei_x_encode_atom(&x, "") | x_dest(&x, to);
	return put_x(out, &x, r);
}

/* {'$gen_call', {Self, Tag}, and then the request */
static int put_call(struct inv_buf *out, const erlang_pid *self, uint64_t tag)
{
	ei_x_buff x;
	int r = ei_x_new(&x);

	if (r)
		return INV_ENOMEM;
	r = ei_x_encode_version(&x) | ei_x_encode_tuple_header(&x, 3) |
	    ei_x_encode_atom(&x, "$gen_call") |
	    ei_x_encode_tuple_header(&x, 2) | ei_x_encode_pid(&x, self) |
	    ei_x_encode_ulonglong(&x, tag);
	return put_x(out, &x, r);
}

int inv_dist_frame_put_request(struct inv_buf *out, const erlang_pid *self,
			       const struct inv_dest *to, uint64_t tag,
			       const void *term, size_t len)
{
	const uint8_t *p = term;
	size_t from = begin(out);
	int r = put_send(out, self, to);

	if (len > 0 && p[0] == ETF_VERSION) {
		p++;
		len--;
	}
	if (len == 0)
		r = INV_EINVAL;
	if (r == 0)
		r = put_call(out, self, tag);
	if (r == 0)
		inv_buf_put(out, p, len);
	return end(out, from, r);
}

int inv_dist_frame_put_monitor(struct inv_buf *out, const erlang_pid *self,
			       const struct inv_dest *to, uint64_t tag, bool on)
{
	erlang_ref ref = { .len = 3, .creation = self->creation };
	size_t from = begin(out);
	ei_x_buff x;
	int r = ei_x_new(&x);

	if (r == 0) {
		/* the first word has 18 bits only */
		ref.n[1] = (unsigned)(tag & UINT32_MAX);
		ref.n[2] = (unsigned)(tag >> 32);
		memcpy(ref.node, self->node, sizeof(ref.node));
		r = ei_x_encode_tuple_header(&x, 4) |
		    ei_x_encode_long(&x, on ? OP_MONITOR_P : OP_DEMONITOR_P) |
		    ei_x_encode_pid(&x, self) | x_dest(&x, to) |
		    ei_x_encode_ref(&x, &ref);
		r = put_x(out, &x, r);
	} else {
		r = INV_ENOMEM;
	}
	return end(out, from, r);
}

int inv_dist_frame_put_noproc(struct inv_buf *out,
			      const struct inv_dist_frame *f)
{
	static const uint8_t head[] = { 'h', 5, 'a', OP_MONITOR_P_EXIT };
	static const uint8_t noproc[] = {
		'w', 6, 'n', 'o', 'p', 'r', 'o', 'c'
	};
	size_t from = begin(out);

	inv_buf_put(out, head, sizeof(head));
	inv_buf_put(out, f->watched, f->watched_len);
	inv_buf_put(out, f->watcher, f->watcher_len);
	inv_buf_put(out, f->ref, f->ref_len);
	inv_buf_put(out, noproc, sizeof(noproc));
	return end(out, from, 0);
}

void inv_dist_frame_put_tick(struct inv_buf *out)
{
	static const uint8_t tick[4];

	inv_buf_put(out, tick, sizeof(tick));
}
