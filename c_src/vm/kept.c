/* SPDX-License-Identifier: Apache-2.0 */
#include "vm/kept.h"

#include <string.h>

#include "vm/pages.h"
#include "vm/place.h"

/* The most entries of a table; a VM has fewer processes. */
#define PROCESSES_MAX (UINT64_C(1) << 27)

#define BATCH 32u    /* how many free blocks a shared list has */
#define CACHED 128u  /* the most free blocks that a thread keeps in its cache */
#define ATTEMPTS 16u /* attempts of a thread to take or give back a list */

/* A block with bytes of a call for which the call's earlier blocks had no
 * room. */
struct more {
	_Atomic uint32_t link;
	uint32_t next;
	uint8_t bytes[INV_KEPT_BLOCK - 8];
};

union block {
	struct inv_kept_call call;
	struct more more;
};

_Static_assert(sizeof(union block) == INV_KEPT_BLOCK, "a block's size");
_Static_assert(offsetof(struct inv_kept_call, next) ==
		       offsetof(struct more, next),
	       "both kinds of blocks are linked alike");

/* The entry of a process. */
struct entry {
	_Atomic uint64_t id; /* the process; 0: none; SWEPT: a thread is
				emptying the entry */
	uint32_t top;	     /* block of the innermost call; 0: none */
	uint32_t n;	     /* how many open calls are on the stack */
	uint32_t blocks;
	uint32_t more; /* how many open calls inside the call at `top' are not
			  on the stack, because there was no room */
	uint32_t gaps; /* the sum of the field `gap' of all calls on the
			  stack */
	uint32_t pad;
};

/* No process has this id: a pid has other tag bits. */
#define SWEPT UINT64_MAX

struct cache {
	_Alignas(64) uint32_t n;
	uint32_t spare; /* a list of more free blocks; 0: none */
	uint32_t free[CACHED];
};

struct inv_kept {
	size_t bytes; /* bytes of memory of the struct and its tables */
	uint64_t places;
	struct entry *entry;
	uint32_t n_blocks;
	union block *block; /* block 0 is not used, because 0 means no block */
	_Alignas(64) _Atomic uint64_t lists; /* low half: the first block of
						the first list of free blocks;
						high half: an ABA tag */
	_Alignas(64) _Atomic uint32_t fresh; /* how many blocks were ever
						used */
	struct cache cache[];
};

struct inv_kept *inv_kept_make(uint64_t processes, uint32_t n_threads,
			       uint64_t bytes)
{
	size_t size =
		sizeof(struct inv_kept) + n_threads * sizeof(struct cache);
	struct inv_kept *k = inv_pages_map(size);

	if (!k)
		return NULL;
	k->bytes = size;
	k->places = inv_vm_places(processes, PROCESSES_MAX);
	k->n_blocks = (uint32_t)(bytes / INV_KEPT_BLOCK);
	k->fresh = 1;
	k->entry = inv_pages_map(k->places * sizeof(*k->entry));
	k->block = inv_pages_map(k->n_blocks * sizeof(*k->block));
	if (k->entry && k->block)
		return k;
	inv_kept_free(k);
	return NULL;
}

void inv_kept_free(struct inv_kept *k)
{
	if (!k)
		return;
	inv_pages_unmap(k->entry, k->places * sizeof(*k->entry));
	inv_pages_unmap(k->block, k->n_blocks * sizeof(*k->block));
	inv_pages_unmap(k, k->bytes);
}

/* --- free blocks ------------------------------------------------------------- */

static uint32_t first_of(uint64_t lists)
{
	return (uint32_t)lists;
}

static uint64_t numbered(uint64_t lists, uint32_t first)
{
	return ((lists >> 32) + 1) << 32 | first;
}

/* Gives BATCH of the thread's free blocks to the shared lists. Returns false if
 * all attempts fail because of other threads, which is unlikely. */
static bool give_back(struct inv_kept *k, struct cache *c)
{
	uint64_t lists = atomic_load(&k->lists);
	uint32_t first = 0;

	for (uint32_t i = 1; i <= BATCH; i++) {
		uint32_t b = c->free[c->n - i];

		k->block[b].more.next = first;
		first = b;
	}
	for (unsigned i = 0; i < ATTEMPTS; i++) {
		atomic_store_explicit(&k->block[first].more.link,
				      first_of(lists), memory_order_relaxed);
		/* Release: a thread that takes the list sees its links. */
		if (atomic_compare_exchange_strong(&k->lists, &lists,
						   numbered(lists, first))) {
			c->n -= BATCH;
			return true;
		}
	}
	return false;
}

/* Takes a list of free blocks. If another thread takes the list meanwhile, this
 * thread reads the link of a block that is no longer free. Then the ABA tag in
 * `lists' has changed, and the attempt fails. */
static uint32_t take_list(struct inv_kept *k)
{
	uint64_t lists = atomic_load(&k->lists);

	for (unsigned i = 0; i < ATTEMPTS && first_of(lists) != 0; i++) {
		uint32_t first = first_of(lists);
		uint32_t after = atomic_load_explicit(
			&k->block[first].more.link, memory_order_relaxed);

		if (atomic_compare_exchange_strong(&k->lists, &lists,
						   numbered(lists, after)))
			return first;
	}
	return 0;
}

__attribute__((noinline)) static void refill(struct inv_kept *k,
					     struct cache *c)
{
	uint32_t b = c->spare != 0 ? c->spare : take_list(k);
	uint32_t fresh;

	for (; b != 0 && c->n < CACHED; b = k->block[b].more.next)
		c->free[c->n++] = b;
	c->spare = b;
	if (c->n > 0 || atomic_load(&k->fresh) >= k->n_blocks)
		return;
	fresh = atomic_fetch_add(&k->fresh, BATCH);
	for (uint32_t i = BATCH; i > 0; i--)
		if (fresh + i - 1 < k->n_blocks)
			c->free[c->n++] = fresh + i - 1;
}

/* Returns the number of a free block, or 0 if there is none. */
static inline uint32_t take(struct inv_kept *k, uint32_t thread)
{
	struct cache *c = &k->cache[thread];

	if (c->n == 0)
		refill(k, c);
	return c->n > 0 ? c->free[--c->n] : 0;
}

static inline void release(struct inv_kept *k, uint32_t thread, uint32_t b)
{
	struct cache *c = &k->cache[thread];

	if (c->n == CACHED && !give_back(k, c)) {
		k->block[b].more.next = c->spare;
		c->spare = b;
		return;
	}
	c->free[c->n++] = b;
}

static void release_more(struct inv_kept *k, uint32_t thread,
			 struct inv_kept_call *call)
{
	uint32_t b = call->next;

	while (b != 0) {
		uint32_t next = k->block[b].more.next;

		release(k, thread, b);
		b = next;
	}
	call->next = 0;
}

/* --- stacks ------------------------------------------------------------------ */

static inline struct entry *entry_of(struct inv_kept *k, uint64_t process)
{
	return &k->entry[inv_vm_place(process, k->places)];
}

static inline bool has(const struct entry *e, uint64_t process)
{
	return atomic_load_explicit(&e->id, memory_order_relaxed) == process;
}

/* Removes the innermost call of the stack. Returns 1 if the call has the bit
 * INV_KEPT_COUNTED, otherwise 0. */
static inline uint32_t remove_top(struct inv_kept *k, uint32_t thread,
				  struct entry *e)
{
	uint32_t b = e->top;
	struct inv_kept_call *call = &k->block[b].call;
	uint32_t counted = call->marks & INV_KEPT_COUNTED;

	e->top = call->below;
	e->blocks -= call->blocks;
	e->more = call->gap;
	e->gaps -= call->gap;
	e->n--;
	if (call->next != 0)
		release_more(k, thread, call);
	release(k, thread, b);
	return counted;
}

static uint32_t remove_all(struct inv_kept *k, uint32_t thread, struct entry *e)
{
	uint32_t n = 0;

	while (e->n > 0)
		n += remove_top(k, thread, e);
	e->more = 0;
	return n;
}

/* Takes over the entry of a dead process, and removes its calls. Returns false
 * if another thread is emptying the entry. */
__attribute__((noinline)) static bool take_over(struct inv_kept *k,
						uint32_t thread,
						struct entry *e,
						uint64_t process,
						uint32_t *lost)
{
	uint64_t id = atomic_load(&e->id);

	/* Acquire: makes the changes visible that other threads have made to
	 * the entry. */
	if (id == SWEPT ||
	    !atomic_compare_exchange_strong(&e->id, &id, process))
		return false;
	*lost = remove_all(k, thread, e);
	return true;
}

struct inv_kept_call *inv_kept_begin(struct inv_kept *k, uint32_t thread,
				     uint64_t process, uint32_t function,
				     uint64_t ns, uint32_t *lost)
{
	struct entry *e = entry_of(k, process);
	struct inv_kept_call *call;
	uint32_t b;

	*lost = 0;
	if (!has(e, process) && !take_over(k, thread, e, process, lost))
		return NULL;
	b = e->more <= UINT16_MAX && e->blocks < INV_KEPT_PROCESS ?
		    take(k, thread) :
		    0;
	if (b == 0) {
		e->more++;
		return NULL;
	}
	call = &k->block[b].call;
	call->next = 0;
	call->below = e->top;
	call->gap = (uint16_t)e->more;
	call->blocks = 1;
	e->gaps += e->more;
	e->more = 0;
	call->function = function;
	call->depth = e->n + e->gaps;
	call->ns = ns;
	call->inner_ns = 0;
	call->n = 0;
	call->marks = 0;
	e->top = b;
	e->n++;
	e->blocks++;
	return call;
}

bool inv_kept_put(struct inv_kept *k, uint32_t thread, uint64_t process,
		  struct inv_kept_call *call, const uint8_t *bytes, uint32_t n)
{
	struct entry *e = entry_of(k, process);
	const uint32_t a_block = sizeof(k->block[0].more.bytes);
	uint32_t *at = &call->next;
	uint32_t done = INV_KEPT_NEAR;

	memcpy(call->bytes, bytes, INV_KEPT_NEAR);
	while (done < n) {
		uint32_t len = n - done < a_block ? n - done : a_block;
		uint32_t b = e->blocks < INV_KEPT_PROCESS ? take(k, thread) : 0;

		*at = b;
		if (b == 0) {
			release_more(k, thread, call);
			e->blocks -= call->blocks - 1;
			call->blocks = 1;
			return false;
		}
		e->blocks++;
		call->blocks++;
		memcpy(k->block[b].more.bytes, bytes + done, len);
		done += len;
		at = &k->block[b].more.next;
		*at = 0;
	}
	call->n = n;
	return true;
}

void inv_kept_get(const struct inv_kept *k, const struct inv_kept_call *call,
		  uint8_t *bytes)
{
	const uint32_t a_block = sizeof(k->block[0].more.bytes);
	uint32_t done = INV_KEPT_NEAR;

	memcpy(bytes, call->bytes, INV_KEPT_NEAR);
	for (uint32_t b = call->next; b != 0 && done < call->n;
	     b = k->block[b].more.next) {
		uint32_t len = call->n - done < a_block ? call->n - done :
							  a_block;

		memcpy(bytes + done, k->block[b].more.bytes, len);
		done += len;
	}
}

/*
 * A call of the function ends. Returns how many calls must be removed from the
 * top of the stack, so that the ended call is the innermost call. Returns e->n
 * if the stack has no call of the function.
 *
 * Open calls for which there was no room are a gap in the stack. If there is a
 * gap above the function's innermost call on the stack, the ended call may be
 * in the gap. In this case only the calls above the gap are to be removed.
 */
static uint32_t above(const struct inv_kept *k, const struct entry *e,
		      uint32_t function)
{
	uint32_t b = e->top;
	uint32_t gap = 0;
	uint32_t n = 0;

	while (n < e->n && k->block[b].call.function != function) {
		n++;
		if (gap == 0 && k->block[b].call.gap > 0)
			gap = n;
		b = k->block[b].call.below;
	}
	return gap > 0 && n < e->n ? gap : n;
}

enum inv_kept_found inv_kept_end(struct inv_kept *k, uint32_t thread,
				 uint64_t process, uint32_t function,
				 struct inv_kept_call **call, uint32_t *lost)
{
	struct entry *e = entry_of(k, process);

	*lost = 0;
	*call = NULL;
	if (!has(e, process) || e->n + e->more == 0)
		return INV_KEPT_UNKNOWN;
	if (e->more == 0 && k->block[e->top].call.function != function) {
		uint32_t n = above(k, e, function);

		if (n == e->n)
			return INV_KEPT_UNKNOWN;
		for (; n > 0; n--)
			*lost += remove_top(k, thread, e);
	}
	if (e->more > 0) {
		e->more--;
		return INV_KEPT_NO_ROOM;
	}
	*call = &k->block[e->top].call;
	return INV_KEPT_FOUND;
}

void inv_kept_pop(struct inv_kept *k, uint32_t thread, uint64_t process,
		  uint64_t ns)
{
	struct entry *e = entry_of(k, process);

	(void)remove_top(k, thread, e);
	if (e->top != 0)
		k->block[e->top].call.inner_ns += ns;
}

uint32_t inv_kept_forget(struct inv_kept *k, uint32_t thread, uint64_t process,
			 bool (*gone)(const void *arg, uint32_t function),
			 const void *arg)
{
	struct entry *e = entry_of(k, process);
	uint32_t *at = &e->top;
	uint32_t n = 0;

	if (!has(e, process))
		return 0;
	/* If there was no room for some open calls, it is unknown whether
	 * `gone' selects their functions. So remove all calls. */
	if (e->more > 0 || e->gaps > 0)
		return remove_all(k, thread, e);
	while (*at != 0) {
		uint32_t b = *at;
		struct inv_kept_call *call = &k->block[b].call;

		if (!gone(arg, call->function)) {
			at = &call->below;
			continue;
		}
		n += call->marks & INV_KEPT_COUNTED;
		*at = call->below;
		e->n--;
		e->blocks -= call->blocks;
		release_more(k, thread, call);
		release(k, thread, b);
	}
	return n;
}

/* --- dead processes ---------------------------------------------------------- */

struct inv_kept_call *inv_kept_exit(struct inv_kept *k, uint64_t process)
{
	struct entry *e = entry_of(k, process);
	uint64_t id = process;

	if (!has(e, process) || e->top == 0 ||
	    !atomic_compare_exchange_strong(&e->id, &id, SWEPT))
		return NULL;
	return &k->block[e->top].call;
}

uint32_t inv_kept_exited(struct inv_kept *k, uint32_t thread, uint64_t process)
{
	struct entry *e = entry_of(k, process);
	uint32_t n = remove_all(k, thread, e);

	atomic_store(&e->id, 0);
	return n;
}

uint32_t inv_kept_mark(struct inv_kept *k,
		       bool (*is_dead)(void *arg, uint64_t process), void *arg,
		       uint64_t *at, uint64_t most, uint32_t *entries,
		       uint32_t room)
{
	uint32_t n = 0;

	for (; most > 0 && n < room && *at < k->places; most--, ++*at) {
		struct entry *e = &k->entry[*at];
		uint64_t id = atomic_load(&e->id);

		if (id != 0 && id != SWEPT && is_dead(arg, id) &&
		    atomic_compare_exchange_strong(&e->id, &id, SWEPT))
			entries[n++] = (uint32_t)*at;
	}
	return n;
}

uint32_t inv_kept_reap(struct inv_kept *k, uint32_t thread, uint32_t entry)
{
	struct entry *e = &k->entry[entry];
	uint32_t n = remove_all(k, thread, e);

	atomic_store(&e->id, 0);
	return n;
}

bool inv_kept_is_end(const struct inv_kept *k, uint64_t at)
{
	return at >= k->places;
}
