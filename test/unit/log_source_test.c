/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are truncated while they are read. */
#include <fcntl.h>
#include <unistd.h>

#include "unit/log_collect.h"

static char path[] = "/tmp/inviso-log-source-XXXXXX";
static size_t page;

static int set_up(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	page = (size_t)sysconf(_SC_PAGESIZE);
	close(fd);
	return fd < 0;
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

static void write_file(const void *p, size_t n)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, n), n);
	close(fd);
}

static void write_pages(size_t n)
{
	char *p = malloc(n * page);

	assert_non_null(p);
	memset(p, 'x', n * page);
	write_file(p, n * page);
	free(p);
}

static char byte_at(const struct inv_source *src, uint64_t off)
{
	char byte = '?';

	inv_source_copy(src, off, &byte, 1);
	return byte;
}

static void truncated_bytes_are_read_as_zeros(void **state)
{
	struct collected c;
	struct inv_source src;
	char two[2];

	(void)state;
	collect_init(&c);
	write_pages(4);
	assert_int_equal(inv_source_open(&src, path, NULL), 0);
	inv_source_tell_cuts(&c.notices);
	assert_int_equal(c.notices.n_damages, 0);
	assert_int_equal(byte_at(&src, 3 * page), 'x');
	assert_int_equal(truncate(path, (off_t)page), 0);
	inv_source_copy(&src, page - 1, two, 2);
	assert_memory_equal(two, "x", 2);
	assert_int_equal(byte_at(&src, 3 * page), 0);
	/* After the cut, bytes are written at the same offsets. These bytes do
	 * not belong to the old content, so they are read as 0. */
	write_pages(4);
	assert_int_equal(byte_at(&src, 3 * page), 0);
	assert_int_equal(byte_at(&src, page), 0);
	assert_int_equal(byte_at(&src, page - 1), 'x');
	inv_source_tell_cuts(&c.notices);
	assert_int_equal(c.notices.n_damages, 1);
	assert_int_equal(c.last_damage, page);
	assert_non_null(strstr(c.said, "the file was cut"));
	inv_source_close(&src);
	inv_source_tell_cuts(&c.notices);
	assert_int_equal(c.notices.n_damages, 1);
	collect_release(&c);
}

static void a_cut_within_the_last_page_is_reported_too(void **state)
{
	struct collected c;
	struct inv_source src;

	(void)state;
	collect_init(&c);
	write_pages(2);
	assert_int_equal(inv_source_open(&src, path, NULL), 0);
	assert_int_equal(truncate(path, (off_t)(2 * page - 10)), 0);
	inv_source_tell_cuts(&c.notices);
	assert_int_equal(c.notices.n_damages, 1);
	assert_int_equal(c.last_damage, 2 * page - 10);
	inv_source_close(&src);
	collect_release(&c);
}

#define PACKETS 200u
#define EVENTS 10u /* in each packet */

/* Opens a log, which reads the heads of the packets. Then truncates the file to
 * len bytes. If `grown' is true, fills the file with zeros up to its old size.
 * Then reads the events. */
static void a_log_cut(const struct build *b, size_t len, bool grown)
{
	struct collected c;
	struct inv_err err;

	write_file(b->file.data, b->file.len);
	collect_init(&c);
	assert_int_equal(inv_inputs_add(&c.inputs, path, &err), 0);
	assert_int_equal(truncate(path, (off_t)len), 0);
	if (grown)
		assert_int_equal(truncate(path, (off_t)b->file.len), 0);
	collect_run(&c);
	inv_source_tell_cuts(&c.notices);
	assert_true(c.n_events < PACKETS * EVENTS);
	assert_true(c.n_events + EVENTS >=
		    PACKETS * EVENTS * (uint64_t)len / b->file.len - EVENTS);
	for (size_t i = 0; i < c.n_events; i++)
		assert_int_equal(c.got[i].ts, i);
	assert_true(c.notices.n_damages >= 1);
	assert_non_null(strstr(c.said, "the file was cut"));
	collect_release(&c);
}

static void a_log_is_read_up_to_a_cut(void **state)
{
	struct build b = { 0 };

	(void)state;
	build_head(&b, "a@h", 1, 0);
	build_anchor(&b, 0, 0, 0);
	for (unsigned i = 0; i < PACKETS; i++) {
		build_begin(&b, 0, EVENTS * i);
		for (unsigned k = 0; k < EVENTS; k++)
			build_event(&b, EVENTS * i + k, k);
		build_end(&b);
	}
	build_totals(&b, INV_END_CLOSED);
	assert_true(b.file.len > 10 * page);
	a_log_cut(&b, 5 * page, false);
	a_log_cut(&b, 5 * page, true);
	for (size_t i = 0; i < 400; i += 7)
		a_log_cut(&b, 7 * page + 1000 + i, i % 2 != 0);
	build_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(truncated_bytes_are_read_as_zeros),
		cmocka_unit_test(a_cut_within_the_last_page_is_reported_too),
		cmocka_unit_test(a_log_is_read_up_to_a_cut),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
