/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_MEMORY_H
#define INV_NIF_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The memory of a tracer's rings: either a memfd, or a new file with all blocks
 * allocated. The memfd is sealed, so that no program can truncate it: the VM
 * would crash when it accesses memory that was cut off. When inv_memory_open
 * returns, the memory is zero and resident. The memfds of one VM take at most a
 * quarter of the machine's memory.
 */
struct inv_memory {
	int fd; /* -1: none */
	void *map;
	uint64_t len;
	bool counted; /* counted towards the limit for all tracers of the VM */
};

/* Creates the memory in a memfd if `path' is "", otherwise in a new file.
 * Returns 0, or an errno with the failing call in *what. */
int inv_memory_open(struct inv_memory *m, const char *path, uint64_t len,
		    const char **what);
void inv_memory_close(struct inv_memory *m);

/*
 * Returns n zero bytes from enif_alloc, aligned to a cache line. Returns NULL
 * if there is no memory.
 */
void *inv_memory_alloc(size_t n);
void inv_memory_free(void *p);

/* Returns the start time of this process (field 22 of /proc/self/stat), or 0 if
 * unknown. */
uint64_t inv_memory_vm_start(void);

/* Returns the pid namespace of this process (inode of /proc/self/ns/pid), or 0
 * if unknown. */
uint64_t inv_memory_vm_pid_ns(void);

#endif
