/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_SPOOL_PLACE_H
#define INV_SPOOL_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The private directory of a node, as src/inviso_place.erl makes it, seen from
 * outside of the VM: by the spooler that sweeps, and by the command.
 *
 *	PARENT/inviso-<32 hex digits>/	mode 0700
 *		node			the record: whose place it is
 *		inviso_tracer.so, inviso_spool, inviso_engine.so
 *		room-<number>/NAME.log	of a recording
 *		live-<number>/NAME.log	of `inviso trace'
 *
 * The record is text, a key and a value a line:
 *	inviso-place 1
 *	node shop@vm
 *	pid 4711		of the VM, in its pid namespace
 *	start 81723		field 22 of /proc/PID/stat
 *	boot 5f0e...		/proc/sys/kernel/random/boot_id
 *	pidns 4026531836	inode of /proc/self/ns/pid
 *	time 1763822121		Unix time; ends what the node writes first
 *	locked			the VM held a lock (flock) on the record
 *	nolock			the VM could not lock it
 *
 * A VM that has loaded the library holds that lock until it ends, so that other
 * containers see whether it lives.  Of several such lines the last one counts.
 */
#define INV_PLACE_RECORD "node"

struct inv_place {
	int parent; /* borrowed */
	char name[40];
	int fd;		 /* of the directory */
	int record;	 /* -1: there is none */
	int64_t changed; /* Unix time of the directory's last change */
	bool local;	 /* the file system is mounted by one kernel only */
	bool begun;	 /* no record yet, or one that may be incomplete */
	bool has_record; /* complete; else the following mean nothing */
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
 * Opens the place of that name in the directory `parent' if it is one of our
 * user: mode 0700, no link.  False: it is not.  Nothing in it is trusted: reads
 * are bounded, links are not followed.
 */
bool inv_place_open(struct inv_place *p, int parent, const char *name);
void inv_place_close(struct inv_place *p);

/*
 * Whether it is proved that the VM has ended.  Then the record is locked until
 * the place is closed, so that two processes do not work on one place.  False
 * in all cases of doubt: a pid namespace that is not ours and no lock, or a
 * network file system, from where another machine may use the place.
 */
bool inv_place_is_dead(struct inv_place *p);

/*
 * Removes from a dead place library, spooler, engine and logs of `inviso
 * trace', and the place itself when no recording is left in it.  What is not
 * ours stays, and keeps the place.
 */
void inv_place_clear(const struct inv_place *p);

/* The same of a directory whose VM is known to be dead, whatever its name is;
 * returns whether it is empty now. */
bool inv_place_empty(int fd);

/*
 * Removes a place whose VM died while it made it: for a minute there has been
 * nothing in it, or only the beginning of a record.  A record of another
 * version is left alone.
 */
void inv_place_clear_unfinished(const struct inv_place *p);

/*
 * Calls `each' with every place of our user in the directories, until it
 * returns false or the time has passed.  A directory that is not there, or is
 * listed twice, does no harm.
 */
typedef bool inv_place_each(void *arg, const char *parent, struct inv_place *p);
void inv_places(const char *const *parents, size_t n, unsigned ms,
		inv_place_each *each, void *arg);

/* The same with every room of a recording: its name, and its directory. */
typedef bool inv_room_each(void *arg, const char *name, int fd);
void inv_place_rooms(const struct inv_place *p, inv_room_each *each, void *arg);

#endif
