/* SPDX-License-Identifier: Apache-2.0 */
#include "node/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "node/ask.h"
#include "node/net.h"
#include "node/part.h"

/*
 * How many requests to one node may wait for answers. It is small, because the
 * answers need memory on the node and in the command.
 */
#define WINDOW 4
#define CHUNK (256u << 10)
#define TAIL (64u << 10)
#define FILES_MS 30000
/*
 * The time limit for a chunk. It is long, because on a slow network the other
 * chunks that were requested before must arrive first.
 */
#define CHUNK_MS 120000
#define ALIVE_MS 2000

/*
 * The phases of a transfer. The request for the tail is sent only if there is a
 * NAME.part:
 *
 *	files ──► next file ──► (part?) tail ──► chunks ──► finish ─┐
 *	              ▲                                             │
 *	              └─────────────────────────────────────────────┘
 */
enum phase {
	PHASE_FILES,
	PHASE_TAIL,
	PHASE_CHUNKS,
	PHASE_DONE,
};

/*
 * A transfer from one node. `asks' is a queue of requests, in the order in
 * which the chunks must be appended to NAME.part.
 */
struct transfer {
	struct inv_fetch *f;
	enum phase phase;
	int dir;
	size_t file; /* index in f->files of the current file */
	struct inv_part part;
	uint64_t asked; /* offset of the next request */
	uint32_t chunk;
	struct inv_ask asks[WINDOW];
	unsigned head, n;
	struct inv_ask alive; /* the sign of life, sent in each phase */
	int64_t alive_ms;     /* when `alive' was sent */
};

static struct inv_ask *oldest(struct transfer *t)
{
	return t->n ? &t->asks[t->head] : NULL;
}

static struct inv_ask *new_ask(struct transfer *t)
{
	return &t->asks[(t->head + t->n++) % WINDOW];
}

static void drop_oldest(struct transfer *t)
{
	inv_asks_release(oldest(t), 1);
	t->head = (t->head + 1) % WINDOW;
	t->n--;
}

static void drop_all(struct transfer *t)
{
	while (t->n)
		drop_oldest(t);
}

static const struct inv_session_file *file_of(const struct transfer *t)
{
	return &t->f->files.v[t->file];
}

static void finish(struct transfer *t, int code)
{
	drop_all(t);
	inv_part_close(&t->part);
	if (t->dir >= 0)
		close(t->dir);
	t->dir = -1;
	t->phase = PHASE_DONE;
	t->f->code = code;
	if (code < 0 && t->f->session)
		inv_err_ctx(&t->f->err, "%s",
			    inv_conn_name(t->f->session->conn)->full);
}

static void ask_read(struct transfer *t, uint64_t offset, uint32_t len)
{
	inv_session_read_ask(new_ask(t), t->f->session, file_of(t)->name,
			     offset, len, CHUNK_MS);
}

static void ask_chunks(struct transfer *t)
{
	uint64_t size = file_of(t)->size;

	while (t->n < WINDOW && t->asked < size) {
		uint64_t left = size - t->asked;
		uint32_t len = left < t->chunk ? (uint32_t)left : t->chunk;

		ask_read(t, t->asked, len);
		t->asked += len;
	}
}

static void begin_chunks(struct transfer *t)
{
	t->phase = PHASE_CHUNKS;
	t->asked = t->part.size;
	t->chunk = CHUNK;
	ask_chunks(t);
}

static uint32_t tail_len(const struct transfer *t)
{
	return t->part.size < TAIL ? (uint32_t)t->part.size : TAIL;
}

/* Begins to fetch the next file that was not fetched completely before. */
static int begin_file(struct transfer *t)
{
	struct inv_fetch *f = t->f;
	int r;

	for (; t->file < f->files.n; t->file++) {
		r = inv_part_open(&t->part, t->dir, f->prefix ? f->prefix : "",
				  file_of(t)->name, file_of(t)->size, &f->err);
		if (r == 0)
			break;
		if (r < 0)
			return r;
		f->done += file_of(t)->size;
	}
	if (t->file == f->files.n)
		return INV_END;
	if (t->part.size) {
		t->phase = PHASE_TAIL;
		ask_read(t, t->part.size - tail_len(t), tail_len(t));
	} else {
		begin_chunks(t);
	}
	return 0;
}

/* --- answers -------------------------------------------------------------- */

static int got_files(struct transfer *t)
{
	struct inv_fetch *f = t->f;
	int r = inv_session_files_got(oldest(t), &f->files, &f->err);

	if (r < 0)
		return r;
	drop_oldest(t);
	for (size_t i = 0; i < f->files.n; i++)
		if (__builtin_add_overflow(f->total, f->files.v[i].size,
					   &f->total))
			return inv_err_set(&f->err, INV_EDAMAGED,
					   "invalid sizes");
	return begin_file(t);
}

/*
 * Compares the last bytes of NAME.part with the same bytes of the node's file,
 * which have arrived. If they differ, fetches the whole file again.
 */
static int got_tail(struct transfer *t)
{
	uint8_t *ours = malloc(TAIL);
	struct inv_fetch *f = t->f;
	const uint8_t *theirs;
	size_t len;
	int r;

	if (!ours)
		return inv_err_set(&f->err, INV_ENOMEM, "no memory");
	r = inv_session_read_got(oldest(t), &theirs, &len, &f->err);
	if (r >= 0)
		r = inv_part_tail(&t->part, ours, tail_len(t), &f->err);
	if (r == 0 && (len != tail_len(t) || memcmp(ours, theirs, len) != 0))
		r = inv_part_reset(&t->part, &f->err);
	free(ours);
	if (r < 0)
		return r;
	drop_oldest(t);
	f->done += t->part.size;
	begin_chunks(t);
	return 0;
}

static int file_done(struct transfer *t)
{
	int r = inv_part_finish(&t->part, &t->f->err);

	if (r < 0)
		return r;
	t->file++;
	return begin_file(t);
}

/*
 * Call it if a chunk has only `len' bytes, fewer than requested. Drops the
 * later requests, and from now on requests `len' bytes at a time.
 */
static void shorter(struct transfer *t, size_t len)
{
	drop_all(t);
	t->asked = t->part.size;
	t->chunk = (uint32_t)len;
}

static int got_chunk(struct transfer *t)
{
	struct inv_fetch *f = t->f;
	uint64_t left = file_of(t)->size - t->part.size;
	size_t want = left < t->chunk ? (size_t)left : t->chunk;
	const uint8_t *bytes;
	size_t len;
	int r = inv_session_read_got(oldest(t), &bytes, &len, &f->err);

	if (r < 0)
		return r;
	if (r == INV_END || len == 0 || len > want)
		return inv_err_set(&f->err, INV_EDAMAGED,
				   "%s: of %llu bytes, only %llu arrived",
				   file_of(t)->name,
				   (unsigned long long)file_of(t)->size,
				   (unsigned long long)t->part.size);
	r = inv_part_append(&t->part, bytes, len, &f->err);
	if (r < 0)
		return r;
	f->done += len;
	drop_oldest(t);
	if (len < want)
		shorter(t, len);
	if (t->part.size == file_of(t)->size)
		return file_done(t);
	ask_chunks(t);
	return 0;
}

static int step(struct transfer *t)
{
	switch (t->phase) {
	case PHASE_FILES:
		return got_files(t);
	case PHASE_TAIL:
		return got_tail(t);
	default:
		return got_chunk(t);
	}
}

/*
 * Handles the answers that have arrived, in order. If no request is left for
 * the current file, the file is complete: all its bytes were fetched, now or
 * earlier, or it is empty.
 */
static void advance(struct transfer *t)
{
	while (t->phase != PHASE_DONE) {
		struct inv_ask *ask = oldest(t);
		int r;

		if (ask && inv_ask_open(ask))
			return;
		r = ask ? step(t) : file_done(t);
		if (r != 0)
			finish(t, r < 0 ? r : 0);
	}
}

/*
 * Sends a sign of life each ALIVE_MS. A session ends if it gets no sign of life
 * for its dead man's time (dead_man_ms).
 */
static void keep_alive(struct transfer *t)
{
	int64_t now = inv_mono_ms();

	if (inv_ask_open(&t->alive) || now - t->alive_ms < ALIVE_MS)
		return;
	inv_asks_release(&t->alive, 1);
	inv_session_ask(&t->alive, t->f->session, INV_VERB_ALIVE, CHUNK_MS);
	t->alive_ms = now;
}

/* --- all transfers -------------------------------------------------------- */

static void begin(struct transfer *t, struct inv_fetch *f)
{
	memset(t, 0, sizeof(*t));
	t->f = f;
	t->part.fd = -1;
	t->alive_ms = inv_mono_ms();
	f->code = 0;
	f->done = f->total = 0;
	memset(&f->files, 0, sizeof(f->files));
	t->dir = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->dir < 0) {
		finish(t, inv_err_sys(&f->err, errno, "open %s", f->dir));
		return;
	}
	inv_session_ask(new_ask(t), f->session, INV_VERB_FILES, FILES_MS);
}

static bool any_left(const struct transfer *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (t[i].phase != PHASE_DONE)
			return true;
	return false;
}

static void deliver(struct transfer *t, size_t n, struct inv_mail *mail)
{
	bool lost = mail->kind == INV_MAIL_LOST;
	bool taken = false;

	for (size_t i = 0; i < n && !taken; i++) {
		for (unsigned k = 0; k < WINDOW && !taken; k++)
			taken = inv_ask_mail(&t[i].asks[k], mail) && !lost;
		if (!taken)
			taken = inv_ask_mail(&t[i].alive, mail) && !lost;
	}
	if (!taken)
		inv_mail_release(mail);
}

static int run(struct transfer *t, size_t n, struct inv_inbox *in,
	       inv_fetch_progress *progress, void *arg,
	       const struct inv_fetch *f, int stop_fd)
{
	struct inv_mail mail;
	int r = 0;

	for (;;) {
		for (size_t i = 0; i < n; i++)
			advance(&t[i]);
		if (progress)
			progress(arg, f, n);
		if (!any_left(t, n))
			return 0;
		for (size_t i = 0; i < n; i++)
			keep_alive(&t[i]);
		r = inv_inbox_wait(in, stop_fd, ALIVE_MS);
		if (r < 0)
			return r;
		while (inv_inbox_take(in, 0, &mail) == 0)
			deliver(t, n, &mail);
	}
}

int inv_fetch_all(struct inv_fetch *f, size_t n, struct inv_inbox *in,
		  inv_fetch_progress *progress, void *arg, int stop_fd)
{
	struct transfer *t = calloc(n + 1, sizeof(*t));
	int r;

	if (!t)
		return INV_ENOMEM;
	for (size_t i = 0; i < n; i++)
		begin(&t[i], &f[i]);
	r = run(t, n, in, progress, arg, f, stop_fd);
	for (size_t i = 0; i < n; i++) {
		if (t[i].phase != PHASE_DONE)
			finish(&t[i], inv_err_set(&f[i].err, r, "cancelled"));
		inv_asks_release(&t[i].alive, 1);
		if (r == 0)
			r = f[i].code;
	}
	free(t);
	return r;
}

void inv_fetch_release(struct inv_fetch *f, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(f[i].files.v);
		memset(&f[i].files, 0, sizeof(f[i].files));
	}
}
