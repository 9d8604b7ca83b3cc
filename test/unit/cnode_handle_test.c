/* SPDX-License-Identifier: Apache-2.0 */
#include "inviso_cnode.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "log/inputs.h"
#include "log/merge.h"
#include "term/print.h"

#define ALL (INVISO_CNODE_SEND | INVISO_CNODE_RECEIVE | INVISO_CNODE_PRINT)

/* A handle of the library under test, and a connection whose other end is the
 * socket `peer'. */
struct fixture {
	char path[64];
	ei_cnode ec;
	struct inviso_cnode *c;
	int fd;
	int peer;
	erlang_pid other;
	ei_x_buff hello; /* the term hello */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct in_addr addr = { htonl(INADDR_LOOPBACK) };
	char why[INVISO_CNODE_WHY];
	int pair[2];

	assert_non_null(f);
	*state = f;
	snprintf(f->path, sizeof(f->path), "/tmp/cnode_test.%d.log",
		 (int)getpid());
	unlink(f->path);
	assert_true(ei_connect_xinit(&f->ec, "h", "c", "c@h", &addr, "x", 1) >=
		    0);
	f->c = inviso_cnode_open(f->path, &f->ec, NULL, why, sizeof(why));
	assert_non_null(f->c);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	f->fd = pair[0];
	f->peer = pair[1];
	strcpy(f->other.node, "a@h");
	f->other.num = 88;
	f->other.creation = 5;
	ei_x_new_with_version(&f->hello);
	ei_x_encode_atom(&f->hello, "hello");
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	inviso_cnode_close(f->c);
	close(f->fd);
	close(f->peer);
	unlink(f->path);
	ei_x_free(&f->hello);
	free(f);
	return 0;
}

/* The C node receives a message from f->other with this token. */
static void receive(struct fixture *f, long label, long prev, long cur,
		    long flags)
{
	erlang_msg msg = { .msgtype = ERL_SEND };

	msg.token = (erlang_trace){
		.serial = cur, .prev = prev, .label = label, .flags = flags
	};
	msg.token.from = f->other;
	inviso_cnode_received(f->c, &msg, &f->hello);
	assert_int_equal(msg.token.from.node[0], 0);
}

static void receive_without(struct fixture *f)
{
	erlang_msg msg = { .msgtype = ERL_SEND };

	inviso_cnode_received(f->c, &msg, &f->hello);
}

static int send_hello(struct fixture *f)
{
	return inviso_cnode_send(f->c, f->fd, &f->other, f->hello.buff,
				 f->hello.index, 1000);
}

/* Reads the next message that the C node sent to the peer, and decodes its
 * control tuple. */
static long arrived(struct fixture *f, erlang_trace *token, char *name)
{
	unsigned char len[4];
	char buf[4096];
	int n, at = 1, version, arity;
	erlang_pid pid;
	char atom[MAXATOMLEN_UTF8];
	long kind;

	assert_int_equal(recv(f->peer, len, 4, MSG_WAITALL), 4);
	n = len[0] << 24 | len[1] << 16 | len[2] << 8 | len[3];
	assert_in_range(n, 1, sizeof(buf));
	assert_int_equal(recv(f->peer, buf, (size_t)n, MSG_WAITALL), n);
	assert_int_equal(buf[0], ERL_PASS_THROUGH);
	assert_int_equal(ei_decode_version(buf, &at, &version), 0);
	assert_int_equal(ei_decode_tuple_header(buf, &at, &arity), 0);
	assert_int_equal(ei_decode_long(buf, &at, &kind), 0);
	if (name) {
		assert_int_equal(ei_decode_pid(buf, &at, &pid), 0);
		assert_string_equal(pid.node, "c@h");
	}
	assert_int_equal(ei_decode_atom(buf, &at, atom), 0);
	assert_string_equal(atom, "");
	if (name)
		assert_int_equal(ei_decode_atom(buf, &at, name), 0);
	else
		assert_int_equal(ei_decode_pid(buf, &at, &pid), 0);
	if (kind > 10)
		assert_int_equal(ei_decode_trace(buf, &at, token), 0);
	assert_int_equal(arity, 3 + (name != NULL) + (kind > 10));
	assert_int_equal(n - at, f->hello.index);
	assert_memory_equal(buf + at, f->hello.buff, (size_t)f->hello.index);
	return kind;
}

static void check_token(struct fixture *f, long label, long prev, long cur)
{
	erlang_trace t;

	assert_int_equal(arrived(f, &t, NULL), ERL_SEND_TT);
	assert_string_equal(t.from.node, "c@h");
	assert_int_equal(t.label, label);
	assert_int_equal(t.prev, prev);
	assert_int_equal(t.serial, cur);
}

static void check_sent(struct fixture *f, long label, long prev, long cur)
{
	assert_int_equal(send_hello(f), 0);
	check_token(f, label, prev, cur);
}

/* --- reading the log ------------------------------------------------------ */

struct found {
	char text[4096]; /* a line for each event */
	uint64_t lost[INV_LOST_COUNT];
	unsigned n;
};

static void print_event(struct found *found, const struct inv_item *it)
{
	static struct inv_cursor c;
	static const struct inv_print_opts w;
	struct inv_buf out = { 0 };
	size_t len = strlen(found->text);

	assert_int_equal(it->ev.tag, INV_TAG_SEQ_TRACE);
	inv_cursor_init(&c, it->ev.enc, it->ev.dict, it->ev.terms, it->ev.len);
	assert_int_equal(inv_term_print(&c, &out, &w), 0);
	inv_buf_putc(&out, ' ');
	assert_int_equal(inv_term_print(&c, &out, &w), 0);
	snprintf(found->text + len, sizeof(found->text) - len, "%.*s\n",
		 (int)out.len, (const char *)out.data);
	inv_buf_release(&out);
	found->n++;
}

static void read_log(const char *path, struct found *found)
{
	struct inv_notices notices = { 0 };
	struct inv_inputs in;
	struct inv_item *it;
	struct inv_merge m;

	memset(found, 0, sizeof(*found));
	inv_inputs_init(&in, &notices);
	assert_int_equal(inv_inputs_add(&in, path, NULL), 0);
	assert_int_equal(inv_inputs_open(&in, NULL), 0);
	assert_int_equal(inv_merge_init(&m, in.feeds, in.n_feeds), 0);
	while (inv_merge_next(&m, &it) == 0) {
		assert_string_equal(it->node->name, "c@h");
		if (it->kind == INV_ITEM_EVENT)
			print_event(found, it);
		else if (it->kind == INV_ITEM_LOSS)
			found->lost[it->lost.reason] += it->lost.n;
	}
	inv_merge_release(&m);
	inv_inputs_release(&in);
}

static void check_log(struct fixture *f, const char *expected)
{
	static struct found found;

	read_log(f->path, &found);
	assert_string_equal(found.text, expected);
}

/* --- serials, as the documentation of seq_trace describes them ------------ */

static void serials_count_as_in_a_process(void **state)
{
	struct fixture *f = *state;

	/* The message has no token. */
	assert_int_equal(send_hello(f), 0);
	assert_int_equal(arrived(f, NULL, NULL), ERL_SEND);
	receive(f, 7, 3, 10, ALL);
	check_sent(f, 7, 10, 11);
	check_sent(f, 7, 10, 12);
	/* The C node has sent serial 12. A message with serial 1 does not set
	 * the C node's serial back. */
	receive(f, 8, 0, 1, ALL);
	assert_int_equal(
		inviso_cnode_print(f->c, f->hello.buff, f->hello.index), 1);
	check_sent(f, 8, 1, 14);
	receive_without(f);
	assert_int_equal(send_hello(f), 0);
	assert_int_equal(arrived(f, NULL, NULL), ERL_SEND);
	assert_int_equal(
		inviso_cnode_print(f->c, f->hello.buff, f->hello.index), 0);
	check_log(f, "7 {'receive',{3,10},<1.88.0>,<0.0.0>,hello}\n"
		     "7 {send,{10,11},<0.0.0>,<1.88.0>,hello}\n"
		     "7 {send,{10,12},<0.0.0>,<1.88.0>,hello}\n"
		     "8 {'receive',{0,1},<1.88.0>,<0.0.0>,hello}\n"
		     "8 {print,{1,13},<0.0.0>,[],hello}\n"
		     "8 {send,{1,14},<0.0.0>,<1.88.0>,hello}\n");
}

static void flags_say_what_is_recorded(void **state)
{
	struct fixture *f = *state;

	receive(f, 1, 0, 1, 0);
	check_sent(f, 1, 1, 2);
	assert_int_equal(
		inviso_cnode_print(f->c, f->hello.buff, f->hello.index), 0);
	receive(f, 1, 2, 3,
		INVISO_CNODE_PRINT | INVISO_CNODE_TIMESTAMP |
			INVISO_CNODE_STRICT);
	/* The token has another label than 2, so this print is not recorded and
	 * takes no serial. */
	assert_int_equal(inviso_cnode_print_label(f->c, 2, f->hello.buff,
						  f->hello.index),
			 0);
	assert_int_equal(inviso_cnode_print_label(f->c, 1, f->hello.buff,
						  f->hello.index),
			 1);
	receive(f, 1, 0, 5, INVISO_CNODE_RECEIVE | INVISO_CNODE_STRICT);
	check_log(f, "1 {print,{3,4},<0.0.0>,[],hello}\n"
		     "1 {'receive',{0,5},<1.88.0>,<0.0.0>,hello}\n");
}

static void tokens_are_exchanged(void **state)
{
	struct fixture *f = *state;
	erlang_trace one, two;

	assert_int_equal(inviso_cnode_get_token(f->c, &one), 0);
	receive(f, 1, 0, 20, ALL);
	assert_int_equal(inviso_cnode_get_token(f->c, &one), 1);
	receive(f, 2, 0, 5, ALL);
	assert_int_equal(inviso_cnode_get_token(f->c, &two), 1);
	assert_int_equal(inviso_cnode_set_token(f->c, &one), 0);
	check_sent(f, 1, 20, 21);
	assert_int_equal(inviso_cnode_set_token(f->c, &two), 0);
	check_sent(f, 2, 5, 22);
	assert_int_equal(inviso_cnode_set_token(f->c, NULL), 0);
	assert_int_equal(send_hello(f), 0);
	assert_int_equal(arrived(f, NULL, NULL), ERL_SEND);
	two.label = INVISO_CNODE_LABEL_MAX + 1;
	assert_int_equal(inviso_cnode_set_token(f->c, &two), -1);
	assert_int_equal(errno, EINVAL);
}

static void a_trace_begins(void **state)
{
	struct fixture *f = *state;
	erlang_trace t;
	char name[MAXATOMLEN_UTF8];

	assert_int_equal(
		inviso_cnode_start(f->c, INVISO_CNODE_LABEL_MIN - 1, 0), -1);
	assert_int_equal(inviso_cnode_start(f->c, 1, 64), -1);
	assert_int_equal(inviso_cnode_start(f->c, -3, ALL), 0);
	assert_int_equal(inviso_cnode_reg_send(f->c, &f->ec, f->fd, "shop",
					       "a@h", f->hello.buff,
					       f->hello.index, 0),
			 0);
	assert_int_equal(arrived(f, &t, name), ERL_REG_SEND_TT);
	assert_string_equal(name, "shop");
	assert_int_equal(t.prev, 0);
	assert_int_equal(t.serial, 1);
	assert_int_equal(inviso_cnode_set_token(f->c, NULL), 0);
	assert_int_equal(inviso_cnode_reg_send(f->c, &f->ec, f->fd, "shop",
					       NULL, f->hello.buff,
					       f->hello.index, 0),
			 0);
	assert_int_equal(arrived(f, &t, name), ERL_REG_SEND);
	check_log(f, "-3 {send,{0,1},<0.0.0>,{shop,a@h},hello}\n");
}

/* Links and similar signals do not change the token. Exit signals change it,
 * because they count as messages. */
static void signals(void **state)
{
	struct fixture *f = *state;
	erlang_msg msg = { .msgtype = ERL_LINK };
	erlang_trace t;

	receive(f, 1, 0, 1, ALL);
	msg.from = f->other;
	inviso_cnode_received(f->c, &msg, &f->hello);
	assert_int_equal(inviso_cnode_get_token(f->c, &t), 1);
	msg.msgtype = ERL_EXIT;
	msg.token = t;
	inviso_cnode_received(f->c, &msg, &f->hello);
	assert_int_equal(inviso_cnode_get_token(f->c, &t), 1);
	inviso_cnode_received(f->c, &msg, &f->hello);
	assert_int_equal(inviso_cnode_get_token(f->c, &t), 0);
	check_log(f, "1 {'receive',{0,1},<1.88.0>,<0.0.0>,hello}\n"
		     "1 {'receive',{0,1},<1.88.0>,<0.0.0>,"
		     "{'EXIT',<1.88.0>,hello}}\n");
}

/* --- the log -------------------------------------------------------------- */

static void a_buffer_is_written_later(void **state)
{
	struct fixture *f = *state;
	struct inviso_cnode_info info;
	static struct found found;
	uint64_t bytes;

	inviso_cnode_set_buffer(f->c, 100000); /* more than the maximum */
	inviso_cnode_info(f->c, &info);
	bytes = info.bytes;
	receive(f, 1, 0, 1, ALL);
	inviso_cnode_info(f->c, &info);
	assert_int_equal(info.bytes, bytes);
	assert_int_equal(info.recorded, 1);
	assert_int_equal(inviso_cnode_flush(f->c), 0);
	read_log(f->path, &found);
	assert_int_equal(found.n, 1);
	for (int i = 0; i < 3000; i++)
		receive(f, 1, i, i + 1, ALL);
	read_log(f->path, &found);
	assert_in_range(found.n, 1000, 3000); /* the buffer was full, so
						 these events were written */
	inviso_cnode_set_buffer(f->c, 0);
	read_log(f->path, &found);
	assert_int_equal(found.n, 3001);
	inviso_cnode_info(f->c, &info);
	assert_int_equal(info.lost, 0);
	assert_in_range(info.bytes, bytes, bytes + 40000); /* compressed */
}

static void what_is_in_memory_is_written_before_waiting(void **state)
{
	struct fixture *f = *state;
	static struct found found;
	erlang_msg msg = { 0 };
	ei_x_buff x;

	inviso_cnode_set_buffer(f->c, 10000);
	receive(f, 1, 0, 1, ALL);
	ei_x_new(&x);
	/* No message arrives within 1 ms. The function reports the timeout as
	 * ERL_ERROR. */
	assert_int_equal(inviso_cnode_receive_msg(f->c, f->fd, &msg, &x, 1),
			 ERL_ERROR);
	read_log(f->path, &found);
	assert_int_equal(found.n, 1);
	ei_x_free(&x);
}

/* A message can be sent even if the log cannot be written. */
static void a_log_that_cannot_be_written(void **state)
{
	struct fixture *f = *state;
	struct rlimit was, now;
	struct inviso_cnode_info info;
	static struct found found;

	signal(SIGXFSZ, SIG_IGN);
	receive(f, 1, 0, 1, ALL);
	inviso_cnode_info(f->c, &info);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	now = was;
	now.rlim_cur = info.bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
	check_sent(f, 1, 1, 2);
	assert_int_equal(
		inviso_cnode_print(f->c, f->hello.buff, f->hello.index), -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	check_sent(f, 1, 1, 4);
	inviso_cnode_info(f->c, &info);
	assert_int_equal(info.recorded, 2);
	assert_int_equal(info.lost, 2);
	assert_int_equal(inviso_cnode_close(f->c), -1);
	f->c = NULL;
	read_log(f->path, &found);
	assert_int_equal(found.n, 2);
	assert_int_equal(found.lost[INV_LOSS_UNWRITTEN], 2);
}

static void a_log_has_a_limit(void **state)
{
	struct fixture *f = *state;
	struct inviso_cnode_info info;
	static struct found found;

	inviso_cnode_set_max_bytes(f->c, 3000);
	for (int i = 0; i < 100; i++)
		receive(f, 1, i, i + 1, ALL);
	inviso_cnode_info(f->c, &info);
	assert_in_range(info.bytes, 3000, 3500);
	assert_int_equal(info.recorded + info.lost, 100);
	assert_int_equal(inviso_cnode_close(f->c), -1);
	f->c = NULL;
	read_log(f->path, &found);
	assert_int_equal(found.n, info.recorded);
	assert_int_equal(found.lost[INV_LOSS_LIMIT], info.lost);
}

static void a_file_that_exists_is_refused(void **state)
{
	struct fixture *f = *state;
	char why[INVISO_CNODE_WHY];
	struct stat st;

	assert_null(inviso_cnode_open(f->path, &f->ec, NULL, why, sizeof(why)));
	assert_non_null(strstr(why, f->path));
	assert_non_null(strstr(why, "File exists"));
	assert_null(inviso_cnode_open("/nowhere/c.log", &f->ec, NULL, NULL, 0));
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

/* --- connections ---------------------------------------------------------- */

static void a_peer_that_does_not_read(void **state)
{
	struct fixture *f = *state;
	static char big[4 << 20];

	memset(big, 0, sizeof(big));
	assert_int_equal(inviso_cnode_send(f->c, f->fd, &f->other, big,
					   sizeof(big), 20),
			 ERL_ERROR);
	assert_int_equal(erl_errno, ETIMEDOUT);
}

static void a_peer_that_has_gone(void **state)
{
	struct fixture *f = *state;

	close(f->peer); /* writing to the closed socket must not raise
			   SIGPIPE */
	assert_int_equal(send_hello(f), ERL_ERROR);
	assert_int_equal(erl_errno, EPIPE);
	assert_int_equal(inviso_cnode_send(f->c, f->fd, &f->other, NULL, 0, 0),
			 ERL_ERROR);
	assert_int_equal(erl_errno, EINVAL);
}

static int write_elsewhere(void *arg, int fd, const void *p, size_t n,
			   unsigned ms)
{
	(void)ms;
	assert_int_equal(fd, 77);
	return write(*(int *)arg, p, n) == (ssize_t)n ? 0 : EIO;
}

static void another_transport(void **state)
{
	struct fixture *f = *state;

	receive(f, 1, 0, 1, ALL);
	inviso_cnode_set_write(f->c, write_elsewhere, &f->fd);
	assert_int_equal(inviso_cnode_send(f->c, 77, &f->other, f->hello.buff,
					   f->hello.index, 100),
			 0);
	check_token(f, 1, 1, 2);
	inviso_cnode_set_write(f->c, NULL, NULL);
	check_sent(f, 1, 1, 3);
}

static void no_handle(void **state)
{
	struct fixture *f = *state;
	struct inviso_cnode_info info;
	erlang_trace t;

	assert_int_equal(inviso_cnode_close(NULL), 0);
	assert_int_equal(inviso_cnode_start(NULL, 1, ALL), 0);
	assert_int_equal(inviso_cnode_get_token(NULL, &t), 0);
	assert_int_equal(inviso_cnode_print(NULL, f->hello.buff, 1), 0);
	assert_int_equal(inviso_cnode_flush(NULL), 0);
	inviso_cnode_set_buffer(NULL, 1);
	inviso_cnode_received(NULL, NULL, NULL);
	inviso_cnode_info(NULL, &info);
	assert_int_equal(info.recorded, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(serials_count_as_in_a_process),
		TEST(flags_say_what_is_recorded),
		TEST(tokens_are_exchanged),
		TEST(a_trace_begins),
		TEST(signals),
		TEST(a_buffer_is_written_later),
		TEST(what_is_in_memory_is_written_before_waiting),
		TEST(a_log_that_cannot_be_written),
		TEST(a_log_has_a_limit),
		TEST(a_file_that_exists_is_refused),
		TEST(a_peer_that_does_not_read),
		TEST(a_peer_that_has_gone),
		TEST(another_transport),
		TEST(no_handle),
	};

	ei_init();
	return cmocka_run_group_tests_name("cnode_handle", tests, NULL, NULL);
}
