/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_VM_KEPT_H
#define INV_VM_KEPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The open calls of processes: calls that have begun and not ended. Until a
 * call ends, the table keeps the time at which the call began, and bytes that
 * belong to the call, such as its arguments.
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
 * Each process has a stack of calls; `top' is the innermost call. Only the
 * thread that runs a process may call the functions for the process; the VM
 * lets one thread at a time run it. If a process moves to another thread, its
 * blocks still belong to the process.
 *
 * The number of blocks is fixed. Each thread has a few free blocks of its own.
 * The other free blocks are in shared lists, which threads take and give back
 * by compare-and-swap with a bounded number of attempts. No function waits or
 * allocates memory. A page takes memory when it is first used, so blocks that
 * were used before are taken first.
 */
#define INV_KEPT_BLOCK 256u
/* How many bytes of a call fit into its first block. */
#define INV_KEPT_NEAR (INV_KEPT_BLOCK - 48u)
#define INV_KEPT_PROCESS 4096u /* blocks of a process, at most */

struct inv_kept;

/* An open call. It is at the start of its first block. */
struct inv_kept_call {
	_Atomic uint32_t link; /* private: the next list of free blocks */
	uint32_t next;	       /* private: the block with more bytes; 0: none */
	uint32_t below;	       /* private: the call around this call; 0: none */
	uint16_t blocks;       /* private: how many blocks the call has */
	uint16_t gap; /* private: how many calls between this call and `below'
			 are not on the stack, because there was no room */
	uint32_t function; /* the number that was passed to inv_kept_begin */
	uint32_t depth;	   /* how many calls of the process were open when this
			      call began */
	uint64_t ns;	   /* when the call began, in ns */
	uint64_t inner_ns; /* the total time of the ended calls inside this
			      call */
	uint32_t n;	   /* how many bytes the call has */
	uint32_t marks;	   /* bits that the caller sets, as it fills `bytes' */
	uint8_t bytes[INV_KEPT_NEAR];
};

/* A bit in `marks'. Functions that return a number of removed calls count only
 * the calls with this bit. */
#define INV_KEPT_COUNTED 1u

/* Makes a table for at most `processes' processes, whose blocks take at most
 * `bytes' bytes. Returns NULL if there is no memory. */
struct inv_kept *inv_kept_make(uint64_t processes, uint32_t n_threads,
			       uint64_t bytes);
void inv_kept_free(struct inv_kept *k);

/*
 * Pushes a call that begins onto the process's stack. Returns the call, which
 * has no bytes yet. Returns NULL if there is no room; inv_kept_end will then
 * not find the call. If the process's entry still has open calls of a dead
 * process, removes them, and sets *lost to their number.
 */
struct inv_kept_call *inv_kept_begin(struct inv_kept *k, uint32_t thread,
				     uint64_t process, uint32_t function,
				     uint64_t ns, uint32_t *lost);

/* Copies more than INV_KEPT_NEAR bytes into the call, which must be the
 * process's innermost open call, and sets call->n. Returns false if there is no
 * room; call->n is then unchanged. */
bool inv_kept_put(struct inv_kept *k, uint32_t thread, uint64_t process,
		  struct inv_kept_call *call, const uint8_t *bytes, uint32_t n);

/* Copies all bytes of the call to `bytes', if the call has more than
 * INV_KEPT_NEAR. Otherwise call->bytes has all of them. */
void inv_kept_get(const struct inv_kept *k, const struct inv_kept_call *call,
		  uint8_t *bytes);

enum inv_kept_found {
	INV_KEPT_FOUND,
	INV_KEPT_NO_ROOM, /* there was no room when the call began */
	INV_KEPT_UNKNOWN, /* inv_kept_begin was not called for the call, or the
			     call was removed */
};

/*
 * Finds the call that ends. The call stays on the stack until inv_kept_pop. The
 * VM reports ends in the reverse order of the calls. So if other calls are
 * above this call on the stack, their ends were lost. These calls are removed,
 * and *lost is set to their number.
 *
 * If there was no room for a later call, the call that ends may be this later
 * call. In this case the result is INV_KEPT_NO_ROOM.
 */
enum inv_kept_found inv_kept_end(struct inv_kept *k, uint32_t thread,
				 uint64_t process, uint32_t function,
				 struct inv_kept_call **call, uint32_t *lost);

/* Removes the process's innermost open call. `ns' is the duration of the call,
 * which is added to inner_ns of the call around it. */
void inv_kept_pop(struct inv_kept *k, uint32_t thread, uint64_t process,
		  uint64_t ns);

/* Removes the open calls whose ends the VM will not report. `gone' returns true
 * for the functions of these calls. If there was no room for an open call,
 * removes all calls, because it is then unknown which ends will be reported.
 * Returns the number of removed calls. */
uint32_t inv_kept_forget(struct inv_kept *k, uint32_t thread, uint64_t process,
			 bool (*gone)(const void *arg, uint32_t function),
			 const void *arg);

/*
 * For a process that exits. inv_kept_exit returns its innermost open call. It
 * returns NULL if the process has no open call, or if another thread has taken
 * the entry with inv_kept_mark. If the result is not NULL, the caller must then
 * call inv_kept_exited, which removes all open calls and returns their number.
 */
struct inv_kept_call *inv_kept_exit(struct inv_kept *k, uint64_t process);
uint32_t inv_kept_exited(struct inv_kept *k, uint32_t thread, uint64_t process);

/*
 * inv_kept_mark and inv_kept_reap free the calls of dead processes. At most one
 * thread at a time may call them.
 *
 * inv_kept_mark takes the table's entries of processes for which is_dead
 * returns true, and writes the indices of the entries to `entries'. From then
 * on there is no room for further calls of these processes. A process can still
 * run while it exits, so its thread can be in one of the functions above. The
 * caller waits until it has seen each thread outside of these functions once.
 * Then the caller calls inv_kept_reap, which removes the calls of an entry, and
 * returns their number.
 *
 * inv_kept_mark looks at no more than `most' entries, from index *at on, and
 * moves *at; *at is 0 at the first call. It writes at most `room' indices, and
 * returns how many.
 */
uint32_t inv_kept_mark(struct inv_kept *k,
		       bool (*is_dead)(void *arg, uint64_t process), void *arg,
		       uint64_t *at, uint64_t most, uint32_t *entries,
		       uint32_t room);
uint32_t inv_kept_reap(struct inv_kept *k, uint32_t thread, uint32_t entry);

/* Returns true if *at is behind the last entry. */
bool inv_kept_is_end(const struct inv_kept *k, uint64_t at);

#endif
