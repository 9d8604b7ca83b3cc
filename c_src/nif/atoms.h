/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_ATOMS_H
#define INV_NIF_ATOMS_H

#include <erl_nif.h>

#include "abi/event.h"
#include "base/likely.h"

/*
 * Atoms that the callbacks compare with or return.  They are made once, when
 * the library is loaded, because making one takes the atom table's lock.  The
 * word of an atom stays the same for the life of the VM.
 */
#define INV_ATOMS(X)                              \
	X(EXIT, "EXIT")                           \
	X(all, "all")                             \
	X(busy, "busy")                           \
	X(bytes, "bytes")                         \
	X(call, "call")                           \
	X(caller, "caller")                       \
	X(closed, "closed")                       \
	X(cpu_timestamp, "cpu_timestamp")         \
	X(discard, "discard")                     \
	X(done, "done")                           \
	X(error, "error")                         \
	X(events, "events")                       \
	X(exception_from, "exception_from")       \
	X(extra, "extra")                         \
	X(false, "false")                         \
	X(function, "function")                   \
	X(gc_major, "gc_major")                   \
	X(gc_minor, "gc_minor")                   \
	X(inviso_ends, "$inviso_ends")            \
	X(inviso_event, "inviso_event")           \
	X(inviso_seq, "$inviso_seq")              \
	X(inviso_seq_over, "$inviso_seq_over")    \
	X(marked, "marked")                       \
	X(match_spec_result, "match_spec_result") \
	X(monotonic, "monotonic")                 \
	X(ms, "ms")                               \
	X(none, "none")                           \
	X(normal, "normal")                       \
	X(ok, "ok")                               \
	X(process, "process")                     \
	X(value, "value")                         \
	X(remove, "remove")                       \
	X(result, "result")                       \
	X(return_from, "return_from")             \
	X(running, "running")                     \
	X(scheduler_id, "scheduler_id")           \
	X(send, "send")                           \
	X(seq_trace, "seq_trace")                 \
	X(strict_monotonic, "strict_monotonic")   \
	X(timestamp, "timestamp")                 \
	X(trace, "trace")                         \
	X(trace_status, "trace_status")           \
	X(trace_ts, "trace_ts")                   \
	X(true, "true")                           \
	X(undefined, "undefined")                 \
	X(waiting, "waiting")

#define INV_ATOM_DECLARE(name, text) \
	extern INV_HIDDEN ERL_NIF_TERM inv_am_##name;
INV_ATOMS(INV_ATOM_DECLARE)
#undef INV_ATOM_DECLARE

void inv_atoms_init(ErlNifEnv *env);

/* Returns the tag's number, or INV_TAG_OTHER for an unknown atom. */
enum inv_tag inv_atoms_find(ERL_NIF_TERM atom);

static inline enum inv_tag inv_atoms_tag(ERL_NIF_TERM atom)
{
	if (inv_likely(atom == inv_am_call))
		return INV_TAG_CALL;
	return atom == inv_am_return_from ? INV_TAG_RETURN_FROM :
					    inv_atoms_find(atom);
}

#endif
