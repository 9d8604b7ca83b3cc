/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/thread.h"

#include <erl_nif.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

_Atomic bool inv_thread_fence;

static struct inv_thread threads[INV_RINGS_MAX];

/* For each kind of thread, first[kind] is the index of its first thread, and
 * taken[kind] is how many of its indices are in use. */
enum kind {
	NORMAL,
	DIRTY_CPU,
	DIRTY_IO,
	KINDS
};
static uint32_t first[KINDS + 1];
static _Atomic uint32_t taken[KINDS];

__thread struct inv_thread *inv_thread_me;

static long membarrier(int cmd)
{
	return syscall(SYS_membarrier, cmd, 0, 0);
}

void inv_threads_init(uint32_t normal, uint32_t dirty_cpu, uint32_t dirty_io)
{
	first[NORMAL] = 0;
	first[DIRTY_CPU] = normal;
	first[DIRTY_IO] = normal + dirty_cpu;
	first[KINDS] = normal + dirty_cpu + dirty_io;
	if (first[KINDS] > INV_RINGS_MAX)
		first[KINDS] = INV_RINGS_MAX;
	if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0)
		atomic_store(&inv_thread_fence, true);
}

uint32_t inv_threads_count(void)
{
	return first[KINDS];
}

struct inv_thread *inv_thread_register(void)
{
	uint32_t index;
	enum kind kind;

	switch (enif_thread_type()) {
	case ERL_NIF_THR_NORMAL_SCHEDULER:
		kind = NORMAL;
		break;
	case ERL_NIF_THR_DIRTY_CPU_SCHEDULER:
		kind = DIRTY_CPU;
		break;
	case ERL_NIF_THR_DIRTY_IO_SCHEDULER:
		kind = DIRTY_IO;
		break;
	default:
		return NULL;
	}
	index = first[kind] + atomic_fetch_add(&taken[kind], 1);
	if (index >= first[kind + 1])
		return NULL;
	inv_thread_me = &threads[index];
	inv_thread_me->index = index;
	return inv_thread_me;
}

void inv_threads_barrier(void)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load(&inv_thread_fence))
		membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

bool inv_thread_busy(uint32_t index, uint32_t slot)
{
	return atomic_load_explicit(&threads[index].busy,
				    memory_order_acquire) == slot + 1;
}

bool inv_threads_busy(uint32_t slot)
{
	uint32_t i;

	for (i = 0; i < first[KINDS]; i++)
		if (inv_thread_busy(i, slot))
			return true;
	return false;
}

bool inv_threads_hold(const void *p)
{
	uint32_t i;

	for (i = 0; i < first[KINDS]; i++)
		if (atomic_load_explicit(&threads[i].held,
					 memory_order_acquire) == p)
			return true;
	return false;
}
