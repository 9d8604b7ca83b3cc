/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_VM_STARTERS_H
#define INV_VM_STARTERS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Processes that begin requests of sequential traces by calls: start calls.
 *
 * A process that has begun a request keeps the token until a message replaces
 * or removes it. Messages of sockets and of other ports do neither. So a
 * process that is woken only by sockets would hold the token of its first
 * request for ever, and each later start call would belong to that request.
 * With this table the tracer distinguishes the calls, because the VM also
 * reports the end of a start call.
 *
 * 	            begin             the outermost start call ends
 * 	(no entry) ──────► in a call ─────────────────────────────► done
 * 	                      ▲                                      │ │
 * 	                      └──── begin: the next start call ──────┘ │
 * 	                      ▲                                        │ received:
 * 	                      └── go_on: a start call ◄── received ◄───┘ a token came
 * 	                          of the same request
 *
 * In the state `done' the process's token is stale: the next start call begins
 * another request. A start call inside a start call belongs to the request of
 * the token, and so does a start call after a message with a token.
 *
 * The VM has a frame on the process's stack for each start call that has not
 * ended. A loop by tail calls never ends its calls, so the frames are counted,
 * too, for all processes.
 *
 * Only the thread that runs the process may call a function for it; the VM lets
 * one thread at a time run it. No function waits or allocates memory, except
 * inv_starters_make. A process is the term of a local pid.
 */
struct inv_starters;

/* A process with this many frames is too deep (inv_starters_too_deep). */
#define INV_STARTERS_FRAMES 1000u

/* A table with a place for each of `processes'. Returns NULL if there is no
 * memory. Pages take memory when they are used. */
struct inv_starters *inv_starters_make(uint64_t processes);
void inv_starters_free(struct inv_starters *s);

/* Call it when a start call begins a request. */
void inv_starters_begin(struct inv_starters *s, uint64_t process);

/* A start call does not begin a request, and the process keeps its token, if
 * it has a token. */
void inv_starters_go_on(struct inv_starters *s, uint64_t process);

/* Call it when a start call has ended. */
void inv_starters_end(struct inv_starters *s, uint64_t process);

/* Call it when the process has received a message with a token. */
void inv_starters_received(struct inv_starters *s, uint64_t process);

bool inv_starters_done(const struct inv_starters *s, uint64_t process);
bool inv_starters_too_deep(const struct inv_starters *s, uint64_t process);

/*
 * Notes that later events of the process belong to no recorded request until
 * the process begins a request. Returns true if this was noted.
 */
void inv_starters_leave(struct inv_starters *s, uint64_t process);
bool inv_starters_has_left(const struct inv_starters *s, uint64_t process);

/* Forgets that the process has begun a request. */
void inv_starters_forget(struct inv_starters *s, uint64_t process);

#endif
