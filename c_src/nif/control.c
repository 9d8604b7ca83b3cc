/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/control.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "nif/anchor.h"
#include "nif/atoms.h"
#include "nif/count.h"
#include "nif/decide.h"
#include "nif/fd_pass.h"
#include "nif/options.h"
#include "nif/retire.h"
#include "nif/thread.h"
#include "nif/tracer.h"

static ERL_NIF_TERM u64(ErlNifEnv *env, uint64_t v)
{
	return enif_make_uint64(env, v);
}

static ERL_NIF_TERM truth(bool is)
{
	return is ? inv_am_true : inv_am_false;
}

static ERL_NIF_TERM text(ErlNifEnv *env, const char *s)
{
	size_t n = strlen(s);
	ERL_NIF_TERM term;

	memcpy(enif_make_new_binary(env, n, &term), s, n);
	return term;
}

/* Borrows the tracer whose handle is `term' (inv_tracer_borrow). */
static struct inv_tracer *borrow(ErlNifEnv *env, ERL_NIF_TERM term)
{
	ErlNifUInt64 handle;

	if (!enif_get_uint64(env, term, &handle) || handle == 0)
		return NULL;
	return inv_tracer_borrow(handle);
}

/* Like borrow, but only for a tracer that delivers (if `delivers' is true) or
 * only for one that does not (false). Returns NULL for a tracer of the other
 * kind. */
static struct inv_tracer *borrow_kind(ErlNifEnv *env, ERL_NIF_TERM term,
				      bool delivers)
{
	struct inv_tracer *t = borrow(env, term);

	if (!t || (t->delivery != NULL) == delivers)
		return t;
	inv_tracer_release();
	return NULL;
}

static struct inv_tracer *borrow_recorder(ErlNifEnv *env, ERL_NIF_TERM term)
{
	return borrow_kind(env, term, false);
}

static ERL_NIF_TERM error(ErlNifEnv *env, ERL_NIF_TERM reason)
{
	return enif_make_tuple2(env, inv_am_error, reason);
}

ERL_NIF_TERM inv_control_open(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[])
{
	struct inv_tracer_opts *opts;
	struct inv_err err = { 0 };
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
	if (!inv_options_read(env, argv[0], argv[1], opts)) {
		result = enif_make_badarg(env);
		goto out;
	}
	failed = inv_tracer_open(env, opts, &handle, &what, &err);
	if (err.code) {
		result = error(env, enif_make_tuple2(
					    env, enif_make_atom(env, "redact"),
					    text(env, err.text)));
		goto out;
	}
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

/* Replaces the socket through which a spooler gets the descriptor of the
 * tracer's memory (nif/fd_pass.h). */
ERL_NIF_TERM inv_control_offer(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow_recorder(env, argv[0]);
	char name[INV_FD_PASS_NAME];
	ERL_NIF_TERM result;

	(void)argc;
	if (!t)
		return inv_am_closed;
	result = inv_am_false;
	if (inv_fd_pass_needed()) {
		if (t->listener >= 0)
			close(t->listener);
		t->listener = inv_fd_pass_listen(name);
		result = t->listener >= 0 ? text(env, name) : inv_am_false;
	}
	inv_tracer_release();
	return result;
}

/* Waits for a spooler and sends it the descriptor of the memory. It waits
 * without the tracers' lock. Another process may close the descriptors
 * meanwhile, so this function uses duplicates of them. */
ERL_NIF_TERM inv_control_give(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow_recorder(env, argv[0]);
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
		given = inv_fd_pass_give(listener, fd, 500);
	if (listener >= 0)
		close(listener);
	if (fd >= 0)
		close(fd);
	return truth(given);
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

/* Returns the path of the log. Does not read beyond the array: the array is in
 * shared memory, so another program may have overwritten the NUL at its end. */
static ERL_NIF_TERM log_path(ErlNifEnv *env, const struct inv_tracer *t)
{
	ERL_NIF_TERM term;
	size_t n;

	if (!t->ctl)
		return inv_am_none;
	n = strnlen(t->ctl->path, sizeof(t->ctl->path));
	memcpy(enif_make_new_binary(env, n, &term), t->ctl->path, n);
	return term;
}

ERL_NIF_TERM inv_control_keepers(ErlNifEnv *env, int argc,
				 const ERL_NIF_TERM argv[])
{
	ERL_NIF_TERM keepers = enif_make_list(env, 0);
	uint32_t slot;

	(void)argc;
	(void)argv;
	for (slot = 0; slot < INV_TRACERS_MAX; slot++) {
		const struct inv_tracer *t = inv_tracer_at(slot);
		ERL_NIF_TERM keeper;

		if (!t)
			continue;
		keeper = enif_make_tuple2(env, enif_make_pid(env, &t->keeper),
					  log_path(env, t));
		inv_tracer_release();
		keepers = enif_make_list_cell(env, keeper, keepers);
	}
	return keepers;
}

/* Returns the name of the limit that was reached first, as an option of
 * inviso_tracer:open/2, or none. */
static ERL_NIF_TERM reached(const struct inv_tracer *t)
{
	if (atomic_load(&inv_slot_of(t->handle)->use) != INV_USE_SPENT)
		return inv_am_none;
	switch (atomic_load(&t->spent_by)) {
	case INV_LIMIT_EVENTS:
		return inv_am_events;
	case INV_LIMIT_BYTES:
		return inv_am_bytes;
	case INV_LIMIT_TIME:
		return inv_am_ms;
	default:
		return inv_am_none;
	}
}

/* Returns {Forgotten, Unkept, Unended, Open, WithoutArgs} (struct
 * inv_decide_counts), or none if the tracer has no rules for calls. */
static ERL_NIF_TERM decided(ErlNifEnv *env, const struct inv_tracer *t)
{
	struct inv_decide_counts c;

	if (!t->decide)
		return inv_am_none;
	inv_decide_read(t->decide, t->n_lanes, &c);
	return enif_make_tuple5(env, u64(env, c.forgotten), u64(env, c.unkept),
				u64(env, c.unended), u64(env, c.open),
				u64(env, c.without_args));
}

ERL_NIF_TERM inv_control_info(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow_recorder(env, argv[0]);
	ERL_NIF_TERM dropped[INV_LOSS_COUNT];
	struct inv_counts counts;
	ERL_NIF_TERM field[11];
	unsigned i;

	(void)argc;
	if (!t)
		return inv_am_closed;
	atomic_store(&t->ctl->no_ring,
		     atomic_load(&inv_slot_of(t->handle)->no_ring));
	inv_counts_read(t, &counts);
	for (i = 0; i < INV_LOSS_COUNT; i++)
		dropped[i] = u64(env, counts.dropped[i]);
	field[0] = u64(env, counts.produced);
	field[1] = u64(env, counts.recorded);
	field[2] = enif_make_tuple_from_array(env, dropped, INV_LOSS_COUNT);
	field[3] = u64(env, t->memory.len);
	field[4] = reached(t);
	field[5] = truth(t->rate && atomic_load(&t->rate->reached));
	field[6] = u64(env, counts.filtered);
	field[7] = u64(env, counts.undecided);
	field[8] = u64(env, atomic_load(&inv_slot_of(t->handle)->left_out));
	field[9] = u64(env, counts.redacted);
	field[10] = decided(env, t);
	inv_tracer_release();
	return enif_make_tuple_from_array(env, field, 11);
}

ERL_NIF_TERM inv_control_begin(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow_recorder(env, argv[0]);

	(void)argc;
	if (!t)
		return inv_am_closed;
	inv_tracer_begin(t);
	inv_tracer_release();
	return inv_am_ok;
}

ERL_NIF_TERM inv_control_spool(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow_recorder(env, argv[0]);
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

ERL_NIF_TERM inv_control_anchor(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow_recorder(env, argv[0]);
	uint64_t n;

	(void)argc;
	if (!t)
		return inv_am_closed;
	n = atomic_load_explicit(&t->ctl->n_anchors, memory_order_relaxed);
	t->ctl->anchors[n % INV_N_ANCHORS] = inv_anchor_take();
	/* Release: pairs with the spooler's acquire. */
	atomic_store_explicit(&t->ctl->n_anchors, n + 1, memory_order_release);
	inv_tracer_release();
	return inv_am_ok;
}

ERL_NIF_TERM inv_control_flush(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow_recorder(env, argv[0]);
	uint64_t n;

	(void)argc;
	if (!t)
		return inv_am_closed;
	n = atomic_fetch_add(&t->ctl->flush_req, 1) + 1;
	inv_tracer_release();
	return u64(env, n);
}

/*
 * Returns a copy of a filter, which is text or a match spec in the external
 * term format, with a NUL after it. inv_event_filter_make needs the NUL, which
 * is there because inv_memory_alloc clears the memory. Returns NULL if there is
 * no memory.
 */
static uint8_t *copy_bytes(const ErlNifBinary *bin)
{
	uint8_t *bytes = inv_memory_alloc(bin->size + 1);

	if (bytes)
		memcpy(bytes, bin->data, bin->size);
	return bytes;
}

/*
 * Makes a filter from the match spec in argv, for this node's release, and sets
 * *f to it.  If argv has no match spec, or after an error, sets *f to NULL.
 */
static int make_filter(ErlNifEnv *env, const ERL_NIF_TERM argv[],
		       struct inv_event_filter **f, struct inv_err *err)
{
	char name[sizeof(((struct inv_ring_ctl *)0)->node)];
	struct inv_filter_node node = { .atom = argv[2], .name = name };
	ErlNifBinary bin;
	uint8_t *bytes;
	int rc;

	*f = NULL;
	if (enif_is_atom(env, argv[1]))
		return 0;
	if (!enif_inspect_binary(env, argv[1], &bin) ||
	    !enif_is_atom(env, argv[2]) ||
	    !inv_options_text(env, argv[3], name, sizeof(name)) ||
	    !enif_get_uint(env, argv[4], &node.creation) ||
	    !enif_get_uint(env, argv[5], &node.otp))
		return inv_err_set(err, INV_EINVAL, "badarg");
	if (bin.size > INV_FILTER_BYTES)
		return inv_err_set(err, INV_ETOOBIG,
				   "it is longer than %u bytes",
				   INV_FILTER_BYTES);
	bytes = copy_bytes(&bin);
	if (!bytes)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	rc = inv_event_filter_make(f, bytes, bin.size, &node, err);
	inv_memory_free(bytes);
	return rc;
}

ERL_NIF_TERM inv_control_filter(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[])
{
	struct inv_event_filter *f;
	struct inv_tracer *t;
	struct inv_err err;

	(void)argc;
	if (make_filter(env, argv, &f, &err))
		return error(env, text(env, err.text));
	t = borrow_recorder(env, argv[0]);
	if (!t) {
		inv_event_filter_free(f);
		return inv_am_closed;
	}
	inv_tracer_exchange(t, f);
	inv_tracer_release();
	return inv_am_ok;
}

ERL_NIF_TERM inv_control_retire(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow(env, argv[0]);

	(void)argc;
	if (!t)
		return inv_am_closed;
	inv_retire_add(inv_slot_of(t->handle));
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
	return truth(quiet);
}

ERL_NIF_TERM inv_control_end(ErlNifEnv *env, int argc,
			     const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow_recorder(env, argv[0]);

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

/* --- tracers that deliver ---------------------------------------------- */

ERL_NIF_TERM inv_control_deliver(ErlNifEnv *env, int argc,
				 const ERL_NIF_TERM argv[])
{
	struct inv_delivery *delivery;
	ErlNifPid receiver;
	ErlNifUInt64 n[3];
	uint64_t handle;
	int failed;
	int i;

	(void)argc;
	if (!enif_get_local_pid(env, argv[0], &receiver))
		return enif_make_badarg(env);
	for (i = 0; i < 3; i++)
		if (!enif_get_uint64(env, argv[i + 1], &n[i]) ||
		    n[i] > INT64_MAX)
			return enif_make_badarg(env);
	delivery = inv_delivery_make(&receiver, inv_threads_count(), n[0], n[1],
				     n[2]);
	failed = delivery ? inv_tracer_open_delivery(env, delivery, &handle) :
			    ENOMEM;
	if (failed)
		return error(env, enif_make_int(env, failed));
	return enif_make_tuple2(env, inv_am_ok, u64(env, handle));
}

ERL_NIF_TERM inv_control_credit(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow_kind(env, argv[0], true);
	ErlNifUInt64 events;
	ErlNifUInt64 bytes;

	(void)argc;
	if (!t)
		return inv_am_closed;
	if (enif_get_uint64(env, argv[1], &events) &&
	    enif_get_uint64(env, argv[2], &bytes))
		inv_delivery_credit(t->delivery, events, bytes);
	inv_tracer_release();
	return inv_am_ok;
}

ERL_NIF_TERM inv_control_counts(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[])
{
	struct inv_tracer *t = borrow_kind(env, argv[0], true);
	ERL_NIF_TERM dropped[INV_DROPS + 1];
	uint64_t produced;
	uint64_t no_ring;
	unsigned i;

	(void)argc;
	if (!t)
		return inv_am_closed;
	no_ring = atomic_load(&inv_slot_of(t->handle)->no_ring);
	produced = inv_delivery_produced(t->delivery, t->n_lanes) + no_ring;
	for (i = 0; i < INV_DROPS; i++)
		dropped[i] = u64(env, atomic_load(&t->delivery->dropped[i]));
	dropped[i] = u64(env, no_ring);
	inv_tracer_release();
	return enif_make_tuple2(env, u64(env, produced),
				enif_make_tuple_from_array(env, dropped,
							   INV_DROPS + 1));
}
