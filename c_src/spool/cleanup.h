/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_CLEANUP_H
#define INV_SPOOL_CLEANUP_H

#include <stdbool.h>

#include "spool/attach.h"

/*
 * After the VM's death, removes the files that a command has sent to the node,
 * and the private directory that contains them (the place).
 *
 * While the VM is alive, an Erlang process removes the files: the guard
 * (src/guest/inviso_guard.erl). If the VM was killed, the spoolers that still
 * run remove the files.
 */

/*
 * If the tracer was not closed, waits up to two seconds for the VM to die. Does
 * nothing if the VM is still alive.
 *
 * Removes from dir the files that inv_place_empty (spool/place.h) removes, and
 * dir itself if it is then empty. If log is true, also removes the log and its
 * directory. If no spooler was running when the VM died, the next inv_sweep
 * (spool/sweep.h) removes the place.
 */
void inv_place_cleanup(const struct inv_attached *mem, const char *dir,
		       bool log);

#endif
