/* SPDX-License-Identifier: Apache-2.0 */
#include "node/session.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "node/ask.h"
#include "term/print.h"

/* In the time from a request to its answer, the system clock may advance by
 * this many nanoseconds more or less than the monotonic clock. If the
 * difference is larger, the system clock was set and not only slewed. */
#define CLOCK_SET_NS 100000u

/* --- asking --------------------------------------------------------------- */

void inv_session_find_ask(struct inv_ask *ask, struct inv_conn *c,
			  const char *name, int ms)
{
	struct inv_buf e = { 0 };

	inv_etf_list(&e, 1);
	inv_put_text(&e, name);
	inv_etf_nil(&e);
	inv_ask_code(ask, c, "inviso_session", "find", &e, ms);
}

static void put_clock(struct inv_buf *e, const struct inv_session_clock *c)
{
	inv_etf_tuple(e, 5);
	inv_put_atom(e, "clock");
	inv_etf_int(e, (int64_t)c->command);
	inv_etf_int(e, c->n);
	inv_etf_int(e, (int64_t)c->sent_ns);
	inv_etf_int(e, (int64_t)c->answered_ns);
}

void inv_session_ask(struct inv_ask *ask, const struct inv_session *s,
		     enum inv_session_verb verb, int ms)
{
	static const char *const verbs[] = {
		[INV_VERB_ALIVE] = "alive",	  [INV_VERB_STATUS] = "status",
		[INV_VERB_STOP] = "stop",	  [INV_VERB_FILES] = "files",
		[INV_VERB_COUNTERS] = "counters", [INV_VERB_HOLD] = "hold",
		[INV_VERB_REMOVE] = "remove",	  [INV_VERB_BEGIN] = "begin",
	};
	struct inv_buf e = { 0 };

	if (verb == INV_VERB_CLOCK)
		put_clock(&e, &s->clock);
	else
		inv_put_atom(&e, verbs[verb]);
	inv_ask_pid(ask, s->conn, &s->pid, &e, ms);
}

uint64_t inv_session_clock_new(void)
{
	uint32_t id;

	if (getrandom(&id, sizeof(id), 0) != (ssize_t)sizeof(id))
		id = (uint32_t)inv_real_ns();
	return (uint64_t)id + 1;
}

void inv_session_follow_ask(struct inv_ask *ask, const struct inv_session *s,
			    uint64_t offset, uint32_t max, int ms)
{
	struct inv_buf e = { 0 };

	inv_etf_tuple(&e, 3);
	inv_put_atom(&e, "follow");
	inv_etf_int(&e, (int64_t)offset);
	inv_etf_int(&e, max);
	inv_ask_pid(ask, s->conn, &s->pid, &e, ms);
}

void inv_session_read_ask(struct inv_ask *ask, const struct inv_session *s,
			  const char *name, uint64_t offset, uint32_t max,
			  int ms)
{
	struct inv_buf e = { 0 };

	inv_etf_tuple(&e, 4);
	inv_put_atom(&e, "read");
	inv_put_text(&e, name);
	inv_etf_int(&e, (int64_t)offset);
	inv_etf_int(&e, max);
	inv_ask_pid(ask, s->conn, &s->pid, &e, ms);
}

/* --- answers -------------------------------------------------------------- */

/* Reads a Status. If `out' is NULL, skips the Status. If the Status is not
 * valid, err has the whole answer as text. */
static int take_status(struct inv_decode *d, struct inv_status *out,
		       struct inv_err *err)
{
	struct inv_status unwanted;
	struct inv_status *s = out ? out : &unwanted;
	int r = inv_status_decode(d, s);

	if (r < 0)
		r = inv_decode_strange(d, err);
	if (r < 0 || !out)
		inv_status_release(s);
	return r;
}

/* Reads the answer {ok, Pid, ...}, a tuple of `arity' elements. Pid is that of
 * the session. */
static int take_session(const struct inv_ask *ask, struct inv_decode *d,
			uint32_t arity, struct inv_session *out,
			struct inv_err *err)
{
	int r = inv_ask_answer(ask, d, err);

	out->conn = ask->conn;
	if (r == 0)
		r = inv_decode_ok(d, arity, err);
	if (r == 0 && inv_decode_pid(d, &out->pid) < 0)
		r = inv_decode_strange(d, err);
	return r;
}

int inv_session_start_got(const struct inv_ask *ask, struct inv_session *out,
			  struct inv_status *status, struct inv_err *err)
{
	struct inv_decode d;
	int r;

	if (status)
		memset(status, 0, sizeof(*status));
	r = take_session(ask, &d, 3, out, err);
	return r == 0 ? take_status(&d, status, err) : r;
}

int inv_session_find_got(const struct inv_ask *ask, struct inv_session *out,
			 struct inv_err *err)
{
	struct inv_decode d;

	return take_session(ask, &d, 2, out, err);
}

int inv_session_ok_got(const struct inv_ask *ask, struct inv_err *err)
{
	struct inv_decode d;
	int r = inv_ask_answer(ask, &d, err);

	return r < 0 ? r : inv_decode_answer_ok(&d, err);
}

/*
 * Returns true if the answer is a map: a Status, and not an error.
 */
static bool is_map(const struct inv_decode *d)
{
	struct inv_decode look;
	struct inv_token tok;

	inv_decode_init(&look, d->term, d->len);
	return inv_cursor_next(&look.c, &tok) == 0 && tok.kind == INV_TOK_MAP;
}

int inv_session_status_got(const struct inv_ask *ask, struct inv_status *out,
			   struct inv_err *err)
{
	struct inv_decode d;
	int r = inv_ask_answer(ask, &d, err);

	memset(out, 0, sizeof(*out));
	if (r < 0)
		return r;
	return is_map(&d) ? take_status(&d, out, err) :
			    inv_decode_ok(&d, 0, err);
}

/* Returns true if the command's system clock was set between the request and
 * its answer. */
static bool was_set(const struct inv_ask *ask)
{
	uint64_t real = ask->answered.real_ns - ask->sent.real_ns;
	uint64_t mono = ask->answered.mono_ns - ask->sent.mono_ns;

	return real + CLOCK_SET_NS < mono || real > mono + CLOCK_SET_NS;
}

int inv_session_clock_got(const struct inv_ask *ask, struct inv_session *s,
			  struct inv_status *out, struct inv_err *err)
{
	int r = inv_session_status_got(ask, out, err);

	s->clock.n++;
	s->clock.sent_ns = s->clock.answered_ns = 0;
	if (r == 0 && !was_set(ask)) {
		s->clock.sent_ns = ask->sent.real_ns;
		s->clock.answered_ns = ask->answered.real_ns;
	}
	return r;
}

static int take_watermark(struct inv_decode *d, struct inv_followed *out)
{
	static const char *const words[] = { "none", "eof", NULL };
	struct inv_token tok;
	int r = inv_cursor_next(&d->c, &tok);

	if (r != 0)
		return inv_decode_bad(d);
	if (inv_token_i64(&tok, &out->ns)) {
		out->watermark = INV_WATERMARK_AT;
		return 0;
	}
	switch (tok.kind == INV_TOK_ATOM ? inv_token_word(&tok, words) : -1) {
	case 0:
		out->watermark = INV_WATERMARK_NONE;
		return 0;
	case 1:
		out->watermark = INV_WATERMARK_EOF;
		return 0;
	default:
		return inv_decode_bad(d);
	}
}

/*
 * Returns true if the answer is {Bytes, Watermark, Status}, and not {error,
 * Class, Text}: its first element is a binary.
 */
static bool has_bytes(const struct inv_decode *d)
{
	struct inv_decode look;
	struct inv_token tok;
	uint32_t arity;

	inv_decode_init(&look, d->term, d->len);
	return inv_cursor_tuple(&look.c, &arity) == 0 && arity == 3 &&
	       inv_cursor_next(&look.c, &tok) == 0 &&
	       tok.kind == INV_TOK_BINARY;
}

int inv_session_follow_got(const struct inv_ask *ask, struct inv_followed *out,
			   struct inv_status *status, struct inv_err *err)
{
	struct inv_decode d;
	uint32_t arity;
	int r = inv_ask_answer(ask, &d, err);

	memset(out, 0, sizeof(*out));
	if (status)
		memset(status, 0, sizeof(*status));
	if (r < 0)
		return r;
	if (!has_bytes(&d))
		return inv_decode_ok(&d, 0, err);
	if (inv_cursor_tuple(&d.c, &arity) < 0 ||
	    inv_decode_bytes(&d, &out->bytes, &out->len) < 0 ||
	    take_watermark(&d, out) < 0)
		return inv_decode_strange(&d, err);
	return take_status(&d, status, err);
}

/*
 * Returns true if the name is safe: it cannot name a file in another directory.
 */
static bool plain(const char *name)
{
	return name[0] && name[0] != '.' && !strchr(name, '/') &&
	       !strchr(name, '?');
}

static int take_file(struct inv_decode *d, void *arg,
		     const struct inv_token *tok)
{
	struct inv_session_files *out = arg;
	struct inv_session_file f;
	struct inv_session_file *v;

	if (tok->kind != INV_TOK_TUPLE || tok->count != 2 ||
	    inv_decode_text(d, f.name, sizeof(f.name)) < 0 ||
	    inv_decode_u64(d, &f.size) < 0 || inv_cursor_end(&d->c) < 0 ||
	    !plain(f.name) || out->n >= INV_SESSION_FILES_MAX)
		return inv_decode_bad(d);
	v = realloc(out->v, (out->n + 1) * sizeof(*v));
	if (!v)
		return INV_ENOMEM;
	out->v = v;
	v[out->n++] = f;
	return 0;
}

/* Reads a whole list, and calls `take' with the first token of each element. */
static int each(struct inv_decode *d, void *out,
		int (*take)(struct inv_decode *d, void *out,
			    const struct inv_token *tok))
{
	struct inv_token tok;
	int r = inv_cursor_next(&d->c, &tok);

	if (r == 0 && tok.kind == INV_TOK_NIL)
		return 0;
	if (r != 0 || tok.kind != INV_TOK_LIST)
		return inv_decode_bad(d);
	for (;;) {
		r = inv_cursor_next(&d->c, &tok);
		if (r != 0)
			return inv_decode_bad(d);
		if (tok.kind == INV_TOK_END)
			return 0;
		r = take(d, out, &tok);
		if (r < 0)
			return r;
	}
}

int inv_session_files_got(const struct inv_ask *ask,
			  struct inv_session_files *out, struct inv_err *err)
{
	struct inv_decode d;
	int r = inv_ask_answer(ask, &d, err);

	memset(out, 0, sizeof(*out));
	if (r == 0)
		r = inv_decode_ok(&d, 2, err);
	if (r < 0)
		return r;
	r = each(&d, out, take_file);
	if (r == 0)
		return 0;
	free(out->v);
	memset(out, 0, sizeof(*out));
	return r == INV_ENOMEM ? inv_err_set(err, r, "no memory") :
				 inv_decode_strange(&d, err);
}

int inv_session_read_got(const struct inv_ask *ask, const uint8_t **bytes,
			 size_t *len, struct inv_err *err)
{
	static const char *const words[] = { "eof", NULL };
	struct inv_decode d;
	struct inv_token tok;
	int r = inv_ask_answer(ask, &d, err);

	*bytes = NULL;
	*len = 0;
	if (r < 0)
		return r;
	if (inv_cursor_next(&d.c, &tok) == 0 && tok.kind == INV_TOK_ATOM &&
	    inv_token_word(&tok, words) == 0)
		return INV_END;
	inv_decode_init(&d, d.term, d.len);
	r = inv_decode_ok(&d, 2, err);
	if (r == 0 && inv_decode_bytes(&d, bytes, len) < 0)
		r = inv_decode_strange(&d, err);
	return r;
}

/* --- counters ------------------------------------------------------------- */

#define COUNTERS_MAX 100000

/* Reads the terms M, F and A, and appends M:F/A to `mfa'. */
static int take_mfa(struct inv_decode *d, struct inv_buf *mfa)
{
	static const struct inv_print_opts how = { .unicode = true };
	int64_t arity;
	int r = inv_term_print(&d->c, mfa, &how);

	inv_buf_putc(mfa, ':');
	if (r == 0)
		r = inv_term_print(&d->c, mfa, &how);
	if (r == 0)
		r = inv_decode_i64(d, &arity);
	if (r != 0)
		return inv_decode_bad(d);
	inv_buf_printf(mfa, "/%lld", (long long)arity);
	inv_buf_putc(mfa, 0);
	return mfa->error;
}

static int take_counter(struct inv_decode *d, void *out,
			const struct inv_token *tok)
{
	struct inv_counters *all = out;
	struct inv_counter c = { .ns = -1 };
	struct inv_counter *v;
	struct inv_buf mfa = { 0 };
	int r;

	if (tok->kind != INV_TOK_TUPLE || tok->count != 5 ||
	    all->n >= COUNTERS_MAX)
		return inv_decode_bad(d);
	r = take_mfa(d, &mfa);
	if (r == 0)
		r = inv_decode_u64(d, &c.calls);
	if (r == 0)
		r = inv_decode_number(d, -1, &c.ns);
	if (r == 0)
		r = inv_cursor_end(&d->c);
	if (r == 0) {
		v = realloc(all->v, (all->n + 1) * sizeof(*v));
		r = v ? 0 : INV_ENOMEM;
		if (v)
			all->v = v;
	}
	if (r < 0) {
		inv_buf_release(&mfa);
		return r;
	}
	c.mfa = (char *)mfa.data;
	all->v[all->n++] = c;
	return 0;
}

int inv_session_counters_got(const struct inv_ask *ask,
			     struct inv_counters *out, struct inv_err *err)
{
	struct inv_decode d;
	int r = inv_ask_answer(ask, &d, err);

	memset(out, 0, sizeof(*out));
	if (r == 0)
		r = inv_decode_ok(&d, 2, err);
	if (r < 0)
		return r;
	r = each(&d, out, take_counter);
	if (r == 0)
		return 0;
	inv_counters_release(out);
	return r == INV_ENOMEM ? inv_err_set(err, r, "no memory") :
				 inv_decode_strange(&d, err);
}

void inv_counters_release(struct inv_counters *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->v[i].mfa);
	free(c->v);
	memset(c, 0, sizeof(*c));
}
