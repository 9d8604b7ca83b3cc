/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/delivery.h"

#include <stdbool.h>

#include "nif/atoms.h"
#include "nif/memory.h"
#include "nif/weigh.h"

/* An upper bound of the size of a message without the event's own terms: the
 * head of the message, and the tuples that this file makes. */
#define MESSAGE_BYTES 256

/* The elements of the longest message: trace, tracee, tag, message, extra,
 * match spec's result, scheduler, timestamp. */
#define ELEMENTS_MAX 8

struct inv_delivery *inv_delivery_make(const ErlNifPid *receiver, uint32_t n,
				       uint64_t events, uint64_t bytes,
				       uint64_t max_copy)
{
	struct inv_delivery *d;

	d = inv_memory_alloc(sizeof(*d) + n * sizeof(d->lanes[0]));
	if (!d)
		return NULL;
	d->receiver = *receiver;
	d->max_copy = max_copy;
	d->max_bytes = bytes;
	atomic_init(&d->events, (int64_t)events);
	atomic_init(&d->bytes, (int64_t)bytes);
	return d;
}

static bool take(_Atomic int64_t *credit, int64_t n)
{
	int64_t left = atomic_load_explicit(credit, memory_order_relaxed);

	while (left >= n)
		if (atomic_compare_exchange_weak_explicit(
			    credit, &left, left - n, memory_order_relaxed,
			    memory_order_relaxed))
			return true;
	return false;
}

static void give(_Atomic int64_t *credit, uint64_t n)
{
	atomic_fetch_add_explicit(credit, (int64_t)n, memory_order_relaxed);
}

void inv_delivery_credit(struct inv_delivery *d, uint64_t events,
			 uint64_t bytes)
{
	give(&d->bytes, bytes);
	give(&d->events, events);
}

uint64_t inv_delivery_produced(const struct inv_delivery *d, uint32_t n)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		sum += atomic_load_explicit(&d->lanes[i].produced,
					    memory_order_acquire);
	return sum;
}

static void drop(struct inv_delivery *d, enum inv_drop why)
{
	atomic_fetch_add_explicit(&d->dropped[why], 1, memory_order_relaxed);
}

static uint64_t dropped(const struct inv_delivery *d)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < INV_DROPS; i++)
		sum += atomic_load_explicit(&d->dropped[i],
					    memory_order_relaxed);
	return sum;
}

/*
 * Returns the time in the unit of the VM's own trace messages: the native time
 * unit, which is 1 ns on Linux.
 */
static ERL_NIF_TERM monotonic(ErlNifEnv *env)
{
	return enif_make_int64(env, enif_monotonic_time(ERL_NIF_NSEC));
}

static ERL_NIF_TERM timestamp(ErlNifEnv *env, ERL_NIF_TERM kind)
{
	if (kind == inv_am_monotonic)
		return monotonic(env);
	if (kind == inv_am_strict_monotonic)
		return enif_make_tuple2(env, monotonic(env),
					enif_make_unique_integer(
						env, ERL_NIF_UNIQUE_MONOTONIC));
	if (kind == inv_am_cpu_timestamp)
		return enif_cpu_time(env);
	return enif_now_time(env);
}

/*
 * Collects the elements of the message for the event te, without the timestamp.
 * Returns the number of the elements.
 */
static unsigned elements(const struct inv_tracer_event *te,
			 ERL_NIF_TERM element[ELEMENTS_MAX])
{
	unsigned n = 0;

	if (te->tag == inv_am_seq_trace) {
		element[n++] = inv_am_seq_trace;
		element[n++] = te->tracee;
		element[n++] = te->content;
		return n;
	}
	element[n++] = te->timestamp ? inv_am_trace_ts : inv_am_trace;
	element[n++] = te->tracee;
	element[n++] = te->tag;
	element[n++] = te->content;
	if (te->extra)
		element[n++] = te->extra;
	if (te->value)
		element[n++] = te->value;
	if (te->scheduler)
		element[n++] = te->scheduler;
	return n;
}

/*
 * Takes as many bytes of the credit as the event needs, and returns their
 * number. If the credit does not suffice, returns 0 with the reason in *why.
 */
static uint64_t weight(struct inv_delivery *d, ErlNifEnv *env,
		       const ERL_NIF_TERM element[], unsigned n,
		       enum inv_drop *why)
{
	int64_t left = atomic_load_explicit(&d->bytes, memory_order_relaxed) -
		       MESSAGE_BYTES;
	uint64_t limit = left > 0 ? (uint64_t)left : 0;
	struct inv_weighing w = { .env = env };
	uint64_t bytes;
	unsigned i;

	*why = INV_DROP_FULL;
	if (limit >= d->max_copy) {
		limit = d->max_copy;
		*why = INV_DROP_TOO_BIG;
	}
	w.copy_left = limit;
	for (i = 1; i < n; i++)
		if (!inv_weigh_term(&w, element[i]))
			return 0;
	bytes = MESSAGE_BYTES + limit - w.copy_left + w.kept;
	if (bytes > d->max_bytes) {
		*why = INV_DROP_TOO_BIG;
		return 0;
	}
	*why = INV_DROP_FULL;
	return take(&d->bytes, (int64_t)bytes) ? bytes : 0;
}

void inv_delivery_event(struct inv_delivery *d, uint32_t thread,
			const struct inv_tracer_event *te)
{
	_Atomic uint64_t *produced = &d->lanes[thread].produced;
	ERL_NIF_TERM element[ELEMENTS_MAX];
	ErlNifEnv *env = te->env;
	ERL_NIF_TERM message;
	enum inv_drop why;
	uint64_t bytes;
	unsigned n;

	/* The receiver gets no events about itself. The VM does not send such
	 * events to a tracer process either. */
	if (te->tracee == enif_make_pid(env, &d->receiver))
		return;
	/*
	 * Release: a thread that reads this count also sees the counts of
	 * dropped events that were written before it.
	 */
	atomic_store_explicit(
		produced,
		atomic_load_explicit(produced, memory_order_relaxed) + 1,
		memory_order_release);
	/*
	 * If there are too many events, there is no credit for most of them. So
	 * the credit of events is checked first: this takes less time than to
	 * weigh the event.
	 */
	if (!take(&d->events, 1)) {
		drop(d, INV_DROP_FULL);
		return;
	}
	n = elements(te, element);
	bytes = weight(d, env, element, n, &why);
	if (bytes == 0) {
		give(&d->events, 1);
		drop(d, why);
		return;
	}
	if (te->timestamp)
		element[n++] = timestamp(env, te->timestamp);
	message = enif_make_tuple_from_array(env, element, n);
	message = enif_make_tuple4(env, inv_am_inviso_event,
				   enif_make_uint64(env, bytes),
				   enif_make_uint64(env, dropped(d)), message);
	if (!enif_send(env, &d->receiver, NULL, message))
		drop(d, INV_DROP_GONE);
}
