/* SPDX-License-Identifier: Apache-2.0 */
#include "spool/recover.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "spool/drain.h"
#include "spool/watch.h"

#define DYING_MS 2000
#define LOOK_MS 10

/*
 * Returns true if the VM was in another pid namespace. If so, the VM's pid
 * means another process, or no process, in the namespace of this program.
 */
static bool is_elsewhere(const struct inv_ring_ctl *ctl)
{
	return ctl->vm_pid_ns && ctl->vm_pid_ns != inv_process_ns();
}

/*
 * Returns true if the VM has ended. If it is a zombie, waits until all its
 * threads have ended: a killed process is a zombie as soon as its first thread
 * has ended, while other threads may still run.
 */
static bool has_ended(struct inv_vm_watch *vm)
{
	int left = DYING_MS / LOOK_MS;

	while (!inv_vm_watch_is_dead(vm)) {
		if (inv_process_start(vm->pid) || left-- == 0)
			return false;
		inv_sleep_ms(LOOK_MS);
	}
	return true;
}

static int is_dead(const struct inv_ring_ctl *ctl, bool force,
		   struct inv_err *err)
{
	struct inv_vm_watch vm;
	bool dead;

	if (is_elsewhere(ctl) && force)
		return 0;
	if (is_elsewhere(ctl))
		return inv_err_set(err, INV_EBUSY,
				   "its node ran in another pid namespace (a "
				   "container?), so it is not known whether "
				   "process %d still runs; if it does not, use "
				   "--force",
				   (int)ctl->vm_pid);
	inv_vm_watch_open(&vm, ctl->vm_pid, ctl->vm_start);
	dead = has_ended(&vm);
	inv_vm_watch_close(&vm);
	if (dead)
		return 0;
	return inv_err_set(err, INV_EBUSY, "its node still runs, as process %d",
			   (int)ctl->vm_pid);
}

static int open_log(struct inv_spool *s, struct inv_attached *mem,
		    const char *out, struct inv_err *err)
{
	int r;

	if (out)
		return inv_spool_open_at(s, mem, out, err);
	r = inv_spool_open_again(s, mem, err);
	if (r < 0)
		inv_err_ctx(err, "cannot continue its log (-o FILE writes a "
				 "new one)");
	return r;
}

static void sum_up(const struct inv_spool *s, struct inv_recovered *done)
{
	const struct inv_ring_ctl *ctl = s->mem->ctl;
	struct inv_log_totals t;
	uint32_t i, k;

	for (i = 0; i < s->mem->n_rings; i++) {
		inv_spool_totals(s, i, &t);
		done->recorded += t.recorded;
		done->produced += t.produced;
		for (k = 0; k < INV_LOSS_COUNT; k++)
			done->dropped[k] += t.dropped[k];
	}
	t.produced = atomic_load_explicit(&ctl->no_ring, memory_order_relaxed);
	done->produced += t.produced;
	done->dropped[INV_LOSS_NO_RING] += t.produced;
	snprintf(done->node, sizeof(done->node), "%.*s",
		 (int)sizeof(ctl->node) - 1, ctl->node);
	inv_files_name(&s->files, s->at.file, done->path);
}

static int empty(struct inv_spool *s, struct inv_recovered *done,
		 struct inv_err *err)
{
	bool behind;
	int r;

	r = inv_spool_drain(s, INV_TAKE_OPEN | INV_TAKE_LAST, true,
			    &done->n_events, &behind, err);
	if (r == 0)
		r = inv_spool_finish(s, INV_END_RECOVERED, err);
	if (r < 0)
		return r;
	sum_up(s, done);
	atomic_store_explicit(&s->mem->ctl->spool_state, INV_SPOOL_DONE,
			      memory_order_release);
	return 0;
}

int inv_recover(const char *ring, const char *out, bool force,
		struct inv_recovered *done, struct inv_err *err)
{
	struct inv_attached mem;
	struct inv_spool s;
	int r;

	memset(done, 0, sizeof(*done));
	r = inv_attach_file(&mem, ring, 0, err);
	if (r < 0)
		return r;
	r = is_dead(mem.ctl, force, err);
	if (r == 0)
		r = open_log(&s, &mem, out, err);
	if (r < 0) {
		inv_err_ctx(err, "%s", ring);
	} else {
		r = empty(&s, done, err);
		inv_spool_close(&s);
	}
	inv_detach(&mem);
	return r;
}
