/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_FRAMES_H
#define INV_ENGINE_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Shadow stacks: they record which sessions want the end of a call. The VM
 * reports the end of a call once, and does not say for which sessions. So for
 * each frame that the VM has on the process's stack to report an end, the
 * engine has a frame on a shadow stack. Equal frames in succession, as of a
 * recursive function, are stored once with a count: a run.
 *
 * Runs are in blocks from a pool that all processes share; a page of the pool
 * takes memory when it is first used. If the pool is exhausted, frames are only
 * counted, and the sessions do not get the ends of their calls.
 *
 * A stack may be used only by the thread in which its process runs.
 */
struct inv_call_frame {
	uint32_t returns;    /* sessions that want return_from */
	uint32_t exceptions; /* sessions that want return_from and
				exception_from */
	uint32_t tracer;     /* number of the tracer for a session that has no
			    tracer of its own */
	uint32_t birth;	     /* the number of the session that was the youngest
			    when the call began (session.h) */
	uint32_t function;   /* the called function, as a hash */
};

/* A stack.  All fields are 0 if it is empty. */
struct inv_frames {
	uint32_t block; /* the block with the topmost frames; 0: no block */
	/* How many of the topmost frames are not stored, because the pool was
	 * exhausted. */
	uint32_t beyond;
	/* How often inv_frames_clear() had been called when the stack was last
	 * used. If it was called again since, the stack is empty. */
	uint32_t turn;
};

/* Returns 0, or -1 if memory is exhausted. */
int inv_frames_init(void);
void inv_frames_end(void);

/*
 * Empties all stacks. If a thread is changing a stack at the same time, that
 * stack is empty at its next use.
 */
void inv_frames_clear(void);

/* Returns false if the pool is exhausted, so that the frame is only counted. */
bool inv_frames_push(struct inv_frames *f, const struct inv_call_frame *frame);

/* Returns false if the stack is empty or the top frame was only counted. */
bool inv_frames_pop(struct inv_frames *f, struct inv_call_frame *frame);

/*
 * Returns the top frame, or NULL if the stack is empty or the top frame was
 * only counted.
 */
const struct inv_call_frame *inv_frames_top(const struct inv_frames *f);

/* Empties the stack of a dead process. */
void inv_frames_drop(struct inv_frames *f);

#endif
