/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_TRACER_H
#define INV_NIF_TRACER_H

#include <erl_nif.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/ring.h"
#include "base/likely.h"
#include "nif/delivery.h"
#include "nif/dict.h"
#include "nif/event_filter.h"
#include "nif/fresh.h"
#include "nif/memory.h"
#include "nif/redact.h"
#include "nif/starts.h"
#include "ring/producer.h"
#include "ring/rate.h"

/*
 * Tracers.  The VM knows a tracer by its handle, which is the tracer's state in
 * the behaviour erl_tracer.  A handle is a small integer, because the VM copies
 * the state for every tracee and, with a match spec, for every call.  The low
 * bits are the index of a slot in a static table.  The other bits are a number
 * that is never reused, so the handle of a closed tracer, or of an earlier load
 * of this library, never matches another tracer.
 *
 *      free --open--> open --retire--> retired --free--> free
 *                      |                  ^
 *                      +--keeper's death--+
 *
 * open     The handle is in the slot; callbacks record.
 *
 * retired  The handle is not in the slot: enabled/3 returns remove (when
 *          nif/retire.h allows it), and trace/5 does nothing.  When no thread
 *          is in a callback of the tracer, the library sets the state in the
 *          control page, which the spooler reads, and may free the memory.
 *
 * The functions from inv_tracer_open on take a lock, or work on a borrowed
 * tracer. Tracer callbacks never call these functions. NIFs that processes call
 * use them; the library itself does so when a keeper dies, and when the VM
 * unloads the library.
 */
#define INV_TRACERS_MAX 64u
#define INV_HANDLE_SLOT_BITS 6

struct inv_decide;
struct inv_open_calls;
struct inv_starters;
struct inv_tally;
struct inv_values;
struct inv_timing;

/* A thread's data for one tracer. Only this thread writes them, except that the
 * namer takes processes from `fresh'. */
struct inv_lane {
	_Alignas(INV_CACHE_LINE) struct inv_producer producer;
	uint32_t events_lease; /* leased from the tracer's limits */
	uint32_t bytes_lease;
	struct inv_packet_dict dict;
	struct inv_fresh fresh;
	uint32_t rate_lease;
	_Atomic uint64_t filtered;  /* events that the filter left out */
	_Atomic uint64_t undecided; /* events that were recorded because the
				       filter lacked facts to decide */
	_Atomic uint64_t redacted;  /* values that were replaced by a mark */
};

/* The size of a lease: how much of a tracer's limits a thread takes in advance
 * at a time. */
#define INV_LEASE_EVENTS 32u
#define INV_LEASE_BYTES 8192u

/* A tracer: it either records into rings, counts, or delivers. */
struct inv_tracer {
	uint64_t handle;
	bool elsewhere; /* the tracer counts or delivers, so no event gets into
			   a ring; set before the tracer traces a process */
	ErlNifPid keeper;
	bool ending; /* the keeper has died, so inv_tracer_borrow does not
			return the tracer */
	struct inv_delivery *delivery; /* NULL: the tracer records or counts,
					  and uses the fields below */
	struct inv_memory memory;
	int listener; /* socket on which a spooler gets the memory's descriptor;
			 -1 if the spooler can open the memory in /proc */
	struct inv_ring_ctl *ctl; /* the start of `memory' */
	uint32_t n_lanes;
	struct inv_lane *lanes;
	uint32_t max_bytes;   /* the most bytes of an encoded term */
	uint32_t more_binary; /* as in struct inv_encoder */
	uint32_t max_depth;
	bool light;
	bool limited;
	_Atomic uint8_t spent_by;    /* the limit that was reached first,
					enum inv_limit */
	uint64_t limit_ns;	     /* time limit; UINT64_MAX: none */
	_Atomic uint64_t until;	     /* inv_mono_ns() at which the time limit is
				     reached */
	_Atomic int64_t events_left; /* how many events can still be leased, if
					their number is limited */
	_Atomic int64_t bytes_left;
	struct inv_rate *rate;			   /* the limit of events a
						      second; NULL: none */
	struct inv_redaction *redaction;	   /* NULL: no rules */
	_Atomic(struct inv_event_filter *) filter; /* NULL: all events are
						      wanted */
	struct inv_event_filter *retired;
	/* The table of open calls. NULL until a function is traced with the
	 * ends of its calls, or if there is no bound (nif/bound.h). */
	_Atomic(struct inv_open_calls *) open_calls;
	/* The table of open calls, even while open_calls is still NULL.
	 * Protected by the lock. */
	struct inv_open_calls *bound;
	/* NULL: there are no rules, so all calls are recorded when they begin
	 * (nif/decide.h). Set before the tracer traces a process. */
	struct inv_decide *decide;
	/* NULL: the tracer does not count events (nif/tally.h). It does not
	 * change after it was set. */
	_Atomic(struct inv_tally *) tally;
	/* NULL: the tracer makes no histograms (nif/times.h). Set before
	 * tally. */
	struct inv_timing *timing;
	/* True: the histograms are of numbers that match specs report, not of
	 * times. Set before tally. */
	bool numbers;
	/* True: calls are counted by how they end (nif/results.h). Set before
	 * tally. */
	bool results;
	/* NULL: the tracer has no start handle (nif/starts.h). It does not
	 * change after it was set. */
	_Atomic(struct inv_starters *) starters;
	/* NULL: the tally's keys are not values (nif/value_key.h). Set before
	 * tally. */
	struct inv_values *values;
};

/* Which limit was reached first. */
enum inv_limit {
	INV_LIMIT_NONE,
	INV_LIMIT_EVENTS,
	INV_LIMIT_BYTES,
	INV_LIMIT_TIME,
};

/* What callbacks need to know about the state of a tracer. */
enum inv_use {
	INV_USE_UNASKED, /* the VM has not called enabled/3 for the tracer; only
			    the engine may use the tracer */
	INV_USE_ASKED,	 /* the VM has called enabled/3, so processes may be
			    traced with the tracer */
	INV_USE_SPENT,	 /* a limit is reached: enabled/3 returns remove */
};

/* An entry of the table of tracers. Callbacks may read an entry even after its
 * tracer was freed. */
struct inv_slot {
	/* handle of the slot's tracer; 0: none */
	_Alignas(INV_CACHE_LINE) _Atomic uint64_t handle;
	_Atomic ERL_NIF_TERM
		word;	     /* the handle as a term. It is an immediate, so two
				equal handles are the same word */
	_Atomic uint8_t use; /* enum inv_use; only increases */
	_Atomic bool holds;  /* processes may be held (nif/bound.h) */
	_Atomic uint64_t left_out; /* how many calls and ends of calls the bound
				      on open calls has left out */
	_Atomic uint64_t no_ring;  /* events of threads without a ring */
	struct inv_starts starts;
	struct inv_tracer *tracer;
};

extern INV_HIDDEN struct inv_slot inv_slots[INV_TRACERS_MAX];

/*
 * Guesses the slot of a tracer. `state' is the tracer's state as the VM passes
 * it: a small integer, whose value is in the bits above its tag. So no function
 * of the VM is needed to read it. If the guess is wrong, inv_slot_has returns
 * false, and the caller reads the state with the VM's function, which is
 * slower.
 */
#define INV_SMALL_SHIFT 4

static inline struct inv_slot *inv_slot_guess(ERL_NIF_TERM state)
{
	return &inv_slots[state >> INV_SMALL_SHIFT & (INV_TRACERS_MAX - 1)];
}

static inline bool inv_slot_has(const struct inv_slot *slot, ERL_NIF_TERM state)
{
	return atomic_load_explicit(&slot->word, memory_order_acquire) == state;
}

static inline struct inv_slot *inv_slot_of(uint64_t handle)
{
	return &inv_slots[handle & (INV_TRACERS_MAX - 1)];
}

/* Options of a new tracer, as inviso_tracer:open/2 documents them. */
struct inv_tracer_opts {
	uint64_t limit_events; /* UINT64_MAX: none */
	uint64_t limit_bytes;
	uint64_t limit_ns;   /* UINT64_MAX: none */
	uint32_t limit_rate; /* the most events a second; 0: no limit */
	uint32_t packet_bytes;
	uint32_t normal_slots; /* how many packets a normal scheduler's ring
				  has */
	uint32_t dirty_slots;
	uint32_t large_slots; /* how many large slots; 0: none */
	uint32_t large_bytes; /* size of each large slot */
	uint32_t max_bytes;
	uint32_t max_depth;
	uint32_t n_normal; /* how many of the rings are for normal schedulers */
	enum inv_keep keep;
	bool light;
	char redact[INV_REDACT_RULES]; /* rules; "": none */
	char ring_path[INV_PATH_LEN];  /* path of the ring file; "": the
					  rings are in memory without a file */
	struct inv_ring_ctl spool;     /* only the spooler's options in this
					  struct are used */
};

int inv_tracers_load(ErlNifEnv *env); /* Returns 0, or an error if the library
					 cannot be used. */
bool inv_tracers_unload(void);	      /* Returns false if a thread still uses a
					 tracer. */

/*
 * Opens a tracer whose keeper is the calling process.  Returns 0, or an errno
 * with the failing step in *what. If the redaction rules are wrong, *err has a
 * text; otherwise *err is not changed.
 */
int inv_tracer_open(ErlNifEnv *env, const struct inv_tracer_opts *opts,
		    uint64_t *handle, const char **what, struct inv_err *err);

/*
 * Opens a tracer that delivers; its keeper is the calling process. Returns 0 or
 * an errno. The tracer owns `delivery'; if opening fails, `delivery' is freed.
 */
int inv_tracer_open_delivery(ErlNifEnv *env, struct inv_delivery *delivery,
			     uint64_t *handle);

/*
 * Starts the time limit of a borrowed tracer now. Called when the tracer is
 * opened, and again before the tracer's owner begins to trace.
 */
void inv_tracer_begin(struct inv_tracer *t);

/* Takes the lock and returns the tracer, which is then borrowed;
 * inv_tracer_release gives back the lock. Returns NULL, without the lock, if
 * there is no such tracer. */
struct inv_tracer *inv_tracer_borrow(uint64_t handle);
struct inv_tracer *inv_tracer_at(uint32_t slot); /* borrows the tracer in the
						    slot */
void inv_tracer_release(void);

/* inv_tracer_retire retires a borrowed tracer. Afterwards, inv_tracer_quiet
 * returns true if no thread is in a callback of the tracer any more. */
void inv_tracer_retire(struct inv_tracer *t);
bool inv_tracer_quiet(const struct inv_tracer *t);

/*
 * Replaces the filter of a borrowed tracer by f, which the tracer then owns. If
 * f is NULL, the tracer has no filter afterwards. Callbacks that begin
 * afterwards use f. The old filter is freed as soon as this function finds that
 * no thread uses it: now, at the next exchange, or when the tracer is freed.
 */
void inv_tracer_exchange(struct inv_tracer *t, struct inv_event_filter *f);

/* Unmaps and frees a tracer that is borrowed and retired, and that no thread
 * uses. Gives back the lock. */
void inv_tracer_free(struct inv_tracer *t);

#endif
