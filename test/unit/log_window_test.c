/* SPDX-License-Identifier: Apache-2.0 */
/* Files are read through windows. The result must be the same as if the files
 * were in memory. */
#include "unit/log_file_build.h"

#include "log/window.h"

#define SIZE (1u << 20)

static unsigned any_to(unsigned n)
{
	return (unsigned)rand() % n; /* NOLINT: repeatable */
}

static void random_seed(void)
{
	const char *given = getenv("INVISO_SEED"); /* NOLINT: one thread */
	unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : 7;

	print_message("# seed %u\n", seed);
	srand(seed);
}

static void a_window_shows_the_bytes_of_its_place(void **state)
{
	uint8_t *bytes = malloc(SIZE);
	uint8_t copy[32];
	struct inv_source src;
	struct inv_window w;
	uint64_t off = 0;
	char path[64];
	int fd;

	(void)state;
	random_seed();
	for (unsigned i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)any_to(256);
	fd = file_of(bytes, SIZE, path);
	assert_int_equal(inv_source_open(&src, path, NULL), 0);
	assert_int_equal(inv_window_init(&w, &src, 65536), 0);
	for (unsigned i = 0; i < 20000; i++) {
		size_t n = any_to(any_to(100) ? 5000 : 300000);
		const uint8_t *p;

		/* The next bytes to read begin at the end of the previous
		 * bytes, a little later, or at a random place. */
		if (any_to(3) == 0)
			off += any_to(20000);
		if (any_to(20) == 0 || off > SIZE)
			off = any_to(SIZE + 1);
		if (n > SIZE - off)
			n = (size_t)(SIZE - off);
		p = inv_window_get(&w, off, n);
		assert_non_null(p);
		assert_int_equal(memcmp(p, bytes + off, n), 0);
		p = inv_window_rest(&w, off, &n);
		assert_true(n > 0 || off == SIZE);
		assert_true(n <= SIZE - off);
		assert_int_equal(memcmp(p, bytes + off, n), 0);
		off += n;
		n = SIZE - off < sizeof(copy) ? (size_t)(SIZE - off) :
						sizeof(copy);
		inv_window_copy(&w, off, copy, n);
		assert_memory_equal(copy, bytes + off, n);
	}
	/* The window has memory for one piece, not for the whole file. */
	assert_true(w.cap < 700000);
	inv_window_release(&w);
	inv_source_close(&src);
	close(fd);
	free(bytes);
}

/* Makes a log. Some packets are larger than the piece that the window reads at
 * a time. */
static void random_log(struct build *b)
{
	uint64_t now = 0;

	build_head(b, "a@h", 1, 0);
	for (unsigned i = 5 + any_to(20); i; i--) {
		b->zstd = any_to(3) == 0;
		if (!any_to(5)) {
			build_anchor(b, now, 0, 1000);
			continue;
		}
		build_begin(b, any_to(3), now);
		for (unsigned n = 1 + any_to(any_to(4) ? 100 : 20000); n; n--)
			build_event(b, ++now, n % 64);
		build_end(b);
	}
	b->zstd = 0;
	build_totals(b, INV_END_CLOSED);
}

static void damage(struct inv_buf *file)
{
	for (unsigned n = any_to(4); n; n--)
		file->data[any_to((unsigned)file->len)] ^=
			(uint8_t)(1 + any_to(255));
	if (!any_to(4))
		file->len -= any_to((unsigned)file->len / 2);
	/* Removes a random piece of the file. */
	if (!any_to(4)) {
		size_t at = any_to((unsigned)file->len);
		size_t n = any_to((unsigned)(file->len - at));

		memmove(file->data + at, file->data + at + n,
			file->len - at - n);
		file->len -= n;
	}
}

static void a_damaged_log_in_a_file_is_read_like_one_in_memory(void **state)
{
	size_t n_items = 0;

	(void)state;
	random_seed();
	for (unsigned i = 0; i < 200; i++) {
		struct build b = { 0 };

		random_log(&b);
		damage(&b.file);
		n_items += assert_read_alike(b.file.data, b.file.len);
		build_release(&b);
	}
	assert_true(n_items > 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_shows_the_bytes_of_its_place),
		cmocka_unit_test(
			a_damaged_log_in_a_file_is_read_like_one_in_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
