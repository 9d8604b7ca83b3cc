/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/tracer.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "abi/options.h"
#include "base/clock.h"
#include "nif/decide.h"
#include "nif/thread.h"
#include "nif/times.h"
#include "ring/layout.h"
#include "vm/open_calls.h"
#include "vm/starters.h"
#include "vm/tally.h"
#include "vm/values.h"

struct inv_slot inv_slots[INV_TRACERS_MAX];

/* Only NIFs that processes call take this lock, never callbacks. */
static ErlNifMutex *lock;
static uint64_t next_number;

/* A resource that monitors a keeper: the VM calls keeper_down when the keeper
 * dies. */
struct guard {
	uint64_t handle;
};
static ErlNifResourceType *guard_type;
static struct guard *guards[INV_TRACERS_MAX];

static void tell_spooler(struct inv_tracer *t)
{
	if (t->ctl)
		atomic_store_explicit(&t->ctl->state, INV_TRACER_OWNER_DIED,
				      memory_order_release);
}

/*
 * Ends a tracer whose keeper is dead. The tracer may be freed only when no
 * thread is in one of its callbacks. A living keeper would wait for that; here
 * this function waits, for at most a second. Meanwhile the lock is free, but
 * inv_tracer_borrow does not return the tracer. An event takes microseconds,
 * but the kernel may have preempted its thread; sleeping lets that thread run.
 * An event that is committed after the spooler has last read the ring is lost,
 * and counted as unfinished.
 *
 * Gives back the lock. Returns false if a thread is still in a callback of the
 * tracer. In this case the tracer's memory and the library stay mapped, because
 * unmapping them would crash the thread.
 */
static bool end_unattended(struct inv_tracer *t)
{
	int i;

	inv_tracer_retire(t);
	t->ending = true;
	inv_tracer_release();
	for (i = 0; i < 100 && !inv_tracer_quiet(t); i++)
		sched_yield();
	for (i = 0; i < 1000 && !inv_tracer_quiet(t); i++)
		(void)poll(NULL, 0, 1);
	enif_mutex_lock(lock);
	t->ending = false;
	tell_spooler(t);
	if (inv_tracer_quiet(t)) {
		inv_tracer_free(t);
		return true;
	}
	inv_tracer_release();
	return false;
}

static void keeper_down(ErlNifEnv *env, void *obj, ErlNifPid *pid,
			ErlNifMonitor *mon)
{
	const struct guard *guard = obj;
	struct inv_tracer *t = inv_tracer_borrow(guard->handle);

	(void)env;
	(void)pid;
	(void)mon;
	if (t)
		(void)end_unattended(t);
}

int inv_tracers_load(ErlNifEnv *env)
{
	static const ErlNifResourceTypeInit init = { .down = keeper_down };

	/*
	 * If an instance of the library is loaded already, the new instance
	 * takes over its resource type.
	 */
	guard_type = enif_open_resource_type_x(
		env, "inviso_tracer",
		(ErlNifResourceTypeInit *)(uintptr_t)&init,
		ERL_NIF_RT_CREATE | ERL_NIF_RT_TAKEOVER, NULL);
	if (!guard_type)
		return -1;
	if (lock)
		return 0;
	lock = enif_mutex_create((char *)(uintptr_t) "inviso_tracers");
	/*
	 * The numbers of tracers start at the time in microseconds, in 48 bits.
	 * So a number that an earlier load of the library used is not used
	 * again for 8 years.
	 */
	next_number = inv_real_ns() / 1000 & 0xffffffffffffu;
	return lock ? 0 : -1;
}

/*
 * Ends all tracers. Returns false if a thread still uses a tracer. When the VM
 * unloads the library, no thread is in a callback that the VM called. But a
 * thread can still be in keeper_down(), or in a function that the library
 * exports for the engine.
 */
bool inv_tracers_unload(void)
{
	bool all = true;
	unsigned i;

	for (i = 0; i < INV_TRACERS_MAX; i++) {
		enif_mutex_lock(lock);
		while (inv_slots[i].tracer && inv_slots[i].tracer->ending) {
			enif_mutex_unlock(lock);
			(void)poll(NULL, 0, 1);
			enif_mutex_lock(lock);
		}
		if (inv_slots[i].tracer)
			all = end_unattended(inv_slots[i].tracer) && all;
		else
			enif_mutex_unlock(lock);
	}
	enif_mutex_destroy(lock);
	lock = NULL;
	return all;
}

struct inv_tracer *inv_tracer_at(uint32_t slot)
{
	struct inv_tracer *t;

	enif_mutex_lock(lock);
	t = inv_slots[slot].tracer;
	if (t && !t->ending)
		return t;
	enif_mutex_unlock(lock);
	return NULL;
}

struct inv_tracer *inv_tracer_borrow(uint64_t handle)
{
	struct inv_tracer *t = inv_tracer_at(handle & (INV_TRACERS_MAX - 1));

	if (!t || t->handle == handle)
		return t;
	enif_mutex_unlock(lock);
	return NULL;
}

void inv_tracer_release(void)
{
	enif_mutex_unlock(lock);
}

static uint32_t slot_number(const struct inv_tracer *t)
{
	return (uint32_t)(t->handle & (INV_TRACERS_MAX - 1));
}

void inv_tracer_retire(struct inv_tracer *t)
{
	struct inv_slot *slot = inv_slot_of(t->handle);

	atomic_store(&slot->word, 0);
	atomic_store(&slot->handle, 0);
	inv_threads_barrier();
	if (t->ctl)
		atomic_store_explicit(&t->ctl->no_ring,
				      atomic_load(&slot->no_ring),
				      memory_order_relaxed);
}

bool inv_tracer_quiet(const struct inv_tracer *t)
{
	return !inv_threads_busy(slot_number(t));
}

void inv_tracer_exchange(struct inv_tracer *t, struct inv_event_filter *f)
{
	struct inv_event_filter **at = &t->retired;
	struct inv_event_filter *old = atomic_exchange(&t->filter, f);

	if (old) {
		old->next = t->retired;
		t->retired = old;
	}
	inv_threads_barrier();
	while (*at) {
		old = *at;
		if (inv_threads_hold(old)) {
			at = &old->next;
		} else {
			*at = old->next;
			inv_event_filter_free(old);
		}
	}
}

static void free_parts(struct inv_tracer *t)
{
	inv_tracer_exchange(t, NULL);
	inv_open_calls_free(t->bound);
	inv_decide_free(t->decide);
	inv_tally_free(t->tally);
	inv_values_free(t->values);
	inv_timing_free(t->timing);
	inv_starters_free(t->starters);
	inv_memory_free(t->rate);
	inv_memory_free(t->redaction);
	inv_memory_free(t->lanes);
	inv_memory_free(t->delivery);
	inv_memory_free(t);
}

/*
 * Removes the tracer from the table, gives back the lock, and unmaps the
 * tracer. Unmapping takes long, so it is done without the lock.
 */
void inv_tracer_free(struct inv_tracer *t)
{
	uint32_t n = slot_number(t);
	struct guard *guard = guards[n];

	inv_slots[n].tracer = NULL;
	guards[n] = NULL;
	enif_mutex_unlock(lock);
	if (t->listener >= 0)
		close(t->listener);
	if (t->ctl)
		inv_memory_close(&t->memory);
	free_parts(t);
	if (guard)
		enif_release_resource(guard);
}

static int make_lanes(struct inv_tracer *t)
{
	uint32_t i;

	t->lanes = inv_memory_alloc(t->n_lanes * sizeof(*t->lanes));
	if (!t->lanes)
		return ENOMEM;
	for (i = 0; i < t->n_lanes; i++) {
		inv_producer_init(&t->lanes[i].producer, t->memory.map, i);
		inv_packet_dict_clear(&t->lanes[i].dict);
		memset(&t->lanes[i].fresh, 0, sizeof(t->lanes[i].fresh));
	}
	return 0;
}

/* Writes the tracer's data and the spooler's options into the control page. */
static void fill_ctl(struct inv_ring_ctl *ctl,
		     const struct inv_tracer_opts *opts)
{
	const struct inv_ring_ctl *from = &opts->spool;

	if (getrandom(ctl->uuid, sizeof(ctl->uuid), 0) !=
	    (ssize_t)sizeof(ctl->uuid))
		memcpy(ctl->uuid, &next_number, sizeof(next_number));
	ctl->vm_pid = getpid();
	ctl->vm_start = inv_memory_vm_start();
	ctl->vm_pid_ns = inv_memory_vm_pid_ns();
	ctl->creation = from->creation;
	ctl->codec = from->codec;
	ctl->level = from->level;
	ctl->drain_ms = from->drain_ms;
	ctl->flush_ms = from->flush_ms;
	ctl->rotate_bytes = from->rotate_bytes;
	ctl->rotate_ns = from->rotate_ns;
	ctl->rotate_count = from->rotate_count;
	ctl->replace = from->replace;
	memcpy(ctl->node, from->node, sizeof(ctl->node));
	memcpy(ctl->otp_release, from->otp_release, sizeof(ctl->otp_release));
	memcpy(ctl->erts_version, from->erts_version,
	       sizeof(ctl->erts_version));
	memcpy(ctl->path, from->path, sizeof(ctl->path));
	inv_layout_publish(ctl);
}

static int make_memory(struct inv_tracer *t, const struct inv_tracer_opts *opts,
		       const char **what)
{
	uint32_t *n_slots;
	uint64_t large;
	uint64_t len;
	uint32_t i;
	int error;

	*what = "allocate";
	n_slots = enif_alloc(t->n_lanes * sizeof(*n_slots));
	if (!n_slots)
		return ENOMEM;
	for (i = 0; i < t->n_lanes; i++)
		n_slots[i] = i < opts->n_normal ? opts->normal_slots :
						  opts->dirty_slots;
	*what = "layout";
	error = EINVAL;
	len = inv_layout_len(t->n_lanes, n_slots, opts->packet_bytes);
	if (len == 0)
		goto out;
	large = inv_layout_large_len(opts->large_slots, opts->large_bytes);
	if (opts->large_slots > 0 && large == 0)
		goto out;
	len += large;
	error = inv_memory_open(&t->memory, opts->ring_path, len, what);
	if (error)
		goto out;
	t->ctl = t->memory.map;
	inv_layout_init(t->ctl, t->n_lanes, n_slots, opts->packet_bytes,
			opts->keep);
	if (large > 0)
		inv_layout_add_large(t->ctl, opts->large_slots,
				     opts->large_bytes);
	fill_ctl(t->ctl, opts);
out:
	enif_free(n_slots);
	return error;
}

static int64_t limit(uint64_t n)
{
	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

void inv_tracer_begin(struct inv_tracer *t)
{
	uint64_t now = inv_mono_ns();
	uint64_t until = UINT64_MAX;

	if (t->limit_ns < UINT64_MAX - now)
		until = now + t->limit_ns;
	atomic_store_explicit(&t->until, until, memory_order_relaxed);
}

static int make_limits(struct inv_tracer *t, const struct inv_tracer_opts *opts)
{
	t->limited = opts->limit_events != UINT64_MAX ||
		     opts->limit_bytes != UINT64_MAX ||
		     opts->limit_ns != UINT64_MAX || opts->limit_rate > 0;
	t->limit_ns = opts->limit_ns;
	inv_tracer_begin(t);
	t->events_left = limit(opts->limit_events);
	t->bytes_left = limit(opts->limit_bytes);
	if (opts->limit_rate == 0)
		return 0;
	t->rate = inv_memory_alloc(sizeof(*t->rate));
	if (!t->rate)
		return ENOMEM;
	inv_rate_init(t->rate, opts->limit_rate, inv_mono_ns());
	return 0;
}

static int make_redaction(struct inv_tracer *t,
			  const struct inv_tracer_opts *opts,
			  struct inv_err *err)
{
	struct inv_redact *rules;

	if (opts->redact[0] == '\0')
		return 0;
	t->redaction = inv_memory_alloc(sizeof(*t->redaction));
	if (!t->redaction)
		return ENOMEM;
	rules = &t->redaction->rules;
	if (inv_redact_parse(rules, opts->redact, strlen(opts->redact), NULL,
			     err))
		return EINVAL;
	if (inv_redact_any(rules))
		return 0;
	inv_memory_free(t->redaction);
	t->redaction = NULL;
	return 0;
}

/*
 * Gives the tracer a slot and a handle. The calling process becomes the
 * tracer's keeper.
 */
static int take_slot(ErlNifEnv *env, struct inv_tracer *t)
{
	struct guard *guard;
	uint32_t n;

	enif_self(env, &t->keeper);
	guard = enif_alloc_resource(guard_type, sizeof(*guard));
	if (!guard)
		return ENOMEM;
	enif_mutex_lock(lock);
	for (n = 0; n < INV_TRACERS_MAX && inv_slots[n].tracer; n++)
		;
	if (n == INV_TRACERS_MAX) {
		enif_mutex_unlock(lock);
		enif_release_resource(guard);
		return EUSERS;
	}
	next_number = (next_number + 1) & 0xffffffffffffu;
	t->handle = next_number << INV_HANDLE_SLOT_BITS | n;
	guard->handle = t->handle;
	guards[n] = guard;
	inv_slots[n].tracer = t;
	atomic_store(&inv_slots[n].use, INV_USE_UNASKED);
	atomic_store(&inv_slots[n].no_ring, 0);
	atomic_store(&inv_slots[n].holds, false);
	atomic_store(&inv_slots[n].left_out, 0);
	inv_starts_clear(&inv_slots[n].starts);
	atomic_store(&inv_slots[n].handle, t->handle);
	atomic_store(&inv_slots[n].word, enif_make_uint64(env, t->handle));
	enif_mutex_unlock(lock);
	return 0;
}

/*
 * Monitors the keeper, which is the calling process. Returns false if this
 * process is exiting, because then it would never close the tracer.
 */
static bool watch_keeper(ErlNifEnv *env, const struct inv_tracer *t)
{
	return enif_monitor_process(env, guards[slot_number(t)], &t->keeper,
				    NULL) == 0;
}

int inv_tracer_open(ErlNifEnv *env, const struct inv_tracer_opts *opts,
		    uint64_t *handle, const char **what, struct inv_err *err)
{
	struct inv_tracer *t;
	int error;

	*what = "allocate";
	t = inv_memory_alloc(sizeof(*t));
	if (!t)
		return ENOMEM;
	t->listener = -1;
	t->n_lanes = inv_threads_count();
	t->max_bytes = opts->max_bytes;
	if (t->max_bytes > INV_TERM_MAX) {
		t->max_bytes = INV_TERM_MAX;
		t->more_binary = opts->max_bytes;
	}
	t->max_depth = opts->max_depth;
	t->light = opts->light;
	error = make_limits(t, opts);
	if (error)
		goto err;
	error = make_redaction(t, opts, err);
	if (error)
		goto err;
	error = make_memory(t, opts, what);
	if (error)
		goto err;
	*what = "allocate";
	error = make_lanes(t);
	if (error)
		goto err_memory;
	*what = "tracers";
	error = take_slot(env, t);
	if (error)
		goto err_memory;
	*handle = t->handle;
	if (watch_keeper(env, t))
		return 0;
	enif_mutex_lock(lock);
	inv_tracer_retire(t);
	inv_tracer_free(t);
	if (opts->ring_path[0] != '\0')
		unlink(opts->ring_path);
	return ESRCH;

err_memory:
	if (opts->ring_path[0] != '\0')
		unlink(opts->ring_path);
	inv_memory_close(&t->memory);
err:
	free_parts(t);
	return error;
}

int inv_tracer_open_delivery(ErlNifEnv *env, struct inv_delivery *delivery,
			     uint64_t *handle)
{
	struct inv_tracer *t;
	int error;

	t = inv_memory_alloc(sizeof(*t));
	if (!t) {
		inv_memory_free(delivery);
		return ENOMEM;
	}
	t->listener = -1;
	t->n_lanes = inv_threads_count();
	t->delivery = delivery;
	t->elsewhere = true;
	error = take_slot(env, t);
	if (error) {
		free_parts(t);
		return error;
	}
	*handle = t->handle;
	if (watch_keeper(env, t))
		return 0;
	enif_mutex_lock(lock);
	inv_tracer_retire(t);
	inv_tracer_free(t);
	return ESRCH;
}
