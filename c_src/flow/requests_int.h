/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_REQUESTS_INT_H
#define INV_FLOW_REQUESTS_INT_H

#include "flow/requests.h"
#include "flow/seq_int.h"

/* All keys consist of numbers of 64 bits, which are hashes or serials. */
#define HASH_FUNCTION(key, len, hash) \
	((hash) = inv__seq_bucket((key), (len) / sizeof(uint64_t)))
#include "base/uthash.h"

/* Declarations that requests*.c share. requests_parties.c has the processes,
 * and for each process its latest turns: a turn is what the process does from
 * one received message to the next. requests_sent.c has the messages that were
 * sent. */

/* What is remembered of an event, for the later events that follow from it. */
struct inv_origin {
	uint64_t shown; /* id of the event if it is shown, otherwise of its
			   nearest cause that is shown; 0: no such cause */
	uint64_t request;
};

/*
 * The events of a process after it received a message: all have the serial of
 * this message as Prev. If the message is not known, the turn begins with the
 * first event that has this Prev.
 */
struct inv_turn {
	uint64_t label;
	uint64_t serial;
	uint64_t changed;	 /* the number to which a spawn has changed
			      * `serial'; 0: no spawn yet */
	struct inv_origin begin; /* the first event of the turn */
	uint64_t begin_clock;	 /* `clock' of the process (struct inv_party)
				  * after the event `begin' */
	struct inv_origin last;	 /* the last event of the turn */
	uint64_t last_clock;
	bool used;
	bool replied; /* the received message can be the answer of a local
			 spawn */
	bool missing; /* it is not certain that `begin' is the first event of
		       * the request */
	bool received;
};

#define INV_TURNS 4u

/* A process that takes part in requests. */
struct inv_party {
	uint64_t key;
	uint64_t clock; /* the highest Cur of its events since its serial was
			 * last reset */
	bool stored;
	bool active; /* it had an event since forget_party last looked at it */
	bool begins; /* inv_requests_begin was called after its last event */
	uint8_t n;   /* index of the next turn to replace */
	struct inv_turn turns[INV_TURNS];
	UT_hash_handle hh;
};

struct inv_sent_key {
	uint64_t label;
	uint64_t from;
	uint64_t prev;
	uint64_t cur;
};

struct inv_sent_to_key {
	uint64_t label;
	uint64_t to;
	uint64_t cur;
};

/* A message that was sent and not yet received. */
struct inv_sent {
	struct inv_sent_key key;
	struct inv_sent_to_key to;
	struct inv_origin origin; /* the send event */
	struct inv_origin before; /* the cause of the send event */
	int64_t ts_ns;		  /* when the message was sent; if several
				     messages have this key: when the last of
				     them was sent */
	enum inv_seq_signal signal;
	bool stored;
	bool by_to;	 /* the message is also in the table whose key is
			  * `to' */
	bool repeated;	 /* several messages had this key */
	uint32_t more;	 /* how many further messages have the same key */
	uint32_t others; /* how many further messages have the same `to'. Of all
			  * messages with this `to', only the first is in the
			  * table with that key */
	UT_hash_handle hh;
	UT_hash_handle hh_to;
};

/* --- processes ------------------------------------------------------------ */

/* Returns the process, or NULL. */
struct inv_party *inv__party_find(const struct inv_requests *r, uint64_t key);

/* Returns the process, and adds it if it is new. If the bound is reached,
 * forgets another process. Returns NULL if memory is exhausted. */
struct inv_party *inv__party_get(struct inv_requests *r, uint64_t key);

void inv__parties_release(struct inv_requests *r);

/* Begins a turn of p, which replaces the oldest turn of p. */
struct inv_turn *inv__turn_add(struct inv_party *p, const struct inv_seq *s,
			       uint64_t serial);

/* Returns the turn that began i turns before the newest, or NULL. */
static inline struct inv_turn *inv__turn_past(struct inv_party *p, unsigned i)
{
	struct inv_turn *t =
		&p->turns[(p->n + 2 * INV_TURNS - 1 - i) % INV_TURNS];

	return t->used ? t : NULL;
}

/* Returns true if Prev is the serial of the turn, or the number to which a
 * spawn has changed this serial. */
static inline bool inv__turn_has_serial(const struct inv_turn *t, uint64_t prev)
{
	return t->serial == prev || (t->changed && t->changed == prev);
}

/* Returns true if a spawn can have changed the serial of the turn to Prev. */
bool inv__turn_is_tagged(const struct inv_turn *t, uint64_t prev);

/* Returns the turn to which an event with this label and Prev belongs, or
 * NULL. */
struct inv_turn *inv__turn_find(struct inv_party *p, uint64_t label,
				uint64_t prev);

/* Both functions return a message that was not received yet, or NULL. The
 * first returns the message that the event s receives. The second returns the
 * first message with this label, receiver and Cur. */
struct inv_sent *inv__sent_find(const struct inv_requests *r,
				const struct inv_seq *s);
struct inv_sent *inv__sent_find_to(const struct inv_requests *r, uint64_t label,
				   uint64_t to, uint64_t cur);

/* Adds the message that the event s sent. `before' is the cause of s. Returns
 * 0 or INV_ENOMEM. */
int inv__sent_add(struct inv_requests *r, const struct inv_seq *s,
		  const struct inv_origin *before);

void inv__sent_drop(struct inv_requests *r, struct inv_sent *x);
void inv__sent_release(struct inv_requests *r);

#endif
