/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SINK_SYSTEM_PROCESS_H
#define INV_SINK_SYSTEM_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if this is the registered name of a process that every node has:
 * one of the VM, or of the applications kernel, stdlib and sasl. */
bool inv_system_process(const char *name, size_t len);

#endif
