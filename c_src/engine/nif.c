/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/nif.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "engine/action.h"
#include "engine/event.h"
#include "engine/flag.h"
#include "engine/held.h"
#include "engine/inherit.h"
#include "engine/message.h"
#include "engine/note.h"
#include "engine/profile.h"
#include "engine/session.h"
#include "engine/tracee.h"
#include "engine/tracer.h"
#include "engine/verdict.h"

static unsigned instances; /* needs no lock, because load and unload never run
			      in parallel */

static ErlNifResourceType *server_type;
static ErlNifResourceType *handle_type;

/*
 * A session's handle.  When it is garbage collected, the server gets
 * {'$inviso_engine', gone, Number}.
 */
struct handle {
	ErlNifPid server;
	uint32_t number;
};

static ERL_NIF_TERM am_false;
static ERL_NIF_TERM am_gone;
static ERL_NIF_TERM am_inviso;
static ERL_NIF_TERM am_none;
static ERL_NIF_TERM am_ok;
static ERL_NIF_TERM am_true;

/*
 * Servers are numbered, because the VM may report the end of a server when the
 * next server already runs. `turn' is the number of the current server. `in_vm'
 * is true while flags, patterns or counters of sessions may be in the VM: from
 * the first session until the server reports that it has cleared all. A server
 * that is killed leaves them there. The lock protects these two variables; no
 * tracer callback takes it.
 */
static char lock_name[] = "inviso_engine";
static ErlNifMutex *lock;
static unsigned turn;
static bool in_vm;

/* The VM calls this when a server has died. Closes the server's sessions, if no
 * newer server has started. */
static void server_down(ErlNifEnv *env, void *object, ErlNifPid *pid,
			ErlNifMonitor *monitor)
{
	(void)env;
	(void)pid;
	(void)monitor;
	enif_mutex_lock(lock);
	if (*(const unsigned *)object == turn)
		inv_sessions_close_all();
	enif_mutex_unlock(lock);
}

static void handle_gone(ErlNifEnv *env, void *object)
{
	const struct handle *h = object;

	(void)enif_send(env, &h->server, NULL,
			enif_make_tuple3(env, am_inviso, am_gone,
					 enif_make_uint(env, h->number)));
}

/*
 * start() -> {Resource, Orphaned}: makes the calling process the engine's
 * server. The process must keep Resource: with it, the VM monitors the process.
 * Orphaned is true if the previous server may have left flags, patterns or
 * counters in the VM.
 */
ERL_NIF_TERM inv_engine_start(ErlNifEnv *env, int argc,
			      const ERL_NIF_TERM argv[])
{
	ErlNifPid self;
	ERL_NIF_TERM term;
	unsigned *object;
	bool left;

	(void)argc;
	(void)argv;
	object = enif_alloc_resource(server_type, sizeof(*object));
	if (object)
		*object = 0;
	if (!object || !enif_self(env, &self) ||
	    enif_monitor_process(env, object, &self, NULL) != 0)
		return enif_make_badarg(env);
	term = enif_make_resource(env, object);
	enif_release_resource(object);
	enif_mutex_lock(lock);
	*object = ++turn;
	left = in_vm;
	inv_sessions_close_all();
	enif_mutex_unlock(lock);
	inv_engine_tracers_clear(&self);
	inv_tracees_clear();
	inv_profiles_clear();
	inv_notes_clear();
	inv_shortage_clear();
	return enif_make_tuple2(env, term, left ? am_true : am_false);
}

static void set_in_vm(bool is)
{
	enif_mutex_lock(lock);
	in_vm = is;
	enif_mutex_unlock(lock);
}

/*
 * cleaned() -> ok: the server says that it has cleared, in the VM, the flags,
 * patterns and counters of all sessions
 */
ERL_NIF_TERM inv_engine_cleaned(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[])
{
	(void)env;
	(void)argc;
	(void)argv;
	inv_notes_forget();
	set_in_vm(false);
	return am_ok;
}

/*
 * handle(Number) -> Resource: makes the handle of a session; when it is garbage
 * collected, the server gets {'$inviso_engine', gone, Number}
 */
ERL_NIF_TERM inv_engine_handle(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[])
{
	struct handle *h;
	ERL_NIF_TERM term;
	uint32_t number;

	(void)argc;
	if (!enif_get_uint(env, argv[0], &number))
		return enif_make_badarg(env);
	h = enif_alloc_resource(handle_type, sizeof(*h));
	if (!h)
		return enif_make_badarg(env);
	h->number = number;
	(void)enif_self(env, &h->server);
	term = enif_make_resource(env, h);
	enif_release_resource(h);
	return term;
}

/*
 * Reads {File, Handle}, a tracer of the module inviso_tracer. File is the path
 * of that module's library.
 */
static bool get_ours(ErlNifEnv *env, ERL_NIF_TERM term, struct inv_ours *ours)
{
	char path[PATH_MAX];
	const ERL_NIF_TERM *e;
	ErlNifUInt64 handle;
	ErlNifBinary file;
	int n;

	if (!enif_get_tuple(env, term, &n, &e) || n != 2 ||
	    !enif_inspect_binary(env, e[0], &file) ||
	    file.size >= sizeof(path) || !enif_get_uint64(env, e[1], &handle))
		return false;
	memcpy(path, file.data, file.size);
	path[file.size] = '\0';
	return inv_ours_open(ours, path, handle) == 0;
}

static bool get_tracer(ErlNifEnv *env, ERL_NIF_TERM term, uint32_t *number)
{
	return enif_get_uint(env, term, number) &&
	       *number < INV_ENGINE_TRACERS_MAX;
}

/*
 * tracer(Number, Pid | Port | {File, Handle} | none) -> ok. Sets or removes the
 * tracer with this number. {File, Handle} is a tracer of inviso_tracer: the
 * path of that module's library, and the tracer's handle. When such a tracer
 * accepts no more events, the engine's server gets the message
 * {'$inviso_engine', lost, Number}.
 */
ERL_NIF_TERM inv_engine_tracer(ErlNifEnv *env, int argc,
			       const ERL_NIF_TERM argv[])
{
	struct inv_ours ours;
	uint32_t number;

	(void)argc;
	if (!get_tracer(env, argv[0], &number) || number == 0)
		return enif_make_badarg(env);
	if (argv[1] == am_none)
		inv_engine_tracer_close(number);
	else if (enif_is_pid(env, argv[1]) || enif_is_port(env, argv[1]))
		inv_engine_tracer_open(env, number, argv[1]);
	else if (get_ours(env, argv[1], &ours))
		inv_engine_tracer_open_ours(number, &ours);
	else
		return enif_make_badarg(env);
	return am_ok;
}

/*
 * session(Slot, NumberOfTracer) -> NumberOfSession: opens a session in the slot
 * session(Slot, none) -> ok: closes the slot's session
 */
ERL_NIF_TERM inv_engine_session(ErlNifEnv *env, int argc,
				const ERL_NIF_TERM argv[])
{
	uint32_t number;
	uint32_t slot;

	(void)argc;
	if (!enif_get_uint(env, argv[0], &slot) || slot >= INV_SESSIONS_MAX)
		return enif_make_badarg(env);
	if (argv[1] == am_none) {
		inv_session_close(slot);
		return am_ok;
	}
	if (!get_tracer(env, argv[1], &number))
		return enif_make_badarg(env);
	set_in_vm(true);
	if (inv_held_is_start(number))
		inv_session_starts(slot);
	return enif_make_uint(env, inv_session_open(slot, number));
}

static int init_types(ErlNifEnv *env)
{
	const ErlNifResourceFlags flags = ERL_NIF_RT_CREATE |
					  ERL_NIF_RT_TAKEOVER;
	ErlNifResourceTypeInit server_init = { .down = server_down };
	ErlNifResourceTypeInit handle_init = { .dtor = handle_gone };

	server_type = enif_open_resource_type_x(env, "inviso_engine_server",
						&server_init, flags, NULL);
	handle_type = enif_open_resource_type_x(env, "inviso_engine_handle",
						&handle_init, flags, NULL);
	return server_type && handle_type ? 0 : -1;
}

static void init_atoms(ErlNifEnv *env)
{
	am_false = enif_make_atom(env, "false");
	am_gone = enif_make_atom(env, "gone");
	am_inviso = enif_make_atom(env, "$inviso_engine");
	am_none = enif_make_atom(env, "none");
	am_ok = enif_make_atom(env, "ok");
	am_true = enif_make_atom(env, "true");
}

static void end_tables(void)
{
	inv_tracees_end();
	inv_profiles_end();
	if (lock)
		enif_mutex_destroy(lock);
	lock = NULL;
}

static int init_tables(ErlNifEnv *env, ERL_NIF_TERM limits)
{
	const ERL_NIF_TERM *limit;
	ErlNifUInt64 processes;
	ErlNifUInt64 ports;
	int n;

	if (!enif_get_tuple(env, limits, &n, &limit) || n != 2 ||
	    !enif_get_uint64(env, limit[0], &processes) ||
	    !enif_get_uint64(env, limit[1], &ports))
		return -1;
	lock = enif_mutex_create(lock_name);
	if (lock && inv_profiles_init() == 0 &&
	    inv_tracees_init(processes, ports) == 0)
		return 0;
	end_tables();
	return -1;
}

int inv_engine_load(ErlNifEnv *env, void **priv, ERL_NIF_TERM load_info)
{
	(void)priv;
	if (init_types(env) != 0)
		return -1;
	if (instances == 0 && init_tables(env, load_info) != 0)
		return -1;
	init_atoms(env);
	inv_engine_tags_init(env);
	inv_messages_init(env);
	inv_ours_init(env);
	inv_engine_tracers_init(env);
	inv_verdict_init(env);
	inv_engine_edit_init(env);
	inv_engine_event_init(env);
	inv_actions_init(env);
	inv_noted_init(env);
	instances++;
	return 0;
}

void inv_engine_unload(ErlNifEnv *env, void *priv)
{
	(void)env;
	(void)priv;
	if (--instances > 0)
		return;
	end_tables();
	inv_ours_end();
}
