/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_VM_STARTERS_H
#define INV_VM_STARTERS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Processes that begin requests (sequential traces) by start calls: calls whose
 * match spec sets the token.
 *
 * A process that has begun a request keeps the token until it receives a
 * message that replaces or removes the token. Messages of sockets and of other
 * ports do not change the token. So a process that receives only such messages
 * would keep the token of its first request for ever, and each later start call
 * would belong to that request. With this table the tracer finds out which
 * start calls begin another request, because the VM also reports the ends of
 * start calls.
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
 * another request. A start call inside another start call belongs to the
 * request of the token. The same is true for a start call after a message with
 * a token.
 *
 * The VM has a frame on the process's stack for each start call that has not
 * ended. If a process loops by tail calls, these calls never end, and the stack
 * grows. So the table also counts these frames for each process
 * (inv_starters_too_deep).
 *
 * Only the thread that runs a process may call a function for the process; the
 * VM lets one thread at a time run it. No function waits or allocates memory,
 * except inv_starters_make. The argument `process' is the term of a local pid.
 */
struct inv_starters;

/* inv_starters_too_deep returns true if the process has at least this many
 * frames of start calls. */
#define INV_STARTERS_FRAMES 1000u

/* Makes a table for at most `processes' processes. Returns NULL if there is no
 * memory. A page takes memory when it is first used. */
struct inv_starters *inv_starters_make(uint64_t processes);
void inv_starters_free(struct inv_starters *s);

/* Call it when a start call begins a request. */
void inv_starters_begin(struct inv_starters *s, uint64_t process);

/* Call it at the beginning of a start call that does not begin a request. If
 * the process has a token, it keeps the token. */
void inv_starters_go_on(struct inv_starters *s, uint64_t process);

/* Call it when a start call has ended. */
void inv_starters_end(struct inv_starters *s, uint64_t process);

/* Call it when the process has received a message with a token. */
void inv_starters_received(struct inv_starters *s, uint64_t process);

bool inv_starters_done(const struct inv_starters *s, uint64_t process);
bool inv_starters_too_deep(const struct inv_starters *s, uint64_t process);

/*
 * inv_starters_leave notes that later events of the process belong to no
 * recorded request, until the process begins a request or receives a token.
 * inv_starters_has_left returns true if this was noted.
 */
void inv_starters_leave(struct inv_starters *s, uint64_t process);
bool inv_starters_has_left(const struct inv_starters *s, uint64_t process);

/* Forgets that the process has begun a request, so that its state is not
 * `done'. */
void inv_starters_forget(struct inv_starters *s, uint64_t process);

#endif
