/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zstd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "log/writer.h"

#define SPARE 10000

static struct inv_log_writer w;
static struct inv_err err;
static char path[] = "/tmp/log_writer.XXXXXX";
static int fd; /* a second descriptor of the file, for the test */

static void set_up(uint32_t codec)
{
	memset(path + sizeof(path) - 7, 'X', 6);
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(inv_log_writer_init(&w, codec, 0, 4096, SPARE, &err),
			 0);
	assert_int_equal(inv_log_writer_open(&w, dup(fd), 0, &err), 0);
}

static void tear_down(void)
{
	inv_log_writer_release(&w);
	close(fd);
	unlink(path);
}

static uint64_t size_of(void)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return (uint64_t)st.st_size;
}

static int put(const void *a, size_t na, const void *b, size_t nb)
{
	struct inv_log_packet p = { .type = INV_LOG_EVENTS, .stream = 7 };
	struct iovec v[2] = { { (void *)(uintptr_t)a, na },
			      { (void *)(uintptr_t)b, nb } };

	return inv_log_writer_put(&w, &p, v, 2, &err);
}

static void head_and_packets_are_as_specified(void **state)
{
	struct inv_log_head h = { .file_no = 3, .n_streams = 2 };
	struct inv_log_texts t = { "n@h", "27", "15.2", "4711" };
	struct inv_log_packet p;
	uint8_t buf[1024];
	uint64_t sum;

	(void)state;
	set_up(INV_CODEC_NONE);
	assert_int_equal(inv_log_writer_head(&w, &h, &t, &err), 0);
	assert_int_equal(put("defs", 4, "events", 6), 0);
	assert_int_equal(w.off, size_of());
	assert_int_equal(pread(fd, buf, sizeof(buf), 0), w.off);
	memcpy(&h, buf, sizeof(h));
	assert_memory_equal(h.magic, INV_LOG_MAGIC, 8);
	assert_int_equal(h.head_len, sizeof(h) + 4 * 2 + 3 + 2 + 4 + 4 + 8);
	assert_memory_equal(buf + sizeof(h), "\3\0n@h\2\00027\4\00015.2", 13);
	memcpy(&sum, buf + h.head_len - 8, 8);
	assert_true(sum == XXH64(buf, h.head_len - 8, 0));
	memcpy(&p, buf + h.head_len, sizeof(p));
	assert_int_equal(p.sync, INV_LOG_SYNC);
	assert_int_equal(p.stream, 7);
	assert_int_equal(p.raw_len, 10);
	assert_int_equal(p.body_len, 10);
	assert_true(p.body_sum == XXH64("defsevents", 10, 0));
	assert_true(p.head_sum == XXH64(&p, sizeof(p) - 8, 0));
	assert_memory_equal(buf + h.head_len + sizeof(p), "defsevents", 10);
	tear_down();
}

static void a_packet_is_compressed_where_that_helps(void **state)
{
	static char zeros[5000], out[5000];
	struct inv_log_packet p;
	uint8_t buf[1024];
	uint64_t off;

	(void)state;
	set_up(INV_CODEC_ZSTD);
	assert_int_equal(put("defs", 4, zeros, 3000), 0);
	assert_true(w.off < sizeof(p) + 100);
	assert_int_equal(pread(fd, buf, w.off, 0), w.off);
	memcpy(&p, buf, sizeof(p));
	assert_int_equal(p.codec, INV_CODEC_ZSTD);
	assert_int_equal(p.raw_len, 3004);
	assert_int_equal(ZSTD_decompress(out, sizeof(out), buf + sizeof(p),
					 p.body_len),
			 3004);
	assert_memory_equal(out, "defs\0\0", 6);
	off = w.off;
	assert_int_equal(put("a", 1, "b", 1), 0); /* too small to compress */
	assert_int_equal(w.off, off + sizeof(p) + 2);
	off = w.off;
	assert_int_equal(put("", 0, zeros, 5000), 0); /* larger than body_max */
	assert_int_equal(w.off, off + sizeof(p) + 5000);
	tear_down();
}

static void a_write_that_fails_leaves_the_file_as_it_was(void **state)
{
	struct rlimit was, now;
	static char body[4000];
	uint64_t off;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	set_up(INV_CODEC_NONE);
	assert_int_equal(put("", 0, body, 100), 0);
	off = w.off;
	getrlimit(RLIMIT_FSIZE, &was);
	now = was;
	now.rlim_cur = 1000; /* reached during the next write */
	setrlimit(RLIMIT_FSIZE, &now);
	assert_int_equal(put("", 0, body, 4000), INV_EIO);
	assert_int_equal(err.sys, EFBIG);
	assert_int_equal(w.off, off);
	assert_int_equal(size_of(), off);
	setrlimit(RLIMIT_FSIZE, &was);
	assert_int_equal(put("", 0, body, 4000), 0);
	assert_int_equal(size_of(), off + sizeof(struct inv_log_packet) + 4000);
	tear_down();
}

static void bytes_after_the_valid_length_are_removed(void **state)
{
	(void)state;
	set_up(INV_CODEC_NONE);
	inv_log_writer_close(&w);
	assert_int_equal(pwrite(fd, "0123456789", 10, 0), 10);
	assert_int_equal(inv_log_writer_open(&w, dup(fd), 4, &err), 0);
	assert_int_equal(size_of(), 4);
	assert_int_equal(w.off, 4);
	assert_int_equal(inv_log_writer_open(&w, dup(fd), 9, &err),
			 INV_ETRUNCATED);
	tear_down();
}

static void a_spare_is_allocated_and_given_back(void **state)
{
	struct stat st;

	(void)state;
	set_up(INV_CODEC_NONE);
	assert_int_equal(put("", 0, "x", 1), 0);
	assert_int_equal(fstat(fd, &st), 0);
	if (st.st_blocks * 512 < SPARE) {
		tear_down();
		skip(); /* a file system without fallocate */
	}
	assert_int_equal(st.st_size, w.off);
	inv_log_writer_close(&w);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(st.st_blocks * 512 < SPARE);
	tear_down();
}

static void only_regular_files_and_known_codecs_are_taken(void **state)
{
	int p[2];

	(void)state;
	assert_int_equal(inv_log_writer_init(&w, 9, 0, 1, 1, &err), INV_EINVAL);
	set_up(INV_CODEC_NONE);
	assert_int_equal(pipe(p), 0);
	assert_int_equal(inv_log_writer_open(&w, p[1], 0, &err), INV_EINVAL);
	close(p[0]);
	tear_down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(head_and_packets_are_as_specified),
		cmocka_unit_test(a_packet_is_compressed_where_that_helps),
		cmocka_unit_test(a_write_that_fails_leaves_the_file_as_it_was),
		cmocka_unit_test(bytes_after_the_valid_length_are_removed),
		cmocka_unit_test(a_spare_is_allocated_and_given_back),
		cmocka_unit_test(only_regular_files_and_known_codecs_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
