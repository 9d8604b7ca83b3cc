/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FLOW_NAME_H
#define INV_FLOW_NAME_H

#include "base/buf.h"
#include "flow/mfa.h"
#include "term/print.h"

/*
 * Appends the function that a process is spawned to run, as a name for the
 * process: "m:f/1", or a fun as the VM prints it. `m' is the function in the
 * spawn event ev.
 *
 * Erlang's libraries spawn processes through functions that say nothing about
 * the process. So instead of erlang:apply/2 or proc_lib:init_p, the name is the
 * function that these call. For a process of gen (gen_server, gen_statem,
 * supervisor) the name is "module:init/1" with the callback module.
 *
 * Appends nothing if the arguments were not recorded, or are redacted.
 */
void inv_spawn_name(struct inv_buf *out, struct inv_cursor *c,
		    const struct inv_event *ev, const struct inv_mfa *m,
		    const struct inv_print_opts *w);

/*
 * Appends a name from the note ev: c is before the name, and `kind' is the kind
 * that the note gives (enum inv_note_name). Uses *m. Prints as OTP release
 * `otp' does. Returns false if the name is invalid or empty, or if its kind is
 * unknown.
 */
bool inv_noted_name(struct inv_buf *out, struct inv_cursor *c,
		    const struct inv_event *ev, struct inv_mfa *m, int64_t kind,
		    unsigned otp);

#endif
