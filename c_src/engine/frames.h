/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_FRAMES_H
#define INV_ENGINE_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Which sessions want to hear of the end of a call: the VM tells it once, to
 * us, and its frame on the process' stack cannot say for whom.  So here is a
 * stack beside it, with one frame for each of the VM's, in runs of equal ones:
 * a recursive function has one run.
 *
 * Runs lie in blocks, which come from a pool that all processes share and that
 * is as large as the deepest recursions ask for, in pages that take memory when
 * they are used.  When it is exhausted, frames are counted, and their ends are
 * for nobody.
 *
 * A stack belongs to the thread that its process runs in.
 */
struct inv_call_frame {
	uint32_t returns;    /* sessions: {return_trace} or the next */
	uint32_t exceptions; /* sessions: {exception_trace} */
	uint32_t tracer;     /* of a session that has none of its own */
	uint32_t birth;	     /* sessions younger than the call do not count */
	uint32_t function;   /* that was called, as a hash */
};

/* Zero: empty. */
struct inv_frames {
	uint32_t block;	 /* the uppermost; 0: none */
	uint32_t beyond; /* frames that there was no room for */
	uint32_t turn;	 /* since inv_frames_clear() was called so often */
};

/* 0, or -1: no memory. */
int inv_frames_init(void);
void inv_frames_end(void);

/* All stacks are empty, also those that a thread is just about to write to. */
void inv_frames_clear(void);

/* False: there was no room. */
bool inv_frames_push(struct inv_frames *f, const struct inv_call_frame *frame);

/* False: a frame that we know nothing of. */
bool inv_frames_pop(struct inv_frames *f, struct inv_call_frame *frame);

/* The uppermost; NULL: one that we know nothing of. */
const struct inv_call_frame *inv_frames_top(const struct inv_frames *f);

/* Empties a stack; its process is dead. */
void inv_frames_drop(struct inv_frames *f);

#endif
