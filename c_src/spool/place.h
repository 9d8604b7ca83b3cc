/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_PLACE_H
#define INV_SPOOL_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The private directory of a node (the place), which src/guest/inviso_place.erl
 * creates.  These functions are for programs outside the VM: the spooler that
 * sweeps (spool/sweep.h), and the command.
 *
 * 	PARENT/inviso-<32 hex digits>/	mode 0700
 * 		node			the record: whose VM's place it is
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
 * 	time 1763822121		Unix time; the VM writes the lines up to this
 * 				one together
 * 	locked			the VM has locked the record (flock)
 * 	nolock			the VM could not lock it
 *
 * A VM that has loaded the library keeps the record locked until the VM ends.
 * From the lock, programs in other containers see that the VM is alive.  If
 * there are several `locked' and `nolock' lines, the last one is valid.
 */
#define INV_PLACE_RECORD "node"

struct inv_place {
	int parent; /* borrowed */
	char name[40];
	int fd;		 /* descriptor of the directory */
	int record;	 /* descriptor of the record; -1: no record */
	int64_t changed; /* Unix time of the directory's last change */
	bool local;	 /* the file system is not shared between machines */
	bool begun;	 /* true if there is no record, or a record of this
			    version, even an empty or incomplete record */
	bool has_record; /* the record is complete; otherwise the following
			    fields are not set */
	bool locked;	 /* the last line about a lock is `locked' */
	bool no_lock;	 /* the last line about a lock is `nolock' */
	char node[1024];
	int32_t pid;
	uint64_t start;
	char boot[64];
	uint64_t pid_ns;
	int64_t time;
};

/*
 * Opens the place `name' in the directory `parent'. Returns false if it is not
 * a directory, is a link, belongs to another user, or has a mode other than
 * 0700. The functions do not trust the contents of a place: they bound their
 * reads, and follow no links.
 */
bool inv_place_open(struct inv_place *p, int parent, const char *name);
void inv_place_close(struct inv_place *p);

/*
 * Returns true if it is certain that the VM has ended. In this case the record
 * stays locked until inv_place_close, so that no other program works on the
 * place. Returns false in case of doubt, for example if the VM was in another
 * pid namespace and did not lock the record, or if another machine may use the
 * place through a network file system.
 */
bool inv_place_is_dead(struct inv_place *p);

/*
 * For the place of a dead VM: removes library, spooler, engine and the logs of
 * `inviso trace'. Removes the place itself if no recording and no other file is
 * left in it.
 */
void inv_place_clear(const struct inv_place *p);

/*
 * Does for the directory fd, which can have any name, what inv_place_clear does
 * for a place, but does not remove the directory. If only the record is left,
 * removes the record, too, and returns true: the directory is now empty. Call
 * it only if the VM of the place is dead.
 */
bool inv_place_empty(int fd);

/*
 * Removes a place whose VM died while it created the place: it has no record,
 * or an incomplete one, and has not changed for a minute. Does not remove
 * records of other versions.
 */
void inv_place_clear_unfinished(const struct inv_place *p);

/*
 * Calls `each' with every place of this user in the n directories `parents',
 * until `each' returns false or ms milliseconds have passed. Skips directories
 * that do not exist or are listed a second time.
 */
typedef bool inv_place_each(void *arg, const char *parent, struct inv_place *p);
void inv_places(const char *const *parents, size_t n, unsigned ms,
		inv_place_each *each, void *arg);

/* Calls `each' for every directory room-<number> of the place, with the
 * directory's name and descriptor, until `each' returns false. */
typedef bool inv_room_each(void *arg, const char *name, int fd);
void inv_place_rooms(const struct inv_place *p, inv_room_each *each, void *arg);

#endif
