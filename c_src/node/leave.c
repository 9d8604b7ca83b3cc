/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaving nodes. A node's guard answers the request to leave, then removes the
 * files and ends. The command sends questions to the node: first until the
 * guard is dead, then until the process that removes the code releases its
 * lock. If the node keeps the code loaded for the next client, the command does
 * not wait until the code is removed.
 *
 * A guard deletes its ETS table before it ends. If the guard is dead and the
 * table has another owner, the guard was killed, and this owner, the heir, is
 * the next guard. Then the command sends the request to leave to the heir.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "abi/control.h"
#include "base/clock.h"
#include "node/ask.h"
#include "node/attach.h"
#include "node/inbox_int.h"

#define LEAVE_MS 10000
/* The pause between two rounds of requests in milliseconds. It grows from
 * PAUSE_MS to PAUSE_MAX_MS. */
#define PAUSE_MS 1
#define PAUSE_MAX_MS 32

/* The state of leaving a node, which determines the next requests. */
enum stage {
	SKIPPED, /* no request: the node has no guard */
	LEFT,	 /* no request: leaving the node is done, or has failed */
	LEAVES,	 /* the request to leave was sent to the guard */
	DIES,	 /* two questions: is the guard alive, and which process owns
		    its table? */
	UNLOADS, /* a question: does a process still have the lock for loading
		    and removing code? If none has it, the code is gone */
};

/* The maximum number of requests to a node at the same time. */
#define ASKS 2

struct leave {
	struct inv_attach *v;
	size_t n;
	struct inv_inbox *in;
	int64_t end;
	struct inv_lag lag;
	int stop_fd;
	struct inv_ask *asks; /* ASKS elements for each node */
	enum stage *stages;   /* the stage of each node */
};

/* Returns the milliseconds until the deadline, but at least 100, so that a
 * request can be answered. */
static int left_ms(const struct leave *l)
{
	int64_t left = l->end - inv_mono_ms();

	return left > 100 ? (int)left : 100;
}

static void fail(struct inv_attach *a, int code)
{
	a->code = code;
	inv_err_ctx(&a->err, "%s", inv_conn_name(a->conn)->full);
}

/*
 * Reports that the node still has the code. This can happen on a node with very
 * many processes: before the VM unloads code, it checks each process.
 */
static void not_yet(struct inv_attach *a)
{
	fail(a, inv_err_set(&a->err, INV_ETIME,
			    "the node is still unloading inviso's code; it "
			    "finishes by itself"));
}

static void ask_leave(const struct leave *l, size_t i)
{
	struct inv_attach *a = &l->v[i];
	struct inv_buf e = { 0 };

	inv_etf_tuple(&e, 2);
	inv_put_atom(&e, "leave");
	inv_put_pid(&e, inv_conn_self(a->conn));
	inv_ask_pid(&l->asks[ASKS * i], a->conn, &a->guard, &e, left_ms(l));
}

static void ask_dies(const struct leave *l, size_t i)
{
	struct inv_ask *asks = &l->asks[ASKS * i];
	struct inv_attach *a = &l->v[i];
	struct inv_buf alive = { 0 };
	struct inv_buf owner = { 0 };

	inv_etf_list(&alive, 1);
	inv_put_pid(&alive, &a->guard);
	inv_etf_nil(&alive);
	inv_ask_rex(&asks[0], a->conn, "erlang", "is_process_alive", &alive,
		    left_ms(l));
	inv_etf_list(&owner, 2);
	inv_put_atom(&owner, INV_CONTROL_GUARD);
	inv_put_atom(&owner, "owner");
	inv_etf_nil(&owner);
	inv_ask_rex(&asks[1], a->conn, "ets", "info", &owner, left_ms(l));
}

static void ask_unloads(const struct leave *l, size_t i)
{
	struct inv_buf e = { 0 };

	inv_etf_list(&e, 1);
	inv_put_atom(&e, INV_CONTROL_LOCK);
	inv_etf_nil(&e);
	inv_ask_rex(&l->asks[ASKS * i], l->v[i].conn, "erlang", "whereis", &e,
		    left_ms(l));
}

/* Decodes the guard's answer: gone, or {others, [Owner]} with the owners of the
 * clients that still need the code. */
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

/*
 * Handles the guard's answer and returns the next stage. If the guard does not
 * exist any more, that counts as the answer `gone'.
 */
static enum stage got_leave(struct leave *l, size_t i)
{
	struct inv_attach *a = &l->v[i];
	struct inv_decode d;
	bool gone = true;
	int r = inv_ask_answer(&l->asks[ASKS * i], &d, &a->err);

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
	else if (gone && inv_conn_brought(a->conn))
		return DIES;
	else
		a->state = INV_ATTACH_NONE;
	return LEFT;
}

/*
 * Returns the node's current stage, so that its requests are sent again. But
 * if `r' is less than 0 (the last answer was an error), or the deadline has
 * passed, reports a failure and returns LEFT.
 */
static enum stage wait_on(struct leave *l, size_t i, int r)
{
	struct inv_attach *a = &l->v[i];

	if (r < 0 && r != INV_ETIME)
		fail(a, r);
	else if (r == INV_ETIME || inv_mono_ms() >= l->end)
		not_yet(a);
	else
		return l->stages[i];
	return LEFT;
}

static enum stage unloaded(struct inv_attach *a)
{
	a->state = INV_ATTACH_NONE;
	return LEFT;
}

/*
 * Decodes the owner of the guard's table. Returns 0 for undefined, 1 for a pid,
 * or an error.
 */
static int decode_owner(struct inv_decode *d, erlang_pid *owner)
{
	struct inv_token tok;
	int r = inv_cursor_next(&d->c, &tok);

	if (r < 0)
		return r;
	if (tok.kind == INV_TOK_ATOM)
		return 0;
	inv_decode_init(d, d->term, d->len);
	r = inv_decode_pid(d, owner);
	return r < 0 ? r : 1;
}

static bool is_atom(struct inv_decode *d, const char *name)
{
	const char *const words[] = { name, NULL };
	int word;

	return inv_decode_word(d, words, &word) == 0 && word == 0;
}

static bool same_pid(const erlang_pid *a, const erlang_pid *b)
{
	return a->num == b->num && a->serial == b->serial &&
	       a->creation == b->creation;
}

static enum stage got_dies(struct leave *l, size_t i)
{
	struct inv_ask *asks = &l->asks[ASKS * i];
	struct inv_attach *a = &l->v[i];
	struct inv_decode d;
	erlang_pid owner = { 0 };
	int r = inv_ask_answer(&asks[0], &d, &a->err);
	bool dead = r == 0 && is_atom(&d, "false");
	int has_owner = -1;

	if (r == 0)
		r = inv_ask_answer(&asks[1], &d, &a->err);
	if (r == 0)
		has_owner = decode_owner(&d, &owner);
	if (dead && has_owner == 0)
		return a->stays ? unloaded(a) : UNLOADS;
	if (dead && has_owner == 1 && !same_pid(&owner, &a->guard) &&
	    inv_mono_ms() < l->end) {
		a->guard = owner;
		return LEAVES;
	}
	return wait_on(l, i, r);
}

static enum stage got_unloads(struct leave *l, size_t i)
{
	struct inv_attach *a = &l->v[i];
	struct inv_decode d;
	int r = inv_ask_answer(&l->asks[ASKS * i], &d, &a->err);

	if (r == 0 && is_atom(&d, "undefined"))
		return unloaded(a);
	return wait_on(l, i, r);
}

/* Sends the requests of a node's stage. */
static void ask(const struct leave *l, size_t i)
{
	switch (l->stages[i]) {
	case SKIPPED:
	case LEFT:
		break;
	case LEAVES:
		ask_leave(l, i);
		break;
	case DIES:
		ask_dies(l, i);
		break;
	case UNLOADS:
		ask_unloads(l, i);
		break;
	}
}

/* Handles the answers, and returns the node's next stage. */
static enum stage got(struct leave *l, size_t i)
{
	switch (l->stages[i]) {
	case LEAVES:
		return got_leave(l, i);
	case DIES:
		return got_dies(l, i);
	case UNLOADS:
		return got_unloads(l, i);
	default:
		return l->stages[i];
	}
}

/*
 * Sends the requests of each node's stage, waits for all answers, and handles
 * them.
 */
static int round_of(struct leave *l)
{
	int r;

	for (size_t i = 0; i < l->n; i++)
		ask(l, i);
	r = inv_gather(l->in, l->asks, ASKS * l->n, l->stop_fd);
	for (size_t i = 0; r == 0 && i < l->n; i++)
		l->stages[i] = got(l, i);
	inv_asks_release(l->asks, ASKS * l->n);
	return r;
}

static bool any_waits(const struct leave *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->stages[i] > LEFT)
			return true;
	return false;
}

static void tell_waiting(const struct leave *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->stages[i] > LEFT)
			inv_lag_tell(&l->lag, l->v[i].conn);
}

static int leave_nodes(struct leave *l)
{
	struct pollfd stop = { .fd = l->stop_fd, .events = POLLIN };
	int r = round_of(l);
	int ms = 0;

	while (r == 0 && any_waits(l)) {
		if (ms > 0 && poll(&stop, 1, ms) > 0)
			return INV_ECANCELLED;
		r = round_of(l);
		if (ms < PAUSE_MAX_MS)
			ms = ms > 0 ? 2 * ms : PAUSE_MS;
		if (inv_lag_ended(&l->lag))
			tell_waiting(l);
	}
	return r;
}

/* Selects the nodes that have a guard, even those on which attaching failed
 * later. */
static void choose(struct leave *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct inv_attach *a = &l->v[i];

		if (!a->conn || a->state < INV_ATTACH_CODE || !a->guard.node[0])
			continue;
		l->stages[i] = LEAVES;
		a->code = 0;
	}
}

int inv_leave_all(struct inv_attach *v, size_t n, struct inv_inbox *in, int ms,
		  int stop_fd)
{
	struct leave l = {
		.v = v, .n = n, .in = in, .stop_fd = stop_fd, .lag = inv_lag(in)
	};
	int r = INV_ENOMEM;

	l.end = inv_mono_ms() + (ms > 0 ? ms : LEAVE_MS);
	l.asks = calloc(ASKS * n + 1, sizeof(*l.asks));
	l.stages = calloc(n + 1, sizeof(*l.stages));
	if (l.asks && l.stages) {
		choose(&l);
		r = leave_nodes(&l);
		for (size_t i = 0; r == 0 && i < n; i++)
			if (l.stages[i] != SKIPPED)
				r = v[i].code;
	}
	free(l.stages);
	free(l.asks);
	return r;
}
