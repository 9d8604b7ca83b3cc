/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/calls.h"

#include <stdlib.h>
#include <string.h>

/* A return is compared with at most this many open calls, so that returns
 * without a call cost little even in a deep recursion. */
#define SEARCHED 4096u
#define FIRST_CAP 8u
/* If a process has no open calls, and its buffer of copies is larger than this,
 * the buffer is freed when the next call is added. */
#define KEPT_COPIES (64u * 1024)

void inv_calls_release(struct inv_calls *calls)
{
	free(calls->v);
	inv_buf_release(&calls->copies);
	memset(calls, 0, sizeof(*calls));
}

struct inv_open_call *inv_calls_push(struct inv_calls *calls)
{
	uint32_t cap = calls->cap ? 2 * calls->cap : FIRST_CAP;
	struct inv_open_call *v = calls->v;

	if (!calls->n && calls->copies.cap > KEPT_COPIES)
		inv_buf_release(&calls->copies);
	if (calls->n == calls->cap) {
		if (cap > UINT32_MAX / 2)
			return NULL;
		v = realloc(v, cap * sizeof(*v));
		if (!v)
			return NULL;
		calls->v = v;
		calls->cap = cap;
	}
	v = &calls->v[calls->n++];
	memset(v, 0, sizeof(*v));
	v->copy = calls->copies.len;
	return v;
}

/* Adds with wraparound: times in a damaged file may be anything. */
static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

struct inv_open_call *inv_calls_find(const struct inv_calls *calls,
				     uint64_t mfa)
{
	uint32_t stop = calls->n > SEARCHED ? calls->n - SEARCHED : 0;

	for (uint32_t i = calls->n; i > stop; i--)
		if (calls->v[i - 1].mfa == mfa)
			return &calls->v[i - 1];
	return NULL;
}

void inv_calls_end(struct inv_calls *calls, struct inv_open_call *call,
		   int64_t end_ns, struct inv_ended_call *ended)
{
	uint32_t at = (uint32_t)(call - calls->v);

	/* The calls inside this call are removed, and how long they took is
	 * unknown. But inner_ns of a removed call is the time of ended calls
	 * inside it, which were inside this call, too. So adds the inner_ns of
	 * all removed calls to the inner_ns of this call. */
	for (uint32_t i = at + 1; i < calls->n; i++)
		call->inner_ns = plus(call->inner_ns, calls->v[i].inner_ns);
	*ended = (struct inv_ended_call){ .call = *call,
					  .depth = at,
					  .inside = calls->n - at - 1 };
	if (at)
		calls->v[at - 1].inner_ns =
			plus(calls->v[at - 1].inner_ns,
			     inv_calls_between(call->begin_ns, end_ns));
	calls->n = at;
	calls->copies.len = call->copy;
}

/* The copies of removed calls stay in `copies' until a call around them
 * ends. */
uint32_t inv_calls_remove(struct inv_calls *calls, uint64_t mfa, uint64_t item)
{
	uint32_t n = 0, gone;

	for (uint32_t i = 0; i < calls->n; i++)
		if (calls->v[i].mfa != mfa || calls->v[i].item >= item)
			calls->v[n++] = calls->v[i];
	gone = calls->n - n;
	calls->n = n;
	if (!n)
		calls->copies.len = 0;
	return gone;
}

/* Removes the outer half of the calls. Also frees unused memory, because
 * inv_calls_size counts it. */
uint32_t inv_calls_halve(struct inv_calls *calls)
{
	uint32_t gone = calls->n - calls->n / 2;
	struct inv_open_call *v;
	uint8_t *copies;
	size_t from = gone < calls->n ? calls->v[gone].copy : calls->copies.len;

	calls->n -= gone;
	memmove(calls->v, calls->v + gone, calls->n * sizeof(*calls->v));
	for (uint32_t i = 0; i < calls->n; i++)
		calls->v[i].copy -= from;
	calls->copies.len -= from;
	if (calls->copies.len)
		memmove(calls->copies.data, calls->copies.data + from,
			calls->copies.len);
	v = calls->n ? realloc(calls->v, calls->n * sizeof(*v)) : NULL;
	if (v) {
		calls->v = v;
		calls->cap = calls->n;
	}
	copies = calls->copies.len ?
			 realloc(calls->copies.data, calls->copies.len) :
			 NULL;
	if (copies) {
		calls->copies.data = copies;
		calls->copies.cap = calls->copies.len;
	} else if (!calls->copies.len) {
		inv_buf_release(&calls->copies);
	}
	return gone;
}
