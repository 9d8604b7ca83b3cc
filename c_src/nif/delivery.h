/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_DELIVERY_H
#define INV_NIF_DELIVERY_H

#include <erl_nif.h>
#include <stdatomic.h>
#include <stdint.h>

#include "abi/ring.h"
#include "abi/tracer_call.h"

/*
 * A tracer that delivers: each event becomes the message that the VM's own
 * tracer process would get, and is sent to one process of this node, wrapped:
 *
 *	{inviso_event, Bytes, Dropped, Message}
 *
 * while that process, the receiver, has credit: so many events and so many
 * bytes (inv_weigh_term) that it has not yet given back.  Without credit an
 * event is dropped and counted.  Dropped is how many were before this one, so
 * that a loss can be told in place.
 *
 * No lock and no allocation of ours; the order of a traced process' events is
 * kept, as the VM keeps that of its signals.  enif_send with the callback's
 * environment is what the VM's own tracer does in all of these places, with
 * whatever locks are held there.
 */
enum inv_drop {
	INV_DROP_FULL,	  /* the receiver has no credit left */
	INV_DROP_TOO_BIG, /* more than an event may be, or than credit can be */
	INV_DROP_GONE,	  /* the receiver died */
	INV_DROPS
};

/* A thread's counter, written by that thread alone. */
struct inv_delivery_lane {
	_Alignas(INV_CACHE_LINE) _Atomic uint64_t produced;
};

struct inv_delivery {
	ErlNifPid receiver;
	uint64_t max_copy;  /* bytes of an event that are copied */
	uint64_t max_bytes; /* all of the credit */
	_Alignas(INV_CACHE_LINE) _Atomic int64_t events; /* credit */
	_Atomic int64_t bytes;
	_Alignas(INV_CACHE_LINE) _Atomic uint64_t dropped[INV_DROPS];
	struct inv_delivery_lane lanes[];
};

/* For n threads; NULL: no memory.  Freed with inv_memory_free. */
struct inv_delivery *inv_delivery_make(const ErlNifPid *receiver, uint32_t n,
				       uint64_t events, uint64_t bytes,
				       uint64_t max_copy);

/* An event, in the thread of that index. */
void inv_delivery_event(struct inv_delivery *d, uint32_t thread,
			const struct inv_tracer_event *te);

/* The receiver has done with events, and with so many bytes in them. */
void inv_delivery_credit(struct inv_delivery *d, uint64_t events,
			 uint64_t bytes);

uint64_t inv_delivery_produced(const struct inv_delivery *d, uint32_t n);

#endif
