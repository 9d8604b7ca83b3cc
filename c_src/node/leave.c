/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaving nodes.  A guard answers before it is gone; whether it is, only
 * `code' can tell, which is asked until our first module is no longer there
 * (it goes last).
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "node/ask.h"
#include "node/attach.h"
#include "node/inbox_int.h"

#define LEAVE_MS 10000
/* Between two looks: short at first, then longer and longer. */
#define PAUSE_MS 1
#define PAUSE_MAX_MS 32

struct leave {
	struct inv_attach *v;
	size_t n;
	struct inv_inbox *in;
	int64_t end;
	struct inv_lag lag;
	int stop_fd;
	struct inv_ask *asks; /* one for each */
	bool *waiting;	      /* until it is gone */
};

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* A request has at least a moment. */
static int left_ms(const struct leave *l)
{
	int64_t left = l->end - now_ms();

	return left > 100 ? (int)left : 100;
}

static void fail(struct inv_attach *a, int code)
{
	a->code = code;
	inv_err_ctx(&a->err, "%s", inv_conn_name(a->conn)->full);
}

/* A node with very many processes takes long to unload code: each of them is
 * asked whether it runs it. */
static void not_yet(struct inv_attach *a)
{
	fail(a, inv_err_set(&a->err, INV_ETIME,
			    "still unloads our code; it goes on by itself"));
}

static void ask_leave(const struct leave *l, size_t i)
{
	struct inv_attach *a = &l->v[i];
	struct inv_ei e;

	inv_ei_init(&e);
	inv_ei_tuple(&e, 2);
	inv_ei_atom(&e, "leave");
	inv_ei_pid(&e, inv_conn_self(a->conn));
	inv_ask_pid(&l->asks[i], a->conn, &a->guard, &e, left_ms(l));
}

static void ask_loaded(const struct leave *l, size_t i)
{
	struct inv_ei e;

	inv_ei_init(&e);
	inv_ei_list(&e, 1);
	inv_ei_atom(&e, "inviso_push");
	inv_ei_nil(&e);
	inv_ask_rex(&l->asks[i], l->v[i].conn, "code", "is_loaded", &e,
		    left_ms(l));
}

/* gone | {others, [Owner]} */
static int decode_left(struct inv_decode *d, struct inv_attach *a, bool *gone)
{
	static const char *const heads[] = { "gone", "others", NULL };
	struct inv_token tok;
	int head;
	int r = inv_cursor_next(&d->c, &tok);

	*gone = r == 0 && tok.kind == INV_TOK_ATOM &&
		inv_token_word(&tok, heads) == 0;
	if (r < 0 || *gone)
		return r;
	if (tok.kind != INV_TOK_TUPLE || tok.count != 2 ||
	    inv_decode_word(d, heads, &head) < 0 || head != 1)
		return INV_EDAMAGED;
	inv_texts_release(&a->others);
	return inv_decode_texts(d, &a->others, 64);
}

/* A guard that is not there any more has done its work. */
static void has_left(struct leave *l, size_t i)
{
	struct inv_attach *a = &l->v[i];
	struct inv_decode d;
	bool gone = true;
	int r = inv_ask_answer(&l->asks[i], &d, &a->err);

	if (r == INV_EREMOTE)
		r = 0;
	else if (r == 0 && decode_left(&d, a, &gone) < 0) {
		inv_decode_init(&d, d.term, d.len);
		r = inv_decode_ok(&d, 0, &a->err);
	}
	if (r == INV_ETIME)
		not_yet(a);
	else if (r < 0)
		fail(a, r);
	else if (gone)
		l->waiting[i] = true;
	else
		a->state = INV_ATTACH_NONE;
}

/* false | {file, _} */
static void is_gone(struct leave *l, size_t i)
{
	static const char *const words[] = { "false", NULL };
	struct inv_attach *a = &l->v[i];
	struct inv_decode d;
	struct inv_token tok;
	int r = inv_ask_answer(&l->asks[i], &d, &a->err);

	if (r < 0 && r != INV_ETIME) {
		fail(a, r);
		l->waiting[i] = false;
	} else if (r == 0 && inv_cursor_next(&d.c, &tok) == 0 &&
		   tok.kind == INV_TOK_ATOM &&
		   inv_token_word(&tok, words) == 0) {
		a->state = INV_ATTACH_NONE;
		l->waiting[i] = false;
	} else if (r == INV_ETIME || now_ms() >= l->end) {
		not_yet(a);
		l->waiting[i] = false;
	}
}

/* Asks those that `ask' is for, waits for all, hands on what they say. */
static int round_of(struct leave *l, const bool *whom,
		    void (*ask)(const struct leave *l, size_t i),
		    void (*got)(struct leave *l, size_t i))
{
	int r;

	for (size_t i = 0; i < l->n; i++)
		if (whom[i])
			ask(l, i);
	r = inv_gather(l->in, l->asks, l->n, l->stop_fd);
	for (size_t i = 0; r == 0 && i < l->n; i++)
		if (l->asks[i].conn)
			got(l, i);
	inv_asks_release(l->asks, l->n);
	return r;
}

static bool any(const bool *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (b[i])
			return true;
	return false;
}

static void tell_waiting(const struct leave *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->waiting[i])
			inv_lag_tell(&l->lag, l->v[i].conn);
}

static int wait_gone(struct leave *l)
{
	struct pollfd stop = { .fd = l->stop_fd, .events = POLLIN };
	int ms = PAUSE_MS;
	int r = 0;

	while (r == 0 && any(l->waiting, l->n)) {
		r = round_of(l, l->waiting, ask_loaded, is_gone);
		if (r == 0 && any(l->waiting, l->n) && poll(&stop, 1, ms) > 0)
			r = INV_ECANCELLED;
		ms = ms < PAUSE_MAX_MS ? 2 * ms : ms;
		if (inv_lag_ended(&l->lag))
			tell_waiting(l);
	}
	return r;
}

/* Whoever we have a guard of; a code from before is no reason to stay. */
static void choose(struct leave *l, bool *whom)
{
	for (size_t i = 0; i < l->n; i++) {
		struct inv_attach *a = &l->v[i];

		whom[i] = a->conn && a->state >= INV_ATTACH_CODE &&
			  a->guard.node[0];
		if (whom[i])
			a->code = 0;
	}
}

int inv_leave_all(struct inv_attach *v, size_t n, struct inv_inbox *in, int ms,
		  int stop_fd)
{
	struct leave l = {
		.v = v, .n = n, .in = in, .stop_fd = stop_fd, .lag = inv_lag(in)
	};
	bool *whom = calloc(n + 1, sizeof(*whom));
	int r = INV_ENOMEM;

	l.end = now_ms() + (ms > 0 ? ms : LEAVE_MS);
	l.asks = calloc(n + 1, sizeof(*l.asks));
	l.waiting = calloc(n + 1, sizeof(*l.waiting));
	if (whom && l.asks && l.waiting) {
		choose(&l, whom);
		r = round_of(&l, whom, ask_leave, has_left);
		if (r == 0)
			r = wait_gone(&l);
		for (size_t i = 0; r == 0 && i < n; i++)
			if (whom[i])
				r = v[i].code;
	}
	free(l.waiting);
	free(l.asks);
	free(whom);
	return r;
}
