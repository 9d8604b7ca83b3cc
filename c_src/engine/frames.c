/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/frames.h"

#include <stdatomic.h>
#include <stddef.h>

#include "engine/lost.h"
#include "vm/pages.h"

#define RUNS 15
#define BLOCKS (1U << 18)
#define BYTES (BLOCKS * sizeof(struct block))

struct run {
	struct inv_call_frame frame;
	uint32_t count;
};

struct block {
	uint32_t below;	 /* in a stack: the block below this one; in the list of
			    free blocks: the next one */
	uint32_t bottom; /* the lowest block of the stack */
	uint32_t runs;
	uint32_t pad;
	struct run run[RUNS];
};

/*
 * The free blocks are in a stack. `free_top' has the number of the stack's top
 * block and an ABA tag. Blocks from the number `fresh' on were never used.
 */
static struct block *blocks; /* the pool; block 0 is not used, because its
				number means no block */
static _Atomic uint64_t free_top;
static _Atomic uint32_t fresh;
static _Atomic uint32_t turn;

int inv_frames_init(void)
{
	blocks = inv_pages_map(BYTES);
	atomic_store(&fresh, 1);
	return blocks ? 0 : -1;
}

void inv_frames_end(void)
{
	inv_pages_unmap(blocks, BYTES);
	blocks = NULL;
}

static uint64_t changed(uint64_t top, uint32_t block)
{
	return ((top >> 32) + 1) << 32 | block;
}

/*
 * While the blocks are cleared, no block is free. Otherwise a thread could take
 * a block that is then cleared while the thread uses it.
 */
void inv_frames_clear(void)
{
	atomic_fetch_add(&turn, 1);
	atomic_store(&fresh, BLOCKS);
	atomic_store(&free_top, changed(atomic_load(&free_top), 0));
	inv_pages_clear(blocks, BYTES);
	atomic_store(&fresh, 1);
}

/* Returns true if inv_frames_clear() has freed the blocks of this stack. */
static bool is_gone(const struct inv_frames *f)
{
	return f->turn != atomic_load_explicit(&turn, memory_order_relaxed);
}

static void look(struct inv_frames *f)
{
	if (is_gone(f))
		*f = (struct inv_frames){ .turn = atomic_load(&turn) };
}

/* Returns the number of a free block, or 0 if there is none. */
static uint32_t take(void)
{
	uint64_t top = atomic_load(&free_top);
	uint32_t block;

	while ((block = (uint32_t)top) != 0)
		if (atomic_compare_exchange_weak(
			    &free_top, &top, changed(top, blocks[block].below)))
			return block;
	if (atomic_load(&fresh) >= BLOCKS)
		return 0;
	block = atomic_fetch_add(&fresh, 1);
	return block < BLOCKS ? block : 0;
}

/* Frees a list of blocks, from `block' to `last'. */
static void give(uint32_t block, uint32_t last)
{
	uint64_t top = atomic_load(&free_top);

	do
		blocks[last].below = (uint32_t)top;
	while (!atomic_compare_exchange_weak(&free_top, &top,
					     changed(top, block)));
}

static bool equal(const struct inv_call_frame *a,
		  const struct inv_call_frame *b)
{
	return a->returns == b->returns && a->exceptions == b->exceptions &&
	       a->tracer == b->tracer && a->birth == b->birth &&
	       a->function == b->function;
}

/*
 * Puts a block on top of the stack, and returns it. Returns NULL if no block is
 * free.
 */
static struct block *grow(struct inv_frames *f)
{
	uint32_t number = take();
	struct block *b = &blocks[number];

	if (number == 0)
		return NULL;
	b->below = f->block;
	b->bottom = f->block ? blocks[f->block].bottom : number;
	b->runs = 0;
	f->block = number;
	return b;
}

/*
 * Returns the number of runs in the top block.  If inv_frames_clear() has run
 * in another thread meanwhile, the block may belong to another stack; so the
 * number is checked.
 */
static uint32_t count_runs(const struct inv_frames *f)
{
	uint32_t runs = f->block ? blocks[f->block].runs : 0;

	return runs <= RUNS ? runs : 0;
}

bool inv_frames_push(struct inv_frames *f, const struct inv_call_frame *frame)
{
	struct block *b;
	uint32_t runs;

	look(f);
	b = &blocks[f->block];
	runs = count_runs(f);
	if (f->beyond == 0 && runs > 0 && b->run[runs - 1].count < UINT32_MAX &&
	    equal(&b->run[runs - 1].frame, frame)) {
		b->run[runs - 1].count++;
		return true;
	}
	if (f->beyond == 0 && runs % RUNS == 0) {
		b = grow(f);
		runs = 0;
	}
	if (f->beyond > 0 || !b) {
		f->beyond++;
		inv_shortage(INV_SHORTAGE_FRAME);
		return false;
	}
	b->run[runs].frame = *frame;
	b->run[runs].count = 1;
	b->runs = runs + 1;
	return true;
}

bool inv_frames_pop(struct inv_frames *f, struct inv_call_frame *frame)
{
	uint32_t number;
	struct block *b;
	uint32_t runs;

	look(f);
	if (f->beyond > 0) {
		f->beyond--;
		return false;
	}
	number = f->block;
	runs = count_runs(f);
	if (runs == 0)
		return false;
	b = &blocks[number];
	*frame = b->run[runs - 1].frame;
	if (--b->run[runs - 1].count > 0)
		return true;
	b->runs = runs - 1;
	if (runs == 1) {
		f->block = b->below;
		give(number, number);
	}
	return true;
}

const struct inv_call_frame *inv_frames_top(const struct inv_frames *f)
{
	uint32_t runs = is_gone(f) || f->beyond > 0 ? 0 : count_runs(f);

	return runs > 0 ? &blocks[f->block].run[runs - 1].frame : NULL;
}

void inv_frames_drop(struct inv_frames *f)
{
	look(f);
	if (f->block != 0)
		give(f->block, blocks[f->block].bottom);
	f->block = 0;
	f->beyond = 0;
}
