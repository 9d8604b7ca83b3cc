/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_CLEANUP_H
#define INV_SPOOL_CLEANUP_H

#include <stdbool.h>

#include "spool/attach.h"

/*
 * Removes the files that a command pushed to a node, and the place that
 * contains them, after the node's death.
 *
 * While the VM lives, its guard removes them (src/guest/inviso_guard.erl). If
 * the VM was killed, only its spoolers can remove them.
 */

/*
 * If the VM is dead, or dies within two seconds: removes from dir what
 * inv_place_empty (spool/place.h) removes, and dir itself if it is then empty.
 * If log is true, also removes the log and its directory. If no spooler was
 * running when the VM died, the next sweep removes the place.
 */
void inv_place_cleanup(const struct inv_attached *mem, const char *dir,
		       bool log);

#endif
