/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_VM_PLACE_H
#define INV_VM_PLACE_H

#include <stdint.h>

/*
 * Tables with an entry for each process, or for each port.
 *
 * The low bits of a pid, above four tag bits, are its index in the VM's process
 * table, so two living processes never have the same index. The VM's process
 * table has a power of two of entries. A table with as many entries has an
 * entry for each living process. A new process takes over the entry of the dead
 * process with the same index. The same applies to ports.
 */
#define INV_PLACE_TAG_BITS 4

/* Returns how many entries a table for `n' processes needs: `n' rounded up to a
 * power of two, but at most `most', which is a power of two. */
static inline uint64_t inv_vm_places(uint64_t n, uint64_t most)
{
	uint64_t places = 1;

	while (places < n && places < most)
		places *= 2;
	return places;
}

/* Returns the index of a pid or port in a table of this size. */
static inline uint64_t inv_vm_place(uint64_t id, uint64_t places)
{
	return (id >> INV_PLACE_TAG_BITS) & (places - 1);
}

#endif
