/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_VM_KEPT_H
#define INV_VM_KEPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The open calls of processes. For each call, the time at which it began and
 * some bytes, such as its arguments, are kept until the call ends.
 *
 * 	 processes                  blocks of 256 bytes
 * 	+----+-----+---+	   +------+-------+	   +------+-------+
 * 	| id | top |...| --------► | call | bytes | below► | call | bytes |
 * 	+----+-----+---+	   +------+-------+	   +------+-------+
 * 				      | next
 * 				   +-------+   more bytes of the call
 * 				   | bytes |
 * 				   +-------+
 *
 * Each process has a stack. Only the thread that runs the process may call the
 * functions for it; the VM lets one thread at a time run it (vm/place.h,
 * vm/open_calls.h). A process moves between threads, and its blocks with it.
 *
 * The number of blocks is fixed. Each thread has a few free blocks of its own.
 * The other free blocks are in lists, which threads exchange by
 * compare-and-swap with a bounded number of attempts. No function waits or
 * allocates memory. A page takes memory only when it is used, and blocks that
 * were used before are taken first.
 */
#define INV_KEPT_BLOCK 256u
#define INV_KEPT_NEAR (INV_KEPT_BLOCK - 48u) /* bytes in a call's own block */
#define INV_KEPT_PROCESS 4096u		     /* blocks of a process, at most */

struct inv_kept;

/* An open call. It is at the start of its first block. */
struct inv_kept_call {
	_Atomic uint32_t link; /* private: the next list of free blocks */
	uint32_t next;	       /* private: the block with more bytes; 0: none */
	uint32_t below;	       /* private: the call around it; 0: none */
	uint16_t blocks;       /* private: how many blocks it has */
	uint16_t gap; /* private: calls without room around it, up to the call
			 below */
	uint32_t function; /* the caller's number of its function */
	uint32_t depth;	   /* how many calls of the process were open around
			      it */
	uint64_t ns;	   /* when it began, in ns */
	uint64_t inner_ns; /* time in calls inside it that have ended */
	uint32_t n;	   /* how many of `bytes' are used */
	uint32_t marks;	   /* these two are the caller's */
	uint8_t bytes[INV_KEPT_NEAR];
};

/* In `marks': the call counts in the numbers of removed calls. */
#define INV_KEPT_COUNTED 1u

/* Returns memory for at most `processes' processes, with `bytes' bytes of
 * blocks. Returns NULL if memory is exhausted. */
struct inv_kept *inv_kept_make(uint64_t processes, uint32_t n_threads,
			       uint64_t bytes);
void inv_kept_free(struct inv_kept *k);

/*
 * A call begins. Returns the call, which has no bytes yet. Returns NULL if
 * there is no room; inv_kept_end will then not find the call. If the entry had
 * open calls of a dead process, they are removed, and *lost becomes their
 * number.
 */
struct inv_kept_call *inv_kept_begin(struct inv_kept *k, uint32_t thread,
				     uint64_t process, uint32_t function,
				     uint64_t ns, uint32_t *lost);

/* Gives the call that has begun last more than INV_KEPT_NEAR bytes. Returns
 * false if there is no room; the call then has no bytes. */
bool inv_kept_put(struct inv_kept *k, uint32_t thread, uint64_t process,
		  struct inv_kept_call *call, const uint8_t *bytes, uint32_t n);

/* Copies the call's bytes, if it has more than INV_KEPT_NEAR. */
void inv_kept_get(const struct inv_kept *k, const struct inv_kept_call *call,
		  uint8_t *bytes);

enum inv_kept_found {
	INV_KEPT_FOUND,
	INV_KEPT_NO_ROOM, /* there was no room when the call began */
	INV_KEPT_UNKNOWN, /* the call did not begin here */
};

/*
 * A call ends. It stays on the stack until inv_kept_pop. The VM reports ends
 * in the reverse order of the calls. So if there are calls above this call on
 * the stack, their ends were lost: these calls are removed, and *lost becomes
 * their number. If among them there were calls for which there was no room, the
 * call that ends may be one of these, and is taken for one.
 */
enum inv_kept_found inv_kept_end(struct inv_kept *k, uint32_t thread,
				 uint64_t process, uint32_t function,
				 struct inv_kept_call **call, uint32_t *lost);

/* Removes the process's innermost open call. `ns' is how long the call took. */
void inv_kept_pop(struct inv_kept *k, uint32_t thread, uint64_t process,
		  uint64_t ns);

/* Removes the open calls of the process for which `gone' returns true, because
 * their ends will not be reported. If there are open calls for which there was no
 * room, removes all calls: it is unknown which ends will be reported. Returns the
 * number of removed calls. */
uint32_t inv_kept_forget(struct inv_kept *k, uint32_t thread, uint64_t process,
			 bool (*gone)(const void *arg, uint32_t function),
			 const void *arg);

/*
 * The process exits. inv_kept_exit returns its innermost open call, or NULL if
 * the process has no open call or another thread sweeps the process. If the
 * result is not NULL, inv_kept_exited must follow. It removes all open calls
 * and returns their number.
 */
struct inv_kept_call *inv_kept_exit(struct inv_kept *k, uint64_t process);
uint32_t inv_kept_exited(struct inv_kept *k, uint32_t thread, uint64_t process);

/*
 * Frees the calls of dead processes, in two steps, from any one thread.
 * inv_kept_mark takes the entries of processes for which is_dead returns true, and
 * writes their numbers; from then on calls of these processes find no room. But
 * such a process may still run, and be in one of the functions above. When the
 * caller knows that each thread has left them once since, inv_kept_reap frees the
 * calls of an entry, and returns how many they are.
 *
 * inv_kept_mark looks at most at `most' entries from index *at on, which is first 0,
 * and writes at most `room' numbers. Returns how many.
 */
uint32_t inv_kept_mark(struct inv_kept *k,
		       bool (*is_dead)(void *arg, uint64_t process), void *arg,
		       uint64_t *at, uint64_t most, uint32_t *entries,
		       uint32_t room);
uint32_t inv_kept_reap(struct inv_kept *k, uint32_t thread, uint32_t entry);

/* Returns true if *at is behind the last entry. */
bool inv_kept_is_end(const struct inv_kept *k, uint64_t at);

#endif
