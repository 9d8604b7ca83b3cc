/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_DELIVERY_H
#define INV_NIF_DELIVERY_H

#include <erl_nif.h>
#include <stdatomic.h>
#include <stdint.h>

#include "abi/ring.h"
#include "abi/tracer_call.h"

/*
 * A tracer that delivers: it sends each event to one process of this node, the
 * receiver, in this form:
 *
 *	{inviso_event, Bytes, Dropped, Message}
 *
 * Message is what the VM would send to a tracer process. The tracer sends while
 * the receiver has credit, in events and in bytes. Bytes is how much of the
 * credit this event has used (inv_weigh_term). When the receiver has handled
 * events, it gives back the credit that they have used. An event for which
 * there is no credit is dropped and counted. Dropped is the number of events
 * that were dropped before this one, so that the receiver can report the loss
 * at the right place among the events.
 *
 * A delivery takes no lock and allocates nothing itself. The events of one
 * traced process stay in order, because the VM keeps the order of a process's
 * signals. A callback may call enif_send with its environment although its
 * thread holds locks of the VM: the VM sends its own trace messages under the
 * same locks.
 */
enum inv_drop {
	INV_DROP_FULL,	  /* the receiver has no credit left */
	INV_DROP_TOO_BIG, /* the event is larger than max_copy, or than the
			     whole credit */
	INV_DROP_GONE,	  /* the receiver died */
	INV_DROPS
};

/* A thread's counters, written only by that thread. */
struct inv_delivery_lane {
	_Alignas(INV_CACHE_LINE) _Atomic uint64_t produced;
};

struct inv_delivery {
	ErlNifPid receiver;
	uint64_t max_copy;  /* the most bytes that may be copied for one
			       event */
	uint64_t max_bytes; /* the whole credit, in bytes */
	_Alignas(INV_CACHE_LINE) _Atomic int64_t events; /* remaining credit,
							    in events */
	_Atomic int64_t bytes; /* remaining credit, in bytes */
	_Alignas(INV_CACHE_LINE) _Atomic uint64_t dropped[INV_DROPS];
	struct inv_delivery_lane lanes[];
};

/*
 * Returns a delivery for n threads, or NULL if there is no memory. Free it with
 * inv_memory_free.
 */
struct inv_delivery *inv_delivery_make(const ErlNifPid *receiver, uint32_t n,
				       uint64_t events, uint64_t bytes,
				       uint64_t max_copy);

/* Delivers an event. `thread' is the index of the calling thread. */
void inv_delivery_event(struct inv_delivery *d, uint32_t thread,
			const struct inv_tracer_event *te);

/* Adds the credit that the receiver gives back, in events and bytes. */
void inv_delivery_credit(struct inv_delivery *d, uint64_t events,
			 uint64_t bytes);

uint64_t inv_delivery_produced(const struct inv_delivery *d, uint32_t n);

#endif
