/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/requests.h"

#include <stdlib.h>
#include <string.h>

#include "flow/seq_int.h"

/* All keys consist of numbers of 64 bits, which are hashes or serials. */
#define HASH_FUNCTION(key, len, hash) \
	((hash) = inv__seq_bucket((key), (len) / sizeof(uint64_t)))
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(elt) ((elt)->stored = false)
#include <uthash.h>

#include "base/err.h"
#include "base/likely.h"

/* What an event leaves for the events that follow from it. */
struct origin {
	uint64_t shown; /* id of the event, or of its nearest cause that is
			   shown; 0: none */
	uint64_t request;
};

/*
 * The events of a process after it received a message: all have the serial of
 * this message as Prev. If the message is not known, the turn begins with the
 * first event that has this Prev.
 */
struct turn {
	uint64_t label;
	uint64_t serial;
	uint64_t changed;    /* what a spawn made of `serial'; 0: nothing yet */
	struct origin begin; /* its first event */
	uint64_t begin_clock; /* the process's clock after it */
	struct origin last;   /* its last event */
	uint64_t last_clock;
	bool used;
	bool replied; /* the message can be the answer of a local spawn */
	bool missing; /* it is not certain that `begin' is its first event */
	bool received;
};

#define TURNS 4u

/* A process. */
struct inv_party {
	uint64_t key;
	uint64_t clock; /* the highest Cur of its events */
	bool stored;
	bool active; /* had an event since forget_party looked at it */
	bool begins; /* inv_requests_begin was called after its last event */
	uint8_t n;   /* index of the next turn to replace */
	struct turn turns[TURNS];
	UT_hash_handle hh;
};

struct sent_key {
	uint64_t label;
	uint64_t from;
	uint64_t prev;
	uint64_t cur;
};

struct to_key {
	uint64_t label;
	uint64_t to;
	uint64_t cur;
};

/* A message that was sent and not yet received. */
struct inv_sent {
	struct sent_key key;
	struct to_key to;
	struct origin origin; /* the send event */
	struct origin before; /* what the send event follows from */
	int64_t ts_ns;	      /* of several messages, the latest */
	enum inv_seq_signal signal;
	bool stored;
	bool by_to;	 /* it is in the table by receiver, too */
	bool repeated;	 /* several messages had this key */
	uint32_t more;	 /* further messages with the same key */
	uint32_t others; /* by receiver: further messages with the same key */
	UT_hash_handle hh;
	UT_hash_handle hh_to;
};

const char *inv_orphan_text(enum inv_orphan orphan)
{
	switch (orphan) {
	case INV_ORPHAN_LOST:
		return "lost";
	case INV_ORPHAN_UNTRACED:
		return "untraced";
	case INV_ORPHAN_IN_FLIGHT:
		return "in_flight";
	default:
		return NULL;
	}
}

void inv_requests_init(struct inv_requests *r, size_t memory)
{
	memset(r, 0, sizeof(*r));
	if (!memory)
		memory = INV_REQUESTS_MEMORY;
	/* Each half of the memory, with the buckets of the tables. */
	r->most_sent = memory / 2 / (sizeof(struct inv_sent) + 32) + 1;
	r->most_parties = memory / 2 / (sizeof(struct inv_party) + 16) + 2;
}

void inv_requests_release(struct inv_requests *r)
{
	struct inv_party *p = r->parties;
	struct inv_sent *s = r->sent;

	HASH_CLEAR(hh, r->parties);
	HASH_CLEAR(hh_to, r->sent_to);
	HASH_CLEAR(hh, r->sent);
	while (p) {
		struct inv_party *next = p->hh.next;

		free(p);
		p = next;
	}
	while (s) {
		struct inv_sent *next = s->hh.next;

		free(s);
		s = next;
	}
	free(r->nodes);
	memset(r, 0, sizeof(*r));
}

/* --- nodes ---------------------------------------------------------------- */

struct inv_request_node *inv_requests_node(struct inv_requests *r, uint64_t key)
{
	struct inv_request_node *more;

	for (uint32_t i = 0; i < r->n_nodes; i++)
		if (r->nodes[i].key == key)
			return &r->nodes[i];
	more = realloc(r->nodes, (r->n_nodes + 1) * sizeof(*more));
	if (!more)
		return NULL;
	r->nodes = more;
	more += r->n_nodes++;
	*more = (struct inv_request_node){ .key = key };
	return more;
}

static struct inv_request_node node_of(const struct inv_requests *r,
				       uint64_t key)
{
	for (uint32_t i = 0; i < r->n_nodes; i++)
		if (r->nodes[i].key == key)
			return r->nodes[i];
	return (struct inv_request_node){ .key = key };
}

/* --- processes ------------------------------------------------------------ */

static struct inv_party *find_party(const struct inv_requests *r, uint64_t key)
{
	struct inv_party *p;

	HASH_FIND(hh, r->parties, &key, sizeof(key), p);
	return p;
}

static void forget_party(struct inv_requests *r)
{
	struct inv_party *p = r->turn;

	while (!p || p->active) {
		if (p)
			p->active = false;
		p = p ? p->hh.next : r->parties;
	}
	r->turn = p->hh.next;
	r->counts.forgotten++;
	HASH_DEL(r->parties, p);
	free(p);
}

static struct inv_party *get_party(struct inv_requests *r, uint64_t key)
{
	struct inv_party *p = find_party(r, key);

	if (!p) {
		if (HASH_COUNT(r->parties) >= r->most_parties)
			forget_party(r);
		p = calloc(1, sizeof(*p));
		if (!p)
			return NULL;
		p->key = key;
		p->stored = true;
		HASH_ADD(hh, r->parties, key, sizeof(p->key), p);
		if (!p->stored) {
			free(p);
			return NULL;
		}
	}
	p->active = true;
	return p;
}

/* Begins a turn, which replaces the oldest. */
static struct turn *add_turn(struct inv_party *p, const struct inv_seq *s,
			     uint64_t serial)
{
	struct turn *t = &p->turns[p->n];

	p->n = (uint8_t)((p->n + 1) % TURNS);
	*t = (struct turn){ .used = true, .label = s->label, .serial = serial };
	return t;
}

/* Returns the i-th last turn, from 0, or NULL. */
static struct turn *past_turn(struct inv_party *p, unsigned i)
{
	struct turn *t = &p->turns[(p->n + 2 * TURNS - 1 - i) % TURNS];

	return t->used ? t : NULL;
}

/*
 * After a process has spawned another one on its own node, the VM stores a
 * tagged integer as the number that it has received last: 16 * N + 15.
 */
#define TAGGED(n) ((n)*16 + 15)
#define TAGGED_MAX ((UINT64_MAX - 15) / 16)

static bool is_serial_of(const struct turn *t, uint64_t prev)
{
	return t->serial == prev || (t->changed && t->changed == prev);
}

static bool is_tagged(const struct turn *t, uint64_t prev)
{
	return t->replied && t->serial <= TAGGED_MAX &&
	       TAGGED(t->serial) == prev;
}

/* Returns the turn to which an event with this label and Prev belongs, or
 * NULL. */
static struct turn *find_turn(struct inv_party *p, uint64_t label,
			      uint64_t prev)
{
	struct turn *t;

	for (unsigned i = 0; i < TURNS && (t = past_turn(p, i)); i++)
		if (t->label == label && is_serial_of(t, prev))
			return t;
	for (unsigned i = 0; i < TURNS && (t = past_turn(p, i)); i++)
		if (t->label == label && is_tagged(t, prev))
			return t;
	return NULL;
}

/* --- messages that were sent ---------------------------------------------- */

static void drop_sent(struct inv_requests *r, struct inv_sent *x)
{
	if (x->by_to)
		HASH_DELETE(hh_to, r->sent_to, x);
	HASH_DELETE(hh, r->sent, x);
	free(x);
}

static struct inv_sent *find_sent(const struct inv_requests *r,
				  const struct inv_seq *s)
{
	const struct sent_key key = { s->label, s->from, s->prev, s->cur };
	struct inv_sent *x;

	HASH_FIND(hh, r->sent, &key, sizeof(key), x);
	return x;
}

static struct inv_sent *find_sent_to(const struct inv_requests *r,
				     uint64_t label, uint64_t to, uint64_t cur)
{
	const struct to_key key = { label, to, cur };
	struct inv_sent *x;

	HASH_FIND(hh_to, r->sent_to, &key, sizeof(key), x);
	return x;
}

/* The table by receiver has only the first of messages with equal keys. */
static int add_sent_to(struct inv_requests *r, struct inv_sent *x)
{
	struct inv_sent *other =
		find_sent_to(r, x->to.label, x->to.to, x->to.cur);

	if (other) {
		other->others++;
		return 0;
	}
	HASH_ADD(hh_to, r->sent_to, to, sizeof(x->to), x);
	if (!x->stored)
		return INV_ENOMEM;
	x->by_to = true;
	return 0;
}

/* Another message has the key of x. Which of them is received first is not
 * known, but if both follow from the same event, that is a cause of it. */
static void repeat_sent(struct inv_requests *r, struct inv_sent *x,
			const struct origin *before)
{
	if (x->before.request != before->request ||
	    x->before.shown != before->shown)
		x->before = (struct origin){ 0 };
	x->origin = x->before;
	x->repeated = true;
	x->more++;
	r->counts.repeated++;
}

static int add_sent(struct inv_requests *r, const struct inv_seq *s,
		    const struct origin *before)
{
	struct inv_sent *x = find_sent(r, s);

	if (x) {
		repeat_sent(r, x, before);
		if (s->ts_ns > x->ts_ns)
			x->ts_ns = s->ts_ns;
		return 0;
	}
	if (HASH_CNT(hh, r->sent) >= r->most_sent) {
		drop_sent(r, r->sent);
		r->counts.forgotten++;
	}
	x = calloc(1, sizeof(*x));
	if (!x)
		return INV_ENOMEM;
	x->key = (struct sent_key){ s->label, s->from, s->prev, s->cur };
	x->to = (struct to_key){ s->label, s->to, s->cur };
	x->origin = x->before = *before;
	x->signal = s->signal;
	x->ts_ns = s->ts_ns;
	x->stored = true;
	HASH_ADD(hh, r->sent, key, sizeof(x->key), x);
	if (!x->stored) {
		free(x);
		return INV_ENOMEM;
	}
	if (s->to && add_sent_to(r, x)) {
		drop_sent(r, x);
		return INV_ENOMEM;
	}
	r->shows[2] = &x->origin.shown;
	return 0;
}

/* --- causes --------------------------------------------------------------- */

static void follow(struct inv_cause *cause, const struct origin *o,
		   bool certain)
{
	cause->cause = o->shown;
	cause->request = o->request;
	cause->certain = certain;
}

/* Why an event of the node is missing. `later': it can be one after the end of
 * the node's log. */
static enum inv_orphan why(const struct inv_requests *r, uint64_t node,
			   bool later)
{
	const struct inv_request_node n = node_of(r, node);

	if (!n.recorded)
		return INV_ORPHAN_UNTRACED;
	if (n.lost)
		return INV_ORPHAN_LOST;
	return n.unfinished && later ? INV_ORPHAN_IN_FLIGHT :
				       INV_ORPHAN_UNTRACED;
}

/* Returns the turn if it is the only one to which an event with this label and
 * Prev can belong. */
static const struct turn *only_turn(struct inv_party *p, uint64_t label,
				    uint64_t prev)
{
	const struct turn *found = find_turn(p, label, prev);
	const struct turn *t;

	for (unsigned i = 0; i < TURNS && (t = past_turn(p, i)); i++)
		if (t != found && t->label == label && is_serial_of(t, prev))
			return NULL;
	return found;
}

/*
 * The send event of a received message is missing. Finds an earlier event of its
 * sender in the same turn. If events were lost, this can be another turn, which
 * began with a message of the same number.
 */
static void received_orphan(struct inv_requests *r, const struct inv_seq *s,
			    struct inv_cause *cause)
{
	struct inv_party *p = find_party(r, s->from);
	const struct turn *t = NULL;

	cause->orphan = why(r, s->from_node, !p || p->clock < s->cur);
	if (p && cause->orphan != INV_ORPHAN_LOST)
		t = only_turn(p, s->label, s->prev);
	/* A message that was sent after an event has a higher number. */
	if (t && t->last_clock < s->cur)
		follow(cause, &t->last, false);
	else if (t && t->begin_clock < s->cur)
		follow(cause, &t->begin, false);
}

static void received(struct inv_requests *r, const struct inv_seq *s,
		     struct inv_cause *cause)
{
	struct inv_sent *x = find_sent(r, s);

	if (!x) {
		received_orphan(r, s, cause);
		return;
	}
	r->counts.messages++;
	/* Only the send event tells what the arguments of a spawn are. */
	if (x->signal == INV_SIGNAL_SPAWN_ARGS)
		cause->signal = x->signal;
	if (x->origin.request)
		follow(cause, &x->origin, !x->repeated);
	else
		cause->orphan = INV_ORPHAN_UNTRACED;
	if (!x->more--)
		drop_sent(r, x);
}

/* Returns true if a process received the serial Prev with another label, or
 * never received a message: then the event begins a request. */
static bool is_first(struct inv_party *p, uint64_t prev)
{
	struct turn *t;

	for (unsigned i = 0; i < TURNS && (t = past_turn(p, i)); i++)
		if (is_serial_of(t, prev) || is_tagged(t, prev))
			return true;
	return !prev;
}

static bool has_received(struct inv_party *p)
{
	struct turn *t;

	for (unsigned i = 0; i < TURNS && (t = past_turn(p, i)); i++)
		if (t->received)
			return true;
	return false;
}

/*
 * Finds the cause of an event of p whose Prev is not the serial of a message that
 * p received with this label. If there is none, the event begins a request, or
 * its cause is missing.
 */
static void acted_first(struct inv_requests *r, const struct inv_seq *s,
			struct inv_party *p, struct inv_cause *cause)
{
	enum inv_orphan orphan = why(r, s->from_node, false);
	struct inv_sent *x;

	if (orphan == INV_ORPHAN_LOST) {
		/* The event must be the first one of its process. */
		cause->certain = !s->prev && s->cur == p->clock + 1;
		if (!cause->certain)
			cause->orphan = orphan;
		return;
	}
	if (p->begins || is_first(p, s->prev)) {
		cause->certain = true;
		return;
	}
	x = find_sent_to(r, s->label, p->key, s->prev);
	if (x && !x->others && !x->repeated && x->origin.request) {
		/* Its 'receive' is missing. */
		follow(cause, &x->origin, false);
		cause->orphan = orphan;
		drop_sent(r, x);
	} else if (x || has_received(p) || r->counts.forgotten) {
		cause->orphan = orphan;
	}
	/* Otherwise: a request that was not recorded can have left Prev. */
}

/* The VM's counters are at their end: the process's last message is the
 * cause, but serials are no longer different. */
#define SERIAL_END (UINT64_C(1) << 55)

static struct turn *turn_at_end(struct inv_party *p, const struct inv_seq *s)
{
	struct turn *t = past_turn(p, 0);

	return t && s->prev >= SERIAL_END && t->label == s->label &&
			       t->replied && t->received ?
		       t :
		       NULL;
}

/* Finds the cause of an event of p: a send, or a print. Returns its turn; NULL:
 * it is the first one. */
static struct turn *acted(struct inv_requests *r, const struct inv_seq *s,
			  struct inv_party *p, struct inv_cause *cause)
{
	struct turn *t = find_turn(p, s->label, s->prev);

	if (t) {
		if (inv_unlikely(!is_serial_of(t, s->prev))) {
			t->changed = s->prev;
			r->counts.repaired++;
		}
		/* If events of the node were lost, a further message with the
		 * same number can be among them. */
		follow(cause, &t->begin,
		       !t->missing && !node_of(r, s->from_node).lost);
		return t;
	}
	t = turn_at_end(p, s);
	if (t) {
		t->changed = s->prev;
		r->counts.repeated++;
		follow(cause, &t->begin, false);
		return t;
	}
	acted_first(r, s, p, cause);
	return NULL;
}

/* --- events --------------------------------------------------------------- */

bool inv_requests_ready(struct inv_requests *r, const struct inv_seq *receive)
{
	const struct inv_party *p;

	if (!node_of(r, receive->from_node).recorded || find_sent(r, receive))
		return true;
	p = find_party(r, receive->from);
	return p && p->clock >= receive->cur;
}

bool inv_requests_sent(const struct inv_requests *r,
		       const struct inv_seq *receive, int64_t *ts_ns)
{
	const struct inv_sent *x = find_sent(r, receive);

	if (x)
		*ts_ns = x->ts_ns;
	return x != NULL;
}

/* Adds the event to the turn t of p, or begins a turn with it. */
static void add_to_turn(struct inv_requests *r, struct inv_party *p,
			struct turn *t, const struct inv_seq *s,
			const struct inv_cause *cause)
{
	const struct origin o = { cause->cause, cause->request };
	bool received = s->kind == INV_SEQ_RECEIVE;

	/* A process that sends a smaller number was reset by
	 * seq_trace:reset_trace(). */
	if (!received || s->cur > p->clock)
		p->clock = s->cur;
	if (!t) {
		t = add_turn(p, s, received ? s->cur : s->prev);
		t->begin = o;
		t->begin_clock = p->clock;
		t->received = received;
		t->replied = received && (s->signal == INV_SIGNAL_SPAWN_REPLY ||
					  s->signal == INV_SIGNAL_UNKNOWN);
		t->missing = !received && !cause->certain;
		r->shows[0] = &t->begin.shown;
	}
	p->begins = false;
	t->last = o;
	t->last_clock = p->clock;
	r->shows[1] = &t->last.shown;
}

int inv_requests_begin(struct inv_requests *r, uint64_t process)
{
	struct inv_party *p = get_party(r, process);

	if (!p)
		return INV_ENOMEM;
	memset(p->turns, 0, sizeof(p->turns));
	p->begins = true;
	return 0;
}

int inv_requests_add(struct inv_requests *r, const struct inv_seq *s,
		     struct inv_cause *cause)
{
	struct inv_party *p = get_party(r, inv_seq_process(s));
	struct turn *t = NULL;
	struct origin o;

	if (!p)
		return INV_ENOMEM;
	memset(r->shows, 0, sizeof(r->shows));
	*cause = (struct inv_cause){ .id = ++r->counts.events,
				     .signal = s->signal };
	r->id = cause->id;
	if (s->kind == INV_SEQ_RECEIVE)
		received(r, s, cause);
	else
		t = acted(r, s, p, cause);
	if (!cause->request)
		cause->request = ++r->counts.requests;
	r->counts.orphans[cause->orphan]++;
	add_to_turn(r, p, t, s, cause);
	if (s->kind != INV_SEQ_SEND || s->signal == INV_SIGNAL_PORT)
		return 0;
	o = (struct origin){ cause->cause, cause->request };
	return add_sent(r, s, &o);
}

void inv_requests_show(struct inv_requests *r)
{
	for (unsigned i = 0; i < 3; i++)
		if (r->shows[i])
			*r->shows[i] = r->id;
}

uint64_t inv_requests_in_flight(const struct inv_requests *r)
{
	return HASH_CNT(hh, r->sent);
}
