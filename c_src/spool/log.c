/* SPDX-License-Identifier: Apache-2.0 */

/* Opens, begins, ends and rotates the file that the spooler is writing. */

#include "spool/spool_int.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/testpoint.h"

#define ROTATE_RETRY_NS 1000000000u

void inv_spool_moved(struct inv_spool *s, uint32_t ring,
		     const struct inv_ring_pos *pos)
{
	if (s->log.fd >= 0) {
		s->at.bytes += s->log.off - s->at.off;
		s->at.off = s->log.off;
	}
	INV_TESTPOINT("spool.written");
	inv_journal_commit(s->mem->ctl, ring, pos, &s->at);
}

static int put_head(struct inv_spool *s, uint32_t number, struct inv_err *err)
{
	const struct inv_ring_ctl *ctl = s->mem->ctl;
	char pid[16];
	struct inv_log_head head = { .file_no = number,
				     .n_streams = s->mem->n_rings,
				     .creation = ctl->creation,
				     .keep = ctl->keep,
				     .created_ns = inv_real_ns() };
	/* Copies, because another program may be changing the texts in the
	 * shared memory. */
	char node[sizeof(ctl->node)];
	char otp[sizeof(ctl->otp_release)], erts[sizeof(ctl->erts_version)];
	struct inv_log_texts texts = { node, otp, erts, pid };

	memcpy(head.uuid, s->files.uuid, sizeof(head.uuid));
	snprintf(node, sizeof(node), "%.*s", (int)sizeof(node) - 1, ctl->node);
	snprintf(otp, sizeof(otp), "%.*s", (int)sizeof(otp) - 1,
		 ctl->otp_release);
	snprintf(erts, sizeof(erts), "%.*s", (int)sizeof(erts) - 1,
		 ctl->erts_version);
	snprintf(pid, sizeof(pid), "%d", (int)ctl->vm_pid);
	return inv_log_writer_head(&s->log, &head, &texts, err);
}

int inv_spool_log_create(struct inv_spool *s, uint32_t number,
			 enum inv_leftover leftover, struct inv_err *err)
{
	int fd = inv_files_create(&s->files, number, leftover, err);
	int r;

	if (fd < 0)
		return fd;
	INV_TESTPOINT("spool.created");
	r = inv_log_writer_open(&s->log, fd, 0, err);
	if (r == 0)
		r = put_head(s, number, err);
	if (r == 0)
		r = inv_spool_repeat_anchor(s, err);
	if (r < 0) {
		inv_log_writer_close(&s->log);
		inv_files_remove(&s->files, number, NULL);
		return r;
	}
	INV_TESTPOINT("spool.headed");
	s->at.file = number;
	s->at.off = 0;
	s->file_since_ns = inv_mono_ns();
	s->file_has_events = false;
	inv_spool_moved(s, INV_JOURNAL_NO_RING, NULL);
	return 0;
}

/*
 * Reopens the current file at the position s->at. If the file is shorter,
 * continues at its end. Readers see from the numbers of events how many events
 * are missing.
 */
int inv_spool_log_reopen(struct inv_spool *s, struct inv_err *err)
{
	uint64_t len, off = s->at.off;
	int fd = inv_files_reopen(&s->files, s->at.file, &len, err);
	int r;

	if (fd < 0)
		return fd;
	r = inv_log_writer_open(&s->log, fd, off < len ? off : len, err);
	if (r < 0)
		return r;
	s->at.off = s->log.off;
	s->file_since_ns = inv_mono_ns();
	s->file_has_events = true;
	return 0;
}

/*
 * `r' and `why' are the error of inv_spool_log_reopen. Returns true if the
 * spooler must continue in the next file: the current file does not exist, is
 * empty, or belongs to another log. Without rotation, a file of another log is
 * not replaced, because the next file would have the same name.
 *
 * After other errors, which may be temporary, the spooler tries again later. It
 * must not continue in the next file, because the current file may end with
 * events that are not committed, and the next file would repeat them.
 */
static bool is_gone(const struct inv_spool *s, int r, const struct inv_err *why)
{
	if (r == INV_EIO)
		return why->sys == ENOENT;
	return r == INV_ETRUNCATED || (r == INV_EFORMAT && s->files.rotates);
}

static int go_on(struct inv_spool *s, struct inv_err *err)
{
	struct inv_err why = { 0 };
	int r = inv_spool_log_reopen(s, &why);

	if (r < 0 && is_gone(s, r, &why))
		return inv_spool_log_create(s, s->at.file + 1,
					    s->files.rotates ?
						    INV_LEFTOVER_OURS :
						    INV_LEFTOVER_EMPTY,
					    err);
	if (r < 0 && err)
		*err = why;
	return r;
}

int inv_spool_log_ready(struct inv_spool *s, struct inv_err *err)
{
	return s->log.fd >= 0 ? 0 : go_on(s, err);
}

int inv_spool_log_open(struct inv_spool *s, struct inv_err *err)
{
	const struct inv_ring_ctl *ctl = s->mem->ctl;
	bool first =
		atomic_load_explicit(&ctl->respawns, memory_order_relaxed) <= 1;
	int r;

	if (s->at.off > 0)
		return go_on(s, err);
	if (ctl->replace) {
		r = inv_files_clear(&s->files, err);
		if (r < 0)
			return r;
	}
	return inv_spool_log_create(
		s, s->at.file, first ? INV_LEFTOVER_NONE : INV_LEFTOVER_OURS,
		err);
}

/*
 * Removes the oldest files if there are more than rotate_count. The journal
 * does not record which files were removed, so the next spooler may try to
 * remove the same files again.
 */
static void remove_oldest(struct inv_spool *s)
{
	struct inv_ring_ctl *ctl = s->mem->ctl;
	uint32_t keep = ctl->rotate_count;
	uint32_t first =
		atomic_load_explicit(&ctl->log_first, memory_order_relaxed);

	for (; keep > 0 && first <= s->at.file && s->at.file - first >= keep;
	     first++) {
		if (inv_files_remove(&s->files, first, NULL) < 0)
			return;
		INV_TESTPOINT("spool.removed");
		atomic_store_explicit(&ctl->log_first, first + 1,
				      memory_order_release);
	}
}

static bool due(const struct inv_spool *s, uint64_t now)
{
	const struct inv_ring_ctl *ctl = s->mem->ctl;

	if (!s->files.rotates || !s->file_has_events ||
	    now < s->rotate_after_ns)
		return false;
	return (ctl->rotate_bytes && s->log.off >= ctl->rotate_bytes) ||
	       (ctl->rotate_ns && now - s->file_since_ns >= ctl->rotate_ns);
}

/*
 * Begins the next file if the current one is too large or too old. One commit
 * of the journal makes the end of the old file and the new file valid. If the
 * spooler dies before this commit, the next spooler truncates the old file, and
 * replaces the new one (enum inv_leftover).
 */
void inv_spool_log_rotate_if_due(struct inv_spool *s)
{
	uint64_t now = s->files.rotates ? inv_mono_ns() : 0;
	struct inv_log_pos was = s->at;

	if (!due(s, now))
		return;
	if (inv_spool_put_totals(s, INV_END_ROTATED, NULL) == 0) {
		s->at.bytes += s->log.off - s->at.off;
		INV_TESTPOINT("spool.ended");
		if (inv_spool_log_create(s, was.file + 1, INV_LEFTOVER_OURS,
					 NULL) == 0) {
			remove_oldest(s);
			return;
		}
		s->at = was;
	}
	s->rotate_after_ns = now + ROTATE_RETRY_NS;
	/* The rotation has failed. The old file will be reopened at the
	 * position before the totals. */
	inv_log_writer_close(&s->log);
}
