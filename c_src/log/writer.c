/* SPDX-License-Identifier: Apache-2.0 */
#include "log/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "heads are written as they lie in memory");

#define STEP_MIN (64u * 1024)
#define STEP_MAX (1024u * 1024)
#define BODY_PIECES 2

/* Smaller bodies are not compressed, because this would save hardly any
 * bytes. */
#define BODY_MIN 256u

int inv_log_writer_init(struct inv_log_writer *w, uint32_t codec, int level,
			size_t body_max, size_t spare, struct inv_err *err)
{
	*w = (struct inv_log_writer){
		.fd = -1, .spare = spare, .codec = codec, .body_max = body_max
	};
	if (codec == INV_CODEC_NONE)
		return 0;
	if (codec != INV_CODEC_ZSTD)
		return inv_err_set(err, INV_EINVAL, "unknown codec %u", codec);
	w->packed_max = ZSTD_compressBound(body_max);
	w->zstd = ZSTD_createCCtx();
	w->raw = malloc(body_max);
	w->packed = malloc(w->packed_max);
	if (!w->zstd || !w->raw || !w->packed) {
		inv_log_writer_release(w);
		return inv_err_set(err, INV_ENOMEM, "no memory for zstd");
	}
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel,
			       level ? level : 1);
	return 0;
}

void inv_log_writer_release(struct inv_log_writer *w)
{
	inv_log_writer_close(w);
	ZSTD_freeCCtx(w->zstd);
	free(w->raw);
	free(w->packed);
	w->zstd = NULL;
	w->raw = NULL;
	w->packed = NULL;
}

int inv_log_writer_open(struct inv_log_writer *w, int fd, uint64_t off,
			struct inv_err *err)
{
	struct stat st;
	int r;

	inv_log_writer_close(w); /* close first: closing truncates the old file,
				    and fd may be the same file */
	if (fstat(fd, &st) < 0)
		r = inv_err_sys(err, errno, "fstat");
	else if (!S_ISREG(st.st_mode))
		r = inv_err_set(err, INV_EINVAL, "not a regular file");
	else if ((uint64_t)st.st_size < off)
		r = inv_err_set(err, INV_ETRUNCATED, "the file was cut");
	else if ((uint64_t)st.st_size > off && ftruncate(fd, (off_t)off) < 0)
		r = inv_err_sys(err, errno, "ftruncate");
	else
		r = 0;
	if (r < 0) {
		close(fd);
		return r;
	}
	w->fd = fd;
	w->off = off;
	w->allocated = off;
	return 0;
}

void inv_log_writer_close(struct inv_log_writer *w)
{
	if (w->fd < 0)
		return;
	/* The truncation also frees the space that is allocated after the log's
	 * end. */
	if (ftruncate(w->fd, (off_t)w->off) < 0)
		(void)errno; /* the space stays allocated: harmless */
	close(w->fd);
	w->fd = -1;
}

/*
 * Ensures that len more bytes and the spare space fit on the disk. If the file
 * system cannot allocate (EOPNOTSUPP), there is no spare space.
 */
static int allocate(struct inv_log_writer *w, uint64_t len)
{
	uint64_t need = w->off + len + w->spare;
	uint64_t step = w->off < STEP_MIN ? STEP_MIN :
			w->off > STEP_MAX ? STEP_MAX :
					    w->off;

	if (need <= w->allocated)
		return 0;
	for (;;) {
		if (fallocate(w->fd, FALLOC_FL_KEEP_SIZE, (off_t)w->allocated,
			      (off_t)(need + step - w->allocated)) == 0) {
			w->allocated = need + step;
			return 0;
		}
		if (errno == EINTR)
			continue;
		if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG)
			return 0; /* EOPNOTSUPP: continue without spare space;
				     after any other error the write fails, too,
				     and reports it */
		if (step == 0)
			return -errno;
		step = 0;
	}
}

static int write_all(int fd, struct iovec *v, int n, uint64_t off)
{
	while (n > 0) {
		ssize_t done = pwritev(fd, v, n, (off_t)off);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		if (done == 0)
			return -EIO;
		off += (uint64_t)done;
		for (; n > 0 && (size_t)done >= v->iov_len; v++, n--)
			done -= (ssize_t)v->iov_len;
		if (n > 0) {
			v->iov_base = (uint8_t *)v->iov_base + done;
			v->iov_len -= (size_t)done;
		}
	}
	return 0;
}

/* Removes the bytes of a write that has failed midway. */
static void cut_back(struct inv_log_writer *w)
{
	if (ftruncate(w->fd, (off_t)w->off) < 0)
		return;	       /* the next write overwrites these bytes */
	w->allocated = w->off; /* ftruncate also freed the spare space, so it is
				* allocated again */
	(void)allocate(w, 0);
}

/* Appends the n pieces of v. If the write fails, the file is unchanged. */
static int append(struct inv_log_writer *w, struct iovec *v, int n, bool last,
		  struct inv_err *err)
{
	uint64_t len = 0;
	int i, r;

	for (i = 0; i < n; i++)
		len += v[i].iov_len;
	r = last ? 0 : allocate(w, len);
	if (r < 0)
		return inv_err_sys(err, -r, "write");
	r = write_all(w->fd, v, n, w->off);
	if (r < 0) {
		cut_back(w);
		return inv_err_sys(err, -r, "write");
	}
	w->off += len;
	return 0;
}

static uint8_t *put_text(uint8_t *p, const char *text)
{
	size_t len = strlen(text);
	uint16_t n = len > UINT16_MAX ? UINT16_MAX : (uint16_t)len;

	memcpy(p, &n, sizeof(n));
	memcpy(p + sizeof(n), text, n);
	return p + sizeof(n) + n;
}

int inv_log_writer_head(struct inv_log_writer *w,
			const struct inv_log_head *head,
			const struct inv_log_texts *texts, struct inv_err *err)
{
	const char *const all[] = { texts->node, texts->otp_release,
				    texts->erts_version, texts->os_pid };
	size_t i, max = sizeof(*head) + sizeof(uint64_t);
	struct inv_log_head h = *head;
	struct iovec v;
	uint64_t sum;
	uint8_t *buf, *p;
	int r;

	for (i = 0; i < 4; i++)
		max += sizeof(uint16_t) + strlen(all[i]);
	buf = malloc(max);
	if (!buf)
		return inv_err_set(err, INV_ENOMEM, "no memory for a head");
	p = buf + sizeof(h);
	for (i = 0; i < 4; i++)
		p = put_text(p, all[i]);
	memcpy(h.magic, INV_LOG_MAGIC, sizeof(h.magic));
	h.version = w->body_max > INV_PACKET_RAW_MAX ? INV_LOG_VERSION :
						       INV_LOG_VERSION_SMALL;
	h.head_len = (uint32_t)(p - buf) + (uint32_t)sizeof(sum);
	memcpy(buf, &h, sizeof(h));
	sum = XXH64(buf, (size_t)(p - buf), 0);
	memcpy(p, &sum, sizeof(sum));
	v = (struct iovec){ buf, h.head_len };
	r = append(w, &v, 1, false, err);
	free(buf);
	return r;
}

static uint64_t sum_pieces(const struct iovec *v, int n)
{
	XXH64_state_t state;
	int i;

	if (n == 1)
		return XXH64(v->iov_base, v->iov_len, 0);
	XXH64_reset(&state, 0);
	for (i = 0; i < n; i++)
		if (v[i].iov_len > 0)
			XXH64_update(&state, v[i].iov_base, v[i].iov_len);
	return XXH64_digest(&state);
}

/* Compresses the body into w->packed. Returns the compressed size, or 0 if the
 * body does not become smaller. */
static size_t compress(struct inv_log_writer *w, const struct iovec *body,
		       int n, size_t len)
{
	size_t at = 0, packed;
	int i;

	if (w->codec != INV_CODEC_ZSTD || len < BODY_MIN || len > w->body_max)
		return 0;
	for (i = 0; i < n; i++) {
		if (body[i].iov_len > 0)
			memcpy(w->raw + at, body[i].iov_base, body[i].iov_len);
		at += body[i].iov_len;
	}
	packed = ZSTD_compress2(w->zstd, w->packed, w->packed_max, w->raw, len);
	return ZSTD_isError(packed) || packed >= len ? 0 : packed;
}

static int put(struct inv_log_writer *w, struct inv_log_packet *p,
	       const struct iovec *body, int n, bool last, struct inv_err *err)
{
	struct iovec v[1 + BODY_PIECES] = { { p, sizeof(*p) } };
	size_t packed, len = 0;
	int i;

	if (n > BODY_PIECES)
		return inv_err_set(err, INV_EINVAL, "%d pieces", n);
	for (i = 0; i < n; i++) {
		v[1 + i] = body[i];
		len += body[i].iov_len;
	}
	packed = compress(w, body, n, len);
	if (packed > 0) {
		v[1] = (struct iovec){ w->packed, packed };
		n = 1;
	}
	p->sync = INV_LOG_SYNC;
	p->codec = packed > 0 ? INV_CODEC_ZSTD : INV_CODEC_NONE;
	p->head_len = sizeof(*p);
	p->body_len = (uint32_t)(packed > 0 ? packed : len);
	p->raw_len = (uint32_t)len;
	p->body_sum = sum_pieces(v + 1, n);
	p->head_sum = XXH64(p, offsetof(struct inv_log_packet, head_sum), 0);
	return append(w, v, 1 + n, last, err);
}

int inv_log_writer_put(struct inv_log_writer *w, struct inv_log_packet *p,
		       const struct iovec *body, int n, struct inv_err *err)
{
	return put(w, p, body, n, false, err);
}

int inv_log_writer_put_last(struct inv_log_writer *w, struct inv_log_packet *p,
			    const struct iovec *body, int n,
			    struct inv_err *err)
{
	return put(w, p, body, n, true, err);
}
