/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_BROUGHT_H
#define INV_SPOOL_BROUGHT_H

#include <stdbool.h>

#include "spool/attach.h"

/*
 * What was brought to a node, in a directory of its own, and has outlived it.
 *
 * As long as the VM lives, a process there (src/inviso_push.erl) takes all of
 * it away.  When the VM was killed only its spoolers are left to do so.
 */

/*
 * If the VM is dead, or dies within two seconds: removes from dir what
 * inv_place_empty (spool/place.h) does, with log also the log and the directory
 * that it lies in, and dir, if nothing is left in it.  A place whose tracers
 * were all closed before is for the next sweep.
 */
void inv_brought_remove(const struct inv_attached *mem, const char *dir,
			bool log);

#endif
