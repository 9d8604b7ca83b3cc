/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_WATCH_H
#define INV_SPOOL_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Watches whether the VM is alive. A process with the VM's pid counts as the VM
 * only if it has the VM's start time, because pids are reused. If the kernel
 * has no pidfd_open, looks for the process once a second.
 */
struct inv_vm_watch {
	int pidfd; /* readable when the VM has ended; -1: none */
	int32_t pid;
	uint64_t start; /* field 22 of /proc/<pid>/stat; 0: not known */
	uint64_t looked_ns;
	bool dead;
};

void inv_vm_watch_open(struct inv_vm_watch *w, int32_t pid, uint64_t start);
bool inv_vm_watch_is_dead(struct inv_vm_watch *w);
void inv_vm_watch_close(struct inv_vm_watch *w);

/*
 * Returns the start time of a process, field 22 of /proc/<pid>/stat. Returns 0
 * if there is no such process, or it is a zombie.
 */
uint64_t inv_process_start(int32_t pid);

/*
 * Returns the inode of /proc/self/ns/pid, the pid namespace of this process, or
 * 0 if it is unknown.
 */
uint64_t inv_process_ns(void);

#endif
