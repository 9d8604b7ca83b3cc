/* SPDX-License-Identifier: Apache-2.0 */
#include "node/frame.h"
#include "unit/node_fake.h"

/* A node may be hostile and send any bytes. None of them may do harm. */

static const erlang_pid self = {
	.node = "inviso-0@localhost", .num = 0, .serial = 0, .creation = 77
};

/* --- frames alone ----------------------------------------------------------*/

/* Makes a frame without its length. `control' is the control tuple and
 * `message' the message, both in the form that ei_x_format takes. Each ~p in
 * them is the command's pid. */
static ei_x_buff frame(const char *control, const char *message)
{
	ei_x_buff x;

	assert_int_equal(ei_x_new(&x), 0);
	assert_int_equal(ei_x_append_buf(&x, "p", 1), 0);
	assert_int_equal(ei_x_encode_version(&x), 0);
	assert_int_equal(ei_x_format_wo_ver(&x, control, &self, &self), 0);
	if (message) {
		assert_int_equal(ei_x_encode_version(&x), 0);
		assert_int_equal(ei_x_format_wo_ver(&x, message, &self), 0);
	}
	return x;
}

static struct inv_cursor cursor;

static int parse(const ei_x_buff *x, struct inv_dist_frame *f)
{
	return inv_dist_frame_parse(&cursor, x->buff, (size_t)x->index, &self,
				    f);
}

static void an_answer_is_known_by_its_tag(void **state)
{
	ei_x_buff x = frame("{2,'',~p}", "{4711,{ok,[1,2,3]}}");
	struct inv_dist_frame f;

	(void)state;
	assert_int_equal(parse(&x, &f), 0);
	assert_int_equal(f.kind, INV_DIST_ANSWER);
	assert_int_equal(f.tag, 4711);
	assert_ptr_equal(f.term + f.len, x.buff + x.index);
	ei_x_free(&x);
}

/* The process that answers has a token of sequential tracing. So its answer has
 * a token, too. */
static void an_answer_with_a_token_is_known(void **state)
{
	static const char *const controls[] = { "{12,'',~p,{1,17,2,3,4}}",
						"{23,~p,~p,{1,17,2,3,4}}" };
	struct inv_dist_frame f;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		ei_x_buff x = frame(controls[i], "{4711,ok}");

		assert_int_equal(parse(&x, &f), 0);
		assert_int_equal(f.kind, INV_DIST_ANSWER);
		assert_int_equal(f.tag, 4711);
		ei_x_free(&x);
	}
}

static void frames_for_others_are_ignored(void **state)
{
	static const char *const others[][2] = {
		{ "{2,'',~p}", "{4711,ok,more}" },
		{ "{2,'',~p}", "{tag,ok}" },
		{ "{2,'',~p}", "{[1,{2}],ok}" },
		{ "{2,'',~p}", "[4711|ok]" },
		{ "{2,'',~p}", "4711" },
		{ "{2,'',rex}", "{4711,ok}" },
		{ "{6,~p,'',rex}", "{4711,ok}" },
		{ "{1,~p,~p}", NULL },
		{ "{3,~p,~p,killed}", NULL },
		{ "{8,~p,~p,{a,b}}", NULL },
		{ "{19,~p,rex,x}", NULL },
		{ "{21,~p,~p,noref,x}", NULL },
		{ "{999,a,{b,c},[]}", "anything" },
	};
	struct inv_dist_frame f;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		ei_x_buff x = frame(others[i][0], others[i][1]);

		assert_int_equal(parse(&x, &f), 0);
		assert_int_equal(f.kind, INV_DIST_OTHER);
		ei_x_free(&x);
	}
}

/* The answer is for an earlier run of the command, which had the same node
 * name, but another creation. */
static void an_answer_to_an_earlier_command_is_ignored(void **state)
{
	erlang_pid before = self;
	struct inv_dist_frame f;
	ei_x_buff x;

	(void)state;
	before.creation++;
	assert_int_equal(ei_x_new(&x), 0);
	assert_int_equal(ei_x_append_buf(&x, "p", 1), 0);
	assert_int_equal(ei_x_encode_version(&x), 0);
	assert_int_equal(ei_x_format_wo_ver(&x, "{2,'',~p}", &before), 0);
	assert_int_equal(ei_x_encode_version(&x), 0);
	assert_int_equal(ei_x_format_wo_ver(&x, "{4711,ok}"), 0);
	assert_int_equal(parse(&x, &f), 0);
	assert_int_equal(f.kind, INV_DIST_OTHER);
	ei_x_free(&x);
}

static void every_byte_of_a_frame_is_looked_at(void **state)
{
	static const char *const frames[][2] = {
		{ "{2,'',~p}", "{4711,ok}" },
		{ "{6,~p,'',rex}", "[a,b]" },
		{ "{1,~p,~p}", NULL },
	};
	struct inv_dist_frame f;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		ei_x_buff x = frame(frames[i][0], frames[i][1]);

		assert_int_equal(parse(&x, &f), 0);
		assert_int_equal(ei_x_append_buf(&x, "\x83h\x03", 3), 0);
		assert_true(parse(&x, &f) < 0);
		ei_x_free(&x);
	}
}

/* Parses the monitor frame that the command sends, as if the command had
 * received it. Then parses the DOWN frame with which a node would answer. */
static void a_monitor_leads_to_its_request(void **state)
{
	struct inv_dest to = { .name = "somebody" };
	struct inv_buf out = { 0 };
	struct inv_dist_frame f;
	uint64_t tag = UINT64_C(0x123456789abcdef0);
	uint8_t *op;

	(void)state;
	assert_int_equal(
		inv_dist_frame_put_monitor(&out, &self, &to, tag, true), 0);
	/* This frame is {19, From, Name, Ref}. It monitors the process with a
	 * registered name. The command has no such process, so it does
	 * nothing. */
	assert_int_equal(inv_dist_frame_parse(&cursor, out.data + 4,
					      out.len - 4, &self, &f),
			 0);
	assert_int_equal(f.kind, INV_DIST_OTHER);
	/* Turns the frame into {21, From, Name, Ref, Reason}, a DOWN. */
	op = memchr(out.data, 19, out.len);
	assert_non_null(op);
	*op = 21;
	op[-2] = 5;
	inv_buf_puts(&out, "w\4gone");
	assert_int_equal(inv_dist_frame_parse(&cursor, out.data + 4,
					      out.len - 4, &self, &f),
			 0);
	assert_int_equal(f.kind, INV_DIST_DOWN);
	assert_true(f.tag == tag);
	assert_int_equal(f.len, 6);
	assert_memory_equal(f.term, "w\4gone", 6);
	inv_buf_release(&out);
}

static void a_monitor_of_an_earlier_pid_is_answered(void **state)
{
	erlang_pid before = self;
	struct inv_buf out = { 0 };
	struct inv_dest to = { .name = NULL, .pid = self };
	struct inv_dist_frame f;

	(void)state;
	/* The monitored pid is the pid of this command, which still runs. So
	 * the command does not answer. */
	assert_int_equal(inv_dist_frame_put_monitor(&out, &self, &to, 1, true),
			 0);
	assert_int_equal(inv_dist_frame_parse(&cursor, out.data + 4,
					      out.len - 4, &self, &f),
			 0);
	assert_int_equal(f.kind, INV_DIST_OTHER);
	out.len = 0;

	before.creation++;
	to.pid = before;
	assert_int_equal(inv_dist_frame_put_monitor(&out, &self, &to, 2, true),
			 0);
	assert_int_equal(inv_dist_frame_parse(&cursor, out.data + 4,
					      out.len - 4, &self, &f),
			 0);
	assert_int_equal(f.kind, INV_DIST_WATCHED);

	{
		struct inv_buf answer = { 0 };
		struct inv_dist_frame g;

		assert_int_equal(inv_dist_frame_put_noproc(&answer, &f), 0);
		assert_int_equal(inv_dist_frame_parse(&cursor, answer.data + 4,
						      answer.len - 4, &self,
						      &g),
				 0);
		assert_int_equal(g.kind, INV_DIST_DOWN);
		assert_int_equal(g.tag, 2);
		inv_buf_release(&answer);
	}
	inv_buf_release(&out);
}

/* Copies the term of an accepted frame into memory of exactly its size, and
 * skips it with libei. A sanitizer would detect reads after its end. */
static void walk(const struct inv_dist_frame *f)
{
	char *copy = malloc(f->len);
	int index = 0;

	assert_non_null(copy);
	memcpy(copy, f->term, f->len);
	assert_int_equal(ei_skip_term(copy, &index), 0);
	assert_int_equal(index, f->len);
	free(copy);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void damaged_frames_are_detected(void **state)
{
	static const char *const frames[][2] = {
		{ "{2,'',~p}", "{17,{ok,[1,2,3],\"text\",~p,{1,2.5}}}" },
		{ "{2,'',~p}", "{300,[{a,b},{c,[d]},[[[]]]|e]}" },
		{ "{21,~p,~p,x,{a,b}}", NULL },
		{ "{19,~p,~p,x}", NULL },
	};
	uint32_t seed = 4711;
	unsigned good = 0;
	unsigned bad = 0;
	size_t i;

	(void)state;
	for (i = 0; i < 200000; i++) {
		ei_x_buff x = frame(frames[i % 4][0], frames[i % 4][1]);
		unsigned changes = next_random(&seed) % 4;
		struct inv_dist_frame f;
		size_t len;
		char *copy;

		while (changes-- > 0)
			x.buff[next_random(&seed) % (unsigned)x.index] =
				(char)next_random(&seed);
		len = (size_t)x.index;
		if (next_random(&seed) % 4 == 0)
			len = next_random(&seed) % len;
		copy = malloc(len + 1);
		assert_non_null(copy);
		memmove(copy + 1, x.buff, len); /* the frame now ends where the
						   block of memory ends */
		if (inv_dist_frame_parse(&cursor, copy + 1, len, &self, &f) <
		    0) {
			bad++;
		} else {
			good++;
			if (f.kind == INV_DIST_ANSWER ||
			    f.kind == INV_DIST_DOWN)
				walk(&f);
		}
		free(copy);
		ei_x_free(&x);
	}
	assert_true(good > 1000 && bad > 1000);
}

/* --- a node that sends invalid frames after the handshake ----------------- */

struct bad_node {
	int listening;
	const char *bytes;
	size_t len;
	bool stay; /* keep the connection open until the command leaves */
};

static void *be_bad_node(void *arg)
{
	struct bad_node *b = arg;
	struct in_addr local = { htonl(INADDR_LOOPBACK) };
	ErlConnect who;
	ei_cnode ec;
	char c;
	int fd;

	if (ei_connect_xinit(&ec, "localhost", "bad", "bad@localhost", &local,
			     COOKIE, 5) < 0)
		return NULL;
	fd = ei_accept_tmo(&ec, b->listening, &who, 10000);
	if (fd < 0)
		return NULL;
	(void)send(fd, b->bytes, b->len, MSG_NOSIGNAL);
	if (b->stay)
		while (recv(fd, &c, 1, 0) > 0)
			;
	/* Closing a socket with unread bytes would reset the connection, so
	 * this thread first reads all bytes. */
	shutdown(fd, SHUT_WR);
	while (recv(fd, &c, 1, 0) > 0)
		;
	(void)ei_close_connection(fd);
	return NULL;
}

static struct inv_err lost_by(const char *bytes, size_t len, bool stay)
{
	struct inv_conn_opts opts = { .answer_max = 1 << 20 };
	struct inv_inbox *in = new_inbox();
	struct bad_node b = { .bytes = bytes, .len = len, .stay = stay };
	struct inv_conn *c;
	struct inv_mail m;
	struct fake epmd;
	pthread_t thread;
	uint16_t port;

	b.listening = listen_any(&port);
	assert_int_equal(pthread_create(&thread, NULL, be_bad_node, &b), 0);
	start_fake_at(&epmd, port);
	c = connect_to(in, "bad@localhost", &opts);
	m = take(in);
	assert_int_equal(m.kind, INV_MAIL_LOST);
	inv_conn_close(c);
	pthread_join(thread, NULL);
	close(b.listening);
	stop_fake(&epmd);
	inv_inbox_free(in);
	return m.err;
}

static void a_node_that_sends_nonsense_is_lost(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		bool stay;
		int code;
	} cases[] = {
		{ "\xff\xff\xff\xff", 4, true, INV_ETOOBIG },
		{ "\x00\x20\x00\x00", 4, true, INV_ETOOBIG },
		{ "\0\0\0\1p", 5, true, INV_EDAMAGED },
		{ "\0\0\0\1x", 5, true, INV_EDAMAGED },
		{ "\0\0\0\5p\x83h\xff\xff", 9, true, INV_EDAMAGED },
		{ "\0\0\0\6p\x83h\2a\1", 10, true, INV_EDAMAGED },
		{ "\0\0\0\7\x83\x44\0h\2a\1", 11, true, INV_EDAMAGED },
		{ "\0\0\0\0\0\0\0\0", 8, false, INV_ELOST },
		{ "\0\0\1\0p\x83", 6, false, INV_ELOST },
		{ "\0\0\0\11p\x83h\2a\1w\1x", 13, false, INV_ELOST },
		{ "", 0, false, INV_ELOST },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct inv_err err =
			lost_by(cases[i].bytes, cases[i].n, cases[i].stay);

		print_message("# %zu: %s\n", i, err.text);
		assert_int_equal(err.code, cases[i].code);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_known_by_its_tag),
		cmocka_unit_test(an_answer_with_a_token_is_known),
		cmocka_unit_test(frames_for_others_are_ignored),
		cmocka_unit_test(an_answer_to_an_earlier_command_is_ignored),
		cmocka_unit_test(every_byte_of_a_frame_is_looked_at),
		cmocka_unit_test(a_monitor_leads_to_its_request),
		cmocka_unit_test(a_monitor_of_an_earlier_pid_is_answered),
		cmocka_unit_test(damaged_frames_are_detected),
		cmocka_unit_test(a_node_that_sends_nonsense_is_lost),
	};

	ei_init();
	epmd_port = free_port();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
