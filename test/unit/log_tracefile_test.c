/* SPDX-License-Identifier: Apache-2.0 */
/* Files of OTP's trace port, and ti files, written by hand. */
#include "unit/log_file_build.h"

#include "log/names.h"

static void be32(struct inv_buf *b, uint32_t v)
{
	const uint8_t p[] = { (uint8_t)(v >> 24), (uint8_t)(v >> 16),
			      (uint8_t)(v >> 8), (uint8_t)v };

	inv_buf_put(b, p, 4);
}

static void tuple(struct inv_buf *b, int arity)
{
	inv_buf_putc(b, 104);
	inv_buf_putc(b, (char)arity);
}

static void atom(struct inv_buf *b, const char *name)
{
	inv_buf_putc(b, 119);
	inv_buf_putc(b, (char)strlen(name));
	inv_buf_puts(b, name);
}

static void integer(struct inv_buf *b, int32_t v)
{
	inv_buf_putc(b, 98);
	be32(b, (uint32_t)v);
}

static void pid(struct inv_buf *b, const char *node, uint32_t number)
{
	inv_buf_putc(b, 88);
	atom(b, node);
	be32(b, number);
	be32(b, 0);
	be32(b, 1);
}

static void now(struct inv_buf *b, int us)
{
	tuple(b, 3);
	integer(b, 1700);
	integer(b, 0);
	integer(b, us);
}

/* Adds the term in t to the file as one record of OTP's trace port. Empties
 * t. */
static void record(struct inv_buf *file, struct inv_buf *t)
{
	inv_buf_putc(file, 0);
	be32(file, (uint32_t)t->len + 1);
	inv_buf_putc(file, (char)131);
	inv_buf_put(file, t->data, t->len);
	inv_buf_reset(t);
}

static void drop(struct inv_buf *file, uint32_t n)
{
	inv_buf_putc(file, 1);
	be32(file, n);
}

/* Adds the event {trace_ts,<0.88.0>,exit,N,Now}, where `us' is the time. If us
 * is negative, adds {trace,<0.88.0>,exit,N}. */
static void event(struct inv_buf *file, const char *node, int us, int n)
{
	struct inv_buf t = { 0 };

	tuple(&t, us < 0 ? 4 : 5);
	atom(&t, us < 0 ? "trace" : "trace_ts");
	pid(&t, node, 88);
	atom(&t, "exit");
	integer(&t, n);
	if (us >= 0)
		now(&t, us);
	record(file, &t);
	inv_buf_release(&t);
}

#define AT(us) (INT64_C(1700000000000000000) + (us)*1000)

static void events_and_drops_keep_their_place(void **state)
{
	struct inv_buf f = { 0 };
	struct collected c;

	(void)state;
	event(&f, "a@h", 1, 10);
	event(&f, "a@h", -1, 11); /* without a time; the reader gives it the
				     time of the previous record */
	drop(&f, 5);
	event(&f, "a@h", 3, 12);
	collect_one(&c, f.data, f.len);
	assert_int_equal(c.n, 4);
	assert_int_equal(c.got[0].n, 10);
	assert_int_equal(c.got[1].n, 11);
	assert_int_equal(c.got[1].ts, AT(1));
	assert_int_equal(c.got[2].lost, INV_LOST_TRACER);
	assert_int_equal(c.got[2].n, 5);
	assert_int_equal(c.got[3].ts, AT(3));
	assert_string_equal(c.got[0].node, "a@h");
	assert_string_equal(c.said, "");
	collect_release(&c);
	inv_buf_release(&f);
}

static void damage_is_skipped(void **state)
{
	struct inv_buf f = { 0 };
	size_t one, len;

	(void)state;
	event(&f, "a@h", 1, 1);
	one = f.len;
	event(&f, "a@h", 2, 2);
	event(&f, "a@h", 3, 3);
	len = f.len;
	for (size_t at = one; at < 2 * one; at++) {
		struct collected c;

		/* The format has no checksums, so a changed byte may stay
		 * unnoticed. The records before and after the changed record
		 * are still read. */
		f.data[at] ^= 0xff;
		collect_one(&c, f.data, len);
		assert_true(c.n_events >= 2);
		assert_int_equal(c.got[0].n, 1);
		assert_int_equal(c.got[c.n - 1].n, 3);
		collect_release(&c);
		f.data[at] ^= 0xff;
	}
	for (size_t n = one; n < len; n++) {
		struct collected c;

		collect_one(&c, f.data, n);
		assert_int_equal(c.n_events, n / one);
		assert_int_equal(c.notices.n_damages, n % one != 0);
		collect_release(&c);
	}
	inv_buf_release(&f);
}

/* Some bytes look like the start of a record, but at the end of this record no
 * other record begins. So the bytes are skipped. */
static void a_false_start_of_a_record_is_skipped(void **state)
{
	static const uint8_t rubbish[] = { 9,	9,   0, 0, 0, 0, 3,
					   131, 104, 0, 9, 9, 9, 9 };
	struct inv_buf f = { 0 };
	struct collected c;

	(void)state;
	event(&f, "a@h", 1, 1);
	inv_buf_put(&f, rubbish, sizeof(rubbish));
	event(&f, "a@h", 2, 2);
	collect_one(&c, f.data, f.len);
	assert_int_equal(c.n, 2);
	assert_int_equal(c.notices.n_damages, 1);
	collect_release(&c);
	inv_buf_release(&f);
}

static void files_of_a_wrap_set_follow_one_another(void **state)
{
	static const char *const names[] = { "w0", "w1", "w3", "w10" };
	static const int us[] = { 30, 40, 10, 20 };
	struct inv_buf f[4] = { 0 };
	struct collected c;

	(void)state;
	collect_init(&c);
	for (int i = 0; i < 4; i++) {
		event(&f[i], "a@h", us[i], us[i]);
		event(&f[i], "a@h", -1, us[i] + 1);
		collect_add(&c, names[i], f[i].data, f[i].len);
	}
	collect_run(&c);
	assert_int_equal(c.inputs.n_feeds, 1);
	for (int i = 0; i < 8; i++)
		assert_int_equal(c.got[i].n, 10 * (i / 2 + 1) + i % 2);
	collect_release(&c);
	for (int i = 0; i < 4; i++)
		inv_buf_release(&f[i]);
}

static void files_that_are_only_named_alike_are_merged_by_time(void **state)
{
	struct inv_buf f[2] = { 0 };
	struct collected c;

	(void)state;
	collect_init(&c);
	event(&f[0], "a@h", 20, 20);
	event(&f[0], "a@h", 40, 40);
	event(&f[1], "a@h", 10, 10);
	event(&f[1], "a@h", 30, 30);
	collect_add(&c, "run0", f[0].data, f[0].len);
	collect_add(&c, "run1", f[1].data, f[1].len);
	collect_run(&c);
	assert_int_equal(c.inputs.n_feeds, 2);
	for (int i = 0; i < 4; i++)
		assert_int_equal(c.got[i].n, 10 * (i + 1));
	collect_release(&c);
	inv_buf_release(&f[0]);
	inv_buf_release(&f[1]);
}

/* --- in files --------------------------------------------------------------- */

/* Adds {trace_ts,<0.88.0>,exit,Binary,Now}, where Binary has n bytes. */
static void large_event(struct inv_buf *file, int us, uint32_t n)
{
	struct inv_buf t = { 0 };

	tuple(&t, 5);
	atom(&t, "trace_ts");
	pid(&t, "a@h", 88);
	atom(&t, "exit");
	inv_buf_putc(&t, 109);
	be32(&t, n);
	memset(inv_buf_reserve(&t, n), 'x', n);
	inv_buf_commit(&t, n);
	now(&t, us);
	record(file, &t);
	inv_buf_release(&t);
}

static void a_file_is_read_like_memory(void **state)
{
	size_t n_items = 0;

	(void)state;
	srand(7);
	for (unsigned i = 0; i < 100; i++) {
		struct inv_buf f = { 0 };

		for (int us = 1; us < 300; us++)
			if (rand() % 100)
				event(&f, "a@h", us, us);
			else if (rand() % 3)
				drop(&f, 1);
			else
				large_event(&f, us, (uint32_t)rand() % 400000);
		for (int n = rand() % 4; n; n--)
			f.data[(size_t)rand() % f.len] ^= 0xff;
		n_items += assert_read_alike(f.data, f.len);
		inv_buf_release(&f);
	}
	assert_true(n_items > 10000);
}

static void a_term_that_is_too_large_is_left_out(void **state)
{
	struct inv_buf f = { 0 };
	struct collected c;
	char path[64];
	off_t end;
	int fd;

	(void)state;
	event(&f, "a@h", 1, 1);
	inv_buf_putc(&f, 0);
	be32(&f, 65 << 20);
	inv_buf_putc(&f, (char)131);
	fd = file_of(f.data, f.len, path);
	/* The remaining bytes of the large term are a hole in a sparse file. */
	end = lseek(fd, (65 << 20) - 1, SEEK_CUR);
	inv_buf_reset(&f);
	event(&f, "a@h", 2, 2);
	assert_int_equal(pwrite(fd, f.data, f.len, end), f.len);
	collect_init(&c);
	assert_int_equal(collect_file(&c, path), 0);
	collect_run(&c);
	assert_int_equal(c.n, 3);
	assert_int_equal(c.got[1].lost, INV_LOST_UNREADABLE);
	assert_int_equal(c.got[1].n, 1);
	assert_int_equal(c.got[2].n, 2);
	assert_non_null(strstr(c.said, "larger than 64 MiB"));
	assert_int_equal(c.notices.n_damages, 1);
	collect_release(&c);
	close(fd);
	inv_buf_release(&f);
}

/* --- ti files ------------------------------------------------------------- */

static void alias(struct inv_buf *file, int number, const char *name,
		  const char *what, int us)
{
	struct inv_buf t = { 0 };

	tuple(&t, 4);
	if (number)
		pid(&t, "a@h", (uint32_t)number);
	else
		atom(&t, "undefined");
	atom(&t, name);
	atom(&t, what);
	now(&t, us);
	record(file, &t);
	inv_buf_release(&t);
}

/* Checks which names <0.N.0> has at the time `us'. `expected' has a space after
 * each name. */
static void assert_names(const struct inv_names *names, uint64_t number, int us,
			 const char *expected)
{
	const struct inv_name *n = inv_names_find(names, number, 0);
	char got[128] = "";

	for (; n; n = n->next)
		if (inv_name_holds(n, AT(us))) {
			strncat(got, n->text, n->len);
			strncat(got, " ", 2);
		}
	assert_string_equal(got, expected);
}

static void names_hold_from_alias_to_unalias(void **state)
{
	struct inv_notices ns = { 0 };
	struct inv_names *names = inv_names_new();
	struct inv_buf f = { 0 };
	struct inv_source src;

	(void)state;
	alias(&f, 1, "x", "alias", 10);
	alias(&f, 1, "Y", "alias", 20);
	alias(&f, 0, "x", "unalias", 30); /* removes x from all processes */
	alias(&f, 2, "x", "alias", 40);
	alias(&f, 2, "Y", "unalias",
	      50); /* a name that the process did not have */
	alias(&f, 2, "x", "unalias", 35); /* this record is late: its time is
					     before that of earlier records */
	assert_int_equal(inv_source_memory(&src, "ti", f.data, f.len), 0);
	assert_int_equal(inv_names_read(names, &src, 0, &ns), 0);
	assert_names(names, 1, 10, "");
	assert_names(names, 1, 11, "x ");
	assert_names(names, 1, 21, "x 'Y' ");
	assert_names(names, 1, 30, "x 'Y' ");
	assert_names(names, 1, 31, "'Y' ");
	assert_names(names, 1, 60, "'Y' ");
	assert_names(names, 2, 40, "");
	assert_names(names, 2, 60, "x ");
	assert_names(names, 3, 60, "");
	assert_int_equal(ns.n_damages, 0);
	inv_source_close(&src);
	inv_names_free(names);
	inv_buf_release(&f);
}

static void a_ti_file_finds_its_node(void **state)
{
	struct inv_buf trace = { 0 }, ti = { 0 };
	struct collected c;

	(void)state;
	event(&trace, "a@h", 20, 1);
	alias(&ti, 88, "x", "alias", 10);
	collect_init(&c);
	collect_add(&c, "ti", ti.data,
		    ti.len); /* a ti file may be added before its log */
	collect_add(&c, "trace", trace.data, trace.len);
	collect_run(&c);
	assert_int_equal(c.inputs.n_feeds, 1);
	assert_names(c.inputs.feeds[0]->node->names, 88, 20, "x ");
	collect_release(&c);
	inv_buf_release(&trace);
	inv_buf_release(&ti);
}

/* 'maybe' and 'else' are reserved words from OTP 27 on. */
static void names_are_quoted_as_the_release_of_the_log_does(void **state)
{
	static const char *const releases[] = { "26", "27" };
	static const char *const names[] = { "else ", "'else' " };
	struct inv_buf ti = { 0 };
	struct collected c;

	(void)state;
	alias(&ti, 88, "else", "alias", 10);
	for (int i = 0; i < 2; i++) {
		struct build b = { .otp = releases[i] };

		build_head(&b, "a@h", 1, 0);
		collect_init(&c);
		collect_add(&c, "ti", ti.data, ti.len);
		collect_add(&c, "log", b.file.data, b.file.len);
		collect_run(&c);
		assert_names(c.inputs.feeds[0]->node->names, 88, 20, names[i]);
		collect_release(&c);
		build_release(&b);
	}
	inv_buf_release(&ti);
}

static void other_files_are_refused(void **state)
{
	struct collected c;

	(void)state;
	collect_init(&c);
	assert_int_equal(collect_add(&c, "x", "#!/bin/sh\necho\n", 15),
			 INV_EFORMAT);
	assert_non_null(strstr(c.err.text, "neither a log"));
	assert_int_equal(collect_add(&c, "empty", "", 0), 0);
	collect_run(&c);
	assert_int_equal(c.n, 0);
	collect_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_and_drops_keep_their_place),
		cmocka_unit_test(damage_is_skipped),
		cmocka_unit_test(a_false_start_of_a_record_is_skipped),
		cmocka_unit_test(files_of_a_wrap_set_follow_one_another),
		cmocka_unit_test(
			files_that_are_only_named_alike_are_merged_by_time),
		cmocka_unit_test(a_file_is_read_like_memory),
		cmocka_unit_test(a_term_that_is_too_large_is_left_out),
		cmocka_unit_test(names_hold_from_alias_to_unalias),
		cmocka_unit_test(a_ti_file_finds_its_node),
		cmocka_unit_test(
			names_are_quoted_as_the_release_of_the_log_does),
		cmocka_unit_test(other_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
