/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_TRACER_H
#define INV_NIF_TRACER_H

#include <erl_nif.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/ring.h"
#include "nif/delivery.h"
#include "nif/dict.h"
#include "nif/event_filter.h"
#include "nif/memory.h"
#include "ring/producer.h"
#include "ring/rate.h"

/*
 * Tracers.  The state of the erl_tracer behaviour is a handle: a small integer,
 * since the VM copies the state for every tracee and, with a match spec, for
 * every call.  Its low bits are a slot of a static table, the others a number
 * that is never used twice, so that a handle of a closed tracer, or of an
 * earlier load of this library, is never taken for another's.
 *
 *      free --open--> open --retire--> retired --free--> free
 *                      |                  ^
 *                      +--keeper's death--+
 *
 * open     the handle is in the slot; callbacks record
 * retired  it is not: enabled/3 answers remove (see nif/gone.h), trace/5 does
 *          nothing.  When no thread is in a callback any more, the spooler is
 *          told (state in the control page), and the memory may go.
 *
 * The functions here are for NIFs called by processes, never for tracer
 * callbacks; they serialise by a lock of their own.
 */
#define INV_TRACERS_MAX 64u
#define INV_HANDLE_SLOT_BITS 6

/* What a thread has of a tracer.  Used by that thread alone. */
struct inv_lane {
	_Alignas(INV_CACHE_LINE) struct inv_producer producer;
	uint32_t events_lease; /* of the tracer's limits, ours to use up */
	uint32_t bytes_lease;
	struct inv_packet_dict dict;
	uint32_t rate_lease;
	_Atomic uint64_t filtered;  /* events that the filter left out */
	_Atomic uint64_t undecided; /* recorded, for it could not tell */
};

/* The leases that threads take out of a tracer's limits at a time. */
#define INV_LEASE_EVENTS 32u
#define INV_LEASE_BYTES 8192u

/* It records, into rings, or it delivers. */
struct inv_tracer {
	uint64_t handle;
	ErlNifPid keeper;
	struct inv_delivery *delivery; /* NULL: it records, and has all below */
	struct inv_memory memory;
	int listener;		  /* -1: the spooler opens it through /proc */
	struct inv_ring_ctl *ctl; /* in memory */
	uint32_t n_lanes;
	struct inv_lane *lanes;
	uint32_t max_bytes; /* of a term */
	uint32_t max_depth;
	bool light;
	bool limited;
	_Atomic uint8_t spent_by; /* enum inv_limit */
	uint64_t limit_ns;	  /* UINT64_MAX: none */
	_Atomic uint64_t until;	  /* inv_mono_ns() from which on it is spent */
	_Atomic int64_t events_left; /* not yet leased; when limited */
	_Atomic int64_t bytes_left;
	struct inv_rate *rate;			   /* NULL: none */
	_Atomic(struct inv_event_filter *) filter; /* NULL: all are wanted */
	struct inv_event_filter *retired;
};

/* Which limit was reached first. */
enum inv_limit {
	INV_LIMIT_NONE,
	INV_LIMIT_EVENTS,
	INV_LIMIT_BYTES,
	INV_LIMIT_TIME,
};

/* How far a tracer has come, as callbacks need to know it. */
enum inv_use {
	INV_USE_UNASKED, /* the VM has not asked for it: the engine may have it */
	INV_USE_ASKED,	 /* processes have it */
	INV_USE_SPENT,	 /* a limit is reached: remove */
};

/* The part that callbacks look at without knowing that the tracer lives. */
struct inv_slot {
	_Alignas(INV_CACHE_LINE) _Atomic uint64_t handle; /* 0: none */
	_Atomic uint8_t use;	  /* enum inv_use, which only grows */
	_Atomic uint64_t no_ring; /* events of threads without a ring */
	struct inv_tracer *tracer;
};

extern struct inv_slot inv_slots[INV_TRACERS_MAX];

static inline struct inv_slot *inv_slot_of(uint64_t handle)
{
	return &inv_slots[handle & (INV_TRACERS_MAX - 1)];
}

/* What a new tracer shall be; see inviso_tracer:open/2 for the meanings. */
struct inv_tracer_opts {
	uint64_t limit_events; /* UINT64_MAX: none */
	uint64_t limit_bytes;
	uint64_t limit_ns;   /* UINT64_MAX: none */
	uint32_t limit_rate; /* events a second; 0: none */
	uint32_t packet_bytes;
	uint32_t normal_slots; /* packets of a normal scheduler's ring */
	uint32_t dirty_slots;
	uint32_t max_bytes;
	uint32_t max_depth;
	uint32_t n_normal; /* of the rings, how many are normal schedulers' */
	enum inv_keep keep;
	bool light;
	char ring_path[INV_PATH_LEN]; /* "": memory */
	struct inv_ring_ctl spool;    /* its "what the spooler shall do" part */
};

int inv_tracers_load(ErlNifEnv *env); /* 0, or the library cannot be used */
bool inv_tracers_unload(void);	      /* false: a thread is in a tracer still */

/*
 * Opens a tracer kept by the calling process.  *what names the step that
 * failed when the result, an errno, is not 0.
 */
int inv_tracer_open(ErlNifEnv *env, const struct inv_tracer_opts *opts,
		    uint64_t *handle, const char **what);

/*
 * Opens one that delivers, kept by the calling process.  The delivery is taken
 * over, whether it succeeds or not.  0 or an errno.
 */
int inv_tracer_open_delivery(ErlNifEnv *env, struct inv_delivery *delivery,
			     uint64_t *handle);

/*
 * The limit of time counts from now on: at open, and again when the owner is
 * about to trace.  Of a tracer that is borrowed.
 */
void inv_tracer_begin(struct inv_tracer *t);

/* NULL, or the tracer, with the lock held until inv_tracer_release. */
struct inv_tracer *inv_tracer_borrow(uint64_t handle);
void inv_tracer_release(void);

void inv_tracer_retire(struct inv_tracer *t);
bool inv_tracer_quiet(const struct inv_tracer *t);

/*
 * Exchanges the filter of a tracer that is borrowed, and takes over the new one,
 * NULL for none.  Events that begin after it go by the new one.  Old ones are
 * freed when no thread holds them: now, at the next exchange, or with the tracer.
 */
void inv_tracer_exchange(struct inv_tracer *t, struct inv_event_filter *f);

/* Unmaps and forgets a tracer that is retired and quiet.  Ends the borrow. */
void inv_tracer_free(struct inv_tracer *t);

#endif
