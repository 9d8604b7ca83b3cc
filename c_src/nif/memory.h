/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NIF_MEMORY_H
#define INV_NIF_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The memory of a tracer's rings: a memfd sealed against resizing, so that
 * nobody can make an access to it fail, or a new file with all its blocks
 * allocated.  Zero, and in memory, when it is handed out.  The memfds of one VM
 * take a quarter of the machine's memory at most.
 */
struct inv_memory {
	int fd; /* -1: none */
	void *map;
	uint64_t len;
	bool counted; /* towards what the VM's tracers may have together */
};

/* path "": a memfd.  0, or an errno with the failing call in *what. */
int inv_memory_open(struct inv_memory *m, const char *path, uint64_t len,
		    const char **what);
void inv_memory_close(struct inv_memory *m);

/*
 * n bytes of the VM's memory, zero, at the beginning of a cache line: enif_alloc
 * alone promises less than our structs ask for.  NULL: none.
 */
void *inv_memory_alloc(size_t n);
void inv_memory_free(void *p);

/* When the process pid started: field 22 of /proc/self/stat; 0: unknown. */
uint64_t inv_memory_vm_start(void);

/* The name space of its number: inode of /proc/self/ns/pid; 0: unknown. */
uint64_t inv_memory_vm_pid_ns(void);

#endif
