/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_NIF_H
#define INV_NIF_NIF_H

#include <erl_nif.h>

#include "nif/bound.h"
#include "nif/control.h"
#include "nif/decide.h"
#include "nif/dir.h"
#include "nif/hold.h"
#include "nif/note.h"
#include "nif/retire.h"
#include "nif/starts.h"
#include "nif/tally.h"
#include "nif/times.h"

/*
 * Load, unload and the table of NIFs of the module inviso_tracer. The callbacks
 * of erl_tracer are in nif/event.h.
 *
 * If the VM loads the same library again while tracers run, both instances
 * share the same static data. The first load initializes the data, and the last
 * unload releases it.
 */

/*
 * load_info is {{Schedulers, DirtyCpu, DirtyIo}, Dir, Limits}: the numbers of
 * threads, the directory of the library and the spooler, and a term that only
 * the engine uses (engine/nif.h).
 */
int inv_nif_load(ErlNifEnv *env, void **priv, ERL_NIF_TERM load_info);
void inv_nif_unload(ErlNifEnv *env, void *priv);

/* Rows of type ErlNifFunc: name, arity, function, flags. */
/* clang-format off */
#define INV_NIF_FUNCTIONS \
	{ "dir", 0, inv_dir, 0 }, \
	{ "library", 0, inv_dir_library, 0 }, \
	{ "nif_dir", 1, inv_dir_change, 0 }, \
	{ "nif_open", 2, inv_control_open, ERL_NIF_DIRTY_JOB_IO_BOUND }, \
	{ "nif_offer", 1, inv_control_offer, 0 }, \
	{ "nif_give", 1, inv_control_give, ERL_NIF_DIRTY_JOB_IO_BOUND }, \
	{ "nif_keeper", 1, inv_control_keeper, 0 }, \
	{ "nif_keepers", 0, inv_control_keepers, 0 }, \
	{ "nif_info", 1, inv_control_info, 0 }, \
	{ "nif_begin", 1, inv_control_begin, 0 }, \
	{ "nif_spool", 1, inv_control_spool, 0 }, \
	{ "nif_anchor", 1, inv_control_anchor, 0 }, \
	{ "nif_flush", 1, inv_control_flush, 0 }, \
	{ "nif_note", 2, inv_note_write, 0 }, \
	{ "nif_fresh", 1, inv_note_fresh, 0 }, \
	{ "nif_filter", 6, inv_control_filter, ERL_NIF_DIRTY_JOB_CPU_BOUND }, \
	{ "nif_bound", 3, inv_bound_set, 0 }, \
	{ "nif_ends", 4, inv_bound_ends, 0 }, \
	{ "nif_stopped", 1, inv_bound_stopped, 0 }, \
	{ "nif_released", 4, inv_bound_release, 0 }, \
	{ "nif_decide", 5, inv_decide_set, 0 }, \
	{ "nif_rules", 4, inv_decide_rules, 0 }, \
	{ "nif_sweep", 2, inv_decide_sweep, 0 }, \
	{ "nif_seq", 6, inv_starts_set, 0 }, \
	{ "nif_starts", 1, inv_starts_counts, 0 }, \
	{ "nif_starts_patterns", 2, inv_starts_patterns, 0 }, \
	{ "nif_tally", 2, inv_tally_set, 0 }, \
	{ "nif_tallied", 3, inv_tally_read, 0 }, \
	{ "nif_times", 3, inv_times_set, 0 }, \
	{ "nif_times_end", 2, inv_times_end, 0 }, \
	{ "nif_retire", 1, inv_control_retire, 0 }, \
	{ "nif_quiet", 1, inv_control_quiet, 0 }, \
	{ "nif_end", 2, inv_control_end, 0 }, \
	{ "nif_free", 1, inv_control_free, ERL_NIF_DIRTY_JOB_IO_BOUND }, \
	{ "nif_hold", 1, inv_hold, ERL_NIF_DIRTY_JOB_IO_BOUND }, \
	{ "nif_gone", 0, inv_retire_count, 0 }, \
	{ "nif_settle", 0, inv_retire_settle, 0 }, \
	{ "nif_deliver", 4, inv_control_deliver, 0 }, \
	{ "nif_credit", 3, inv_control_credit, 0 }, \
	{ "nif_counts", 1, inv_control_counts, 0 }
/* clang-format on */

#endif
