/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_PLACE_H
#define INV_SPOOL_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The private directory of a node (the place), which src/guest/inviso_place.erl
 * creates.  These functions are for processes outside the VM: the spooler that
 * sweeps, and the command.
 *
 * 	PARENT/inviso-<32 hex digits>/	mode 0700
 * 		node the record: the VM to which the place belongs
 * 		inviso_tracer.so, inviso_spool (and, of older builds,
 * 					inviso_engine.so)
 * 		room-<number>/NAME.log	a recording
 * 		live-<number>/NAME.log	the log of an `inviso trace'
 *
 * The record is text, one key and value on each line:
 * 	inviso-place 1
 * 	node shop@vm
 * 	pid 4711		the VM's, in its pid namespace
 * 	start 81723		field 22 of /proc/PID/stat
 * 	boot 5f0e...		/proc/sys/kernel/random/boot_id
 * 	pidns 4026531836	inode of /proc/self/ns/pid
 * 	time 1763822121		Unix time; last line of the first write
 * 	locked			the VM held a lock (flock) on the record
 * 	nolock			the VM could not lock it
 *
 * A VM that has loaded the library holds a lock on the record until it ends, so
 * that processes in other containers can see whether it lives.  If there are
 * several `locked' and `nolock' lines, the last one counts.
 */
#define INV_PLACE_RECORD "node"

struct inv_place {
	int parent; /* borrowed */
	char name[40];
	int fd;		 /* descriptor of the directory */
	int record;	 /* descriptor of the record; -1: no record */
	int64_t changed; /* Unix time of the directory's last change */
	bool local;	 /* only one kernel can mount the file system */
	bool begun;	 /* no record yet, or possibly an incomplete record */
	bool has_record; /* the record is complete; otherwise the following
			    fields are not set */
	bool locked;
	bool no_lock;
	char node[1024];
	int32_t pid;
	uint64_t start;
	char boot[64];
	uint64_t pid_ns;
	int64_t time;
};

/*
 * Opens the place `name' in the directory `parent'. Returns false unless it is
 * a directory of this user with mode 0700 and not a link. Its contents are not
 * trusted: reads are bounded, and links are not followed.
 */
bool inv_place_open(struct inv_place *p, int parent, const char *name);
void inv_place_close(struct inv_place *p);

/*
 * Returns true if it is certain that the VM has ended. The record then stays
 * locked until the place is closed, so that no other process works on the
 * place. Returns false in case of doubt: another pid namespace and no lock, or
 * a network file system, because another machine may use the place.
 */
bool inv_place_is_dead(struct inv_place *p);

/*
 * Removes library, spooler, engine and logs of `inviso trace' from a dead
 * place. Removes the place itself if no recording is left in it. Keeps other
 * files, and a place that contains any.
 */
void inv_place_clear(const struct inv_place *p);

/*
 * Removes the files that inv_place_clear removes, and the record, from a
 * directory of any name whose VM is known to be dead. Returns true if the
 * directory is now empty.
 */
bool inv_place_empty(int fd);

/*
 * Removes a place whose VM died while it created the place: a place that for a
 * minute has had no record or an incomplete record. Leaves records of other
 * versions alone.
 */
void inv_place_clear_unfinished(const struct inv_place *p);

/*
 * Calls `each' with every place of this user in the n directories `parents',
 * until `each' returns false or ms have passed. Directories that do not exist,
 * or are listed twice, are skipped.
 */
typedef bool inv_place_each(void *arg, const char *parent, struct inv_place *p);
void inv_places(const char *const *parents, size_t n, unsigned ms,
		inv_place_each *each, void *arg);

/* Calls `each' with name and directory of every recording's room, until `each'
 * returns false. */
typedef bool inv_room_each(void *arg, const char *name, int fd);
void inv_place_rooms(const struct inv_place *p, inv_room_each *each, void *arg);

#endif
