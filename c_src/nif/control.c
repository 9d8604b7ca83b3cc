/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/control.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nif/atoms.h"
#include "nif/count.h"
#include "nif/offer.h"
#include "nif/tracer.h"

static ERL_NIF_TERM u64(ErlNifEnv *env, uint64_t v)
{
	return enif_make_uint64(env, v);
}

static ERL_NIF_TERM text(ErlNifEnv *env, const char *s)
{
	size_t n = strlen(s);
	ERL_NIF_TERM term;

	memcpy(enif_make_new_binary(env, n, &term), s, n);
	return term;
}

/* The tracer of the handle in term, borrowed. */
static struct inv_tracer *borrow(ErlNifEnv *env, ERL_NIF_TERM term)
{
	ErlNifUInt64 handle;

	if (!enif_get_uint64(env, term, &handle) || handle == 0)
		return NULL;
	return inv_tracer_borrow(handle);
}

static ERL_NIF_TERM error(ErlNifEnv *env, ERL_NIF_TERM reason)
{
	return enif_make_tuple2(env, inv_am_error, reason);
}

/* A binary into a text of the control page. */
static bool get_text(ErlNifEnv *env, ERL_NIF_TERM term, char *to, size_t size)
{
	ErlNifBinary bin;

	if (!enif_inspect_binary(env, term, &bin) || bin.size >= size ||
	    memchr(bin.data, 0, bin.size))
		return false;
	memcpy(to, bin.data, bin.size);
	to[bin.size] = '\0';
	return true;
}

static bool get_texts(ErlNifEnv *env, ERL_NIF_TERM term,
		      struct inv_tracer_opts *o)
{
	const ERL_NIF_TERM *t;
	int n;

	return enif_get_tuple(env, term, &n, &t) && n == 5 &&
	       get_text(env, t[0], o->spool.path, sizeof(o->spool.path)) &&
	       get_text(env, t[1], o->ring_path, sizeof(o->ring_path)) &&
	       get_text(env, t[2], o->spool.node, sizeof(o->spool.node)) &&
	       get_text(env, t[3], o->spool.otp_release,
			sizeof(o->spool.otp_release)) &&
	       get_text(env, t[4], o->spool.erts_version,
			sizeof(o->spool.erts_version));
}

/* The numbers, in the order in which inviso_tracer:open/2 lists them. */
enum number {
	N_KEEP,
	N_LIGHT,
	N_NORMAL,
	N_NORMAL_SLOTS,
	N_DIRTY_SLOTS,
	N_PACKET_BYTES,
	N_MAX_BYTES,
	N_MAX_DEPTH,
	N_LIMIT_EVENTS,
	N_LIMIT_BYTES,
	N_CODEC,
	N_LEVEL,
	N_DRAIN_MS,
	N_FLUSH_MS,
	N_ROTATE_BYTES,
	N_ROTATE_NS,
	N_ROTATE_COUNT,
	N_REPLACE,
	N_CREATION,
	N_NUMBERS
};

static bool get_numbers(ErlNifEnv *env, ERL_NIF_TERM term,
			struct inv_tracer_opts *o)
{
	ErlNifUInt64 n[N_NUMBERS];
	const ERL_NIF_TERM *t;
	int arity;
	int i;

	if (!enif_get_tuple(env, term, &arity, &t) || arity != N_NUMBERS)
		return false;
	for (i = 0; i < N_NUMBERS; i++)
		if (!enif_get_uint64(env, t[i], &n[i]))
			return false;
	if (n[N_MAX_DEPTH] < 1 || n[N_MAX_DEPTH] > 128)
		return false;
	o->keep = n[N_KEEP] ? INV_KEEP_NEWEST : INV_KEEP_OLDEST;
	o->light = n[N_LIGHT] != 0;
	o->n_normal = (uint32_t)n[N_NORMAL];
	o->normal_slots = (uint32_t)n[N_NORMAL_SLOTS];
	o->dirty_slots = (uint32_t)n[N_DIRTY_SLOTS];
	o->packet_bytes = (uint32_t)n[N_PACKET_BYTES];
	o->max_bytes = (uint32_t)n[N_MAX_BYTES];
	o->max_depth = (uint32_t)n[N_MAX_DEPTH];
	o->limit_events = n[N_LIMIT_EVENTS];
	o->limit_bytes = n[N_LIMIT_BYTES];
	o->spool.codec = (uint32_t)n[N_CODEC];
	o->spool.level = (int32_t)n[N_LEVEL];
	o->spool.drain_ms = (uint32_t)n[N_DRAIN_MS];
	o->spool.flush_ms = (uint32_t)n[N_FLUSH_MS];
	o->spool.rotate_bytes = n[N_ROTATE_BYTES];
	o->spool.rotate_ns = n[N_ROTATE_NS];
	o->spool.rotate_count = (uint32_t)n[N_ROTATE_COUNT];
	o->spool.replace = (uint32_t)n[N_REPLACE];
	o->spool.creation = (uint32_t)n[N_CREATION];
	return true;
}

ERL_NIF_TERM inv_control_open(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[])
{
	struct inv_tracer_opts *opts;
	const char *what = "";
	struct inv_tracer *t;
	ERL_NIF_TERM result;
	uint64_t handle;
	int failed;
	int fd = -1;

	(void)argc;
	opts = inv_memory_alloc(sizeof(*opts)); /* too large for a stack */
	if (!opts)
		return error(env, enif_make_atom(env, "enomem"));
	if (!get_texts(env, argv[0], opts) ||
	    !get_numbers(env, argv[1], opts)) {
		result = enif_make_badarg(env);
		goto out;
	}
	failed = inv_tracer_open(env, opts, &handle, &what);
	if (failed) {
		result = error(env,
			       enif_make_tuple2(env, text(env, what),
						enif_make_int(env, failed)));
		goto out;
	}
	t = inv_tracer_borrow(handle);
	if (t) {
		fd = t->memory.fd;
		inv_tracer_release();
	}
	result = enif_make_tuple3(env, inv_am_ok, u64(env, handle),
				  enif_make_int(env, fd));
out:
	inv_memory_free(opts);
	return result;
}

/* The socket on which the memory is offered, a new one each time. */
ERL_NIF_TERM inv_control_offer(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow(env, argv[0]);
	char name[INV_OFFER_NAME];
	ERL_NIF_TERM result;

	(void)argc;
	if (!t)
		return inv_am_closed;
	result = inv_am_false;
	if (inv_offer_needed()) {
		if (t->listener >= 0)
			close(t->listener);
		t->listener = inv_offer_listen(name);
		result = t->listener >= 0 ? text(env, name) : inv_am_false;
	}
	inv_tracer_release();
	return result;
}

/* Waits without the lock, on descriptors of its own. */
ERL_NIF_TERM inv_control_give(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow(env, argv[0]);
	bool given = false;
	int listener;
	int fd;

	(void)argc;
	if (!t)
		return inv_am_closed;
	listener = fcntl(t->listener, F_DUPFD_CLOEXEC, 0);
	fd = fcntl(t->memory.fd, F_DUPFD_CLOEXEC, 0);
	inv_tracer_release();
	if (listener >= 0 && fd >= 0)
		given = inv_offer_give(listener, fd, 500);
	if (listener >= 0)
		close(listener);
	if (fd >= 0)
		close(fd);
	return given ? inv_am_true : inv_am_false;
}

ERL_NIF_TERM inv_control_keeper(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow(env, argv[0]);
	ERL_NIF_TERM pid;

	(void)argc;
	if (!t)
		return inv_am_undefined;
	pid = enif_make_pid(env, &t->keeper);
	inv_tracer_release();
	return pid;
}

ERL_NIF_TERM inv_control_info(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow(env, argv[0]);
	ERL_NIF_TERM dropped[INV_LOSS_COUNT];
	struct inv_counts counts;
	ERL_NIF_TERM result;
	unsigned i;

	(void)argc;
	if (!t)
		return inv_am_closed;
	atomic_store(&t->ctl->no_ring,
		     atomic_load(&inv_slot_of(t->handle)->no_ring));
	inv_counts_read(t, &counts);
	for (i = 0; i < INV_LOSS_COUNT; i++)
		dropped[i] = u64(env, counts.dropped[i]);
	result = enif_make_tuple5(
		env, u64(env, counts.produced), u64(env, counts.recorded),
		enif_make_tuple_from_array(env, dropped, INV_LOSS_COUNT),
		u64(env, t->memory.len),
		atomic_load(&inv_slot_of(t->handle)->spent) ? inv_am_true :
							      inv_am_false);
	inv_tracer_release();
	return result;
}

ERL_NIF_TERM inv_control_spool(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow(env, argv[0]);
	struct inv_ring_ctl *ctl;
	ERL_NIF_TERM field[9];
	char words[sizeof(ctl->error_text)];

	(void)argc;
	if (!t)
		return inv_am_closed;
	ctl = t->ctl;
	memcpy(words, ctl->error_text, sizeof(words));
	words[sizeof(words) - 1] = '\0';
	field[0] = enif_make_uint(env, atomic_load(&ctl->spool_state));
	field[1] = enif_make_int(env, atomic_load(&ctl->spool_pid));
	field[2] = u64(env, atomic_load(&ctl->flush_done));
	field[3] = enif_make_uint(env, atomic_load(&ctl->log_first));
	field[4] = enif_make_uint(env, atomic_load(&ctl->log_file));
	field[5] = u64(env, atomic_load(&ctl->log_bytes));
	field[6] = u64(env, atomic_load(&ctl->respawns));
	field[7] = enif_make_int(env, atomic_load(&ctl->error));
	field[8] = text(env, words);
	inv_tracer_release();
	return enif_make_tuple_from_array(env, field, 9);
}

static int64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/*
 * The clocks at one instant, or nearly: of a few tries the one that took the
 * least time between its first and last look.
 */
static struct inv_anchor take_anchor(void)
{
	struct inv_anchor best = { 0 };
	int64_t least = INT64_MAX;
	int i;

	for (i = 0; i < 4; i++) {
		int64_t before = clock_ns(CLOCK_MONOTONIC);
		int64_t erl = enif_monotonic_time(ERL_NIF_NSEC);
		int64_t real = clock_ns(CLOCK_REALTIME);
		int64_t after = clock_ns(CLOCK_MONOTONIC);

		if (after - before >= least)
			continue;
		least = after - before;
		best.mono = (uint64_t)(before + least / 2);
		best.erl = erl;
		best.real = real;
	}
	best.offset = enif_time_offset(ERL_NIF_NSEC);
	return best;
}

ERL_NIF_TERM inv_control_anchor(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow(env, argv[0]);
	uint64_t n;

	(void)argc;
	if (!t)
		return inv_am_closed;
	n = atomic_load_explicit(&t->ctl->n_anchors, memory_order_relaxed);
	t->ctl->anchors[n % INV_N_ANCHORS] = take_anchor();
	/* Release: pairs with the spooler's acquire. */
	atomic_store_explicit(&t->ctl->n_anchors, n + 1, memory_order_release);
	inv_tracer_release();
	return inv_am_ok;
}

ERL_NIF_TERM inv_control_flush(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow(env, argv[0]);
	uint64_t n;

	(void)argc;
	if (!t)
		return inv_am_closed;
	n = atomic_fetch_add(&t->ctl->flush_req, 1) + 1;
	inv_tracer_release();
	return u64(env, n);
}

ERL_NIF_TERM inv_control_retire(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow(env, argv[0]);

	(void)argc;
	if (!t)
		return inv_am_closed;
	inv_tracer_retire(t);
	inv_tracer_release();
	return inv_am_ok;
}

ERL_NIF_TERM inv_control_quiet(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow(env, argv[0]);
	bool quiet;

	(void)argc;
	if (!t)
		return inv_am_closed;
	quiet = inv_tracer_quiet(t);
	inv_tracer_release();
	return quiet ? inv_am_true : inv_am_false;
}

ERL_NIF_TERM inv_control_end(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow(env, argv[0]);

	(void)argc;
	if (!t)
		return inv_am_closed;
	atomic_store_explicit(&t->ctl->state,
			      argv[1] == inv_am_closed ? INV_TRACER_CLOSED :
							 INV_TRACER_OWNER_DIED,
			      memory_order_release);
	inv_tracer_release();
	return inv_am_ok;
}

ERL_NIF_TERM inv_control_free(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow(env, argv[0]);

	(void)argc;
	if (!t)
		return inv_am_closed;
	if (atomic_load(&inv_slot_of(t->handle)->handle) == t->handle ||
	    !inv_tracer_quiet(t)) {
		inv_tracer_release();
		return inv_am_false;
	}
	inv_tracer_free(t);
	return inv_am_true;
}
