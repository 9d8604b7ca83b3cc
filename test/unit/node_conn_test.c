/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "term/etf.h"
#include "unit/node_peer.h"

static struct inv_mail answer;
static struct inv_err err;

static void a_function_of_the_node_is_called(void **state)
{
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c;
	struct peer p;

	(void)state;
	start_peer(&p, "call", NULL);
	c = connect_to(in, p.name, NULL);
	assert_string_equal(inv_conn_name(c)->full, p.name);
	assert_int_equal(call(c, "lists", "sum", "[[1,2,3]]", 0, &answer, &err),
			 0);
	assert_int_equal(long_of(&answer), 6);
	inv_mail_release(&answer);

	assert_int_equal(call(c, "lists", "no_such", "[]", 0, &answer, &err),
			 INV_EREMOTE);
	assert_non_null(strstr(err.text, "undef"));

	inv_conn_close(c);
	inv_inbox_free(in);
	stop_peer(&p);
}

static void a_connection_is_hidden_and_has_its_own_name(void **state)
{
	struct inv_inbox *in = new_inbox();
	char atom[MAXATOMLEN_UTF8];
	struct inv_conn *c;
	struct peer p;
	int index = 0;
	int n;

	(void)state;
	start_peer(&p, "hidden", NULL);
	c = connect_to(in, p.name, NULL);
	assert_int_equal(
		call(c, "erlang", "nodes", "[[visible]]", 0, &answer, &err), 0);
	assert_int_equal(ei_decode_list_header(answer.term, &index, &n), 0);
	assert_int_equal(n, 0);
	inv_mail_release(&answer);

	assert_int_equal(
		call(c, "erlang", "nodes", "[[hidden]]", 0, &answer, &err), 0);
	index = 0;
	assert_int_equal(ei_decode_list_header(answer.term, &index, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(ei_decode_atom(answer.term, &index, atom), 0);
	assert_int_equal(strncmp(atom, "inviso-", 7), 0);
	assert_string_equal(atom, inv_conn_self(c)->node);
	inv_mail_release(&answer);

	inv_conn_close(c);
	inv_inbox_free(in);
	stop_peer(&p);
}

static void answers_of_several_nodes_come_in_one_inbox(void **state)
{
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c[3];
	struct peer p[3];
	uint64_t tag[3];
	unsigned up = 0;
	unsigned answered = 0;
	struct pollfd fd = { inv_inbox_fd(in), POLLIN, 0 };
	char name[16];
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "many%zu", i);
		start_peer(&p[i], name, NULL);
		c[i] = open_conn(in, p[i].name, NULL);
		inv_conn_set_user(c[i], &tag[i]);
	}
	while (up < 3) {
		assert_int_equal(poll(&fd, 1, 60000), 1);
		assert_int_equal(inv_inbox_take(in, 0, &answer), 0);
		assert_int_equal(answer.kind, INV_MAIL_CONNECTED);
		up++;
	}
	assert_int_equal(poll(&fd, 1, 0), 0);
	assert_int_equal(inv_inbox_take(in, 0, &answer), INV_END);
	for (i = 0; i < 3; i++)
		tag[i] = ask(c[i], "erlang", "node", "[]", 0);
	while (answered < 3) {
		char atom[MAXATOMLEN_UTF8];
		int index = 0;

		assert_int_equal(poll(&fd, 1, 60000), 1);
		assert_int_equal(inv_inbox_take(in, 0, &answer), 0);
		assert_int_equal(answer.kind, INV_MAIL_ANSWER);
		assert_int_equal(answer.tag,
				 *(uint64_t *)inv_conn_user(answer.conn));
		assert_int_equal(ei_decode_atom(answer.term, &index, atom), 0);
		assert_string_equal(atom, inv_conn_name(answer.conn)->full);
		inv_mail_release(&answer);
		answered++;
	}
	assert_int_equal(poll(&fd, 1, 0), 0);
	for (i = 0; i < 3; i++) {
		inv_conn_close(c[i]);
		stop_peer(&p[i]);
	}
	inv_inbox_free(in);
}

#define ASKED 500
static _Atomic size_t answers;

/* Takes mails until LOST arrives, and counts answers. */
static void *take_all(void *arg)
{
	struct inv_inbox *in = arg;
	struct inv_mail m;

	do {
		m = take(in);
		answers += m.kind == INV_MAIL_ANSWER;
		inv_mail_release(&m);
	} while (m.kind != INV_MAIL_LOST);
	return NULL;
}

static void one_thread_may_ask_and_another_take_the_answers(void **state)
{
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c;
	pthread_t thread;
	struct peer p;

	(void)state;
	start_peer(&p, "threads", NULL);
	c = connect_to(in, p.name, NULL);
	assert_int_equal(pthread_create(&thread, NULL, take_all, in), 0);
	for (int i = 0; i < ASKED; i++)
		(void)ask(c, "erlang", "abs", "[-1]", 60000);
	for (int i = 0; answers < ASKED && i < 6000; i++)
		usleep(10000);
	kill(p.pid, SIGKILL);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(answers, ASKED);
	inv_conn_close(c);
	inv_inbox_free(in);
	stop_peer(&p);
}

static void an_answer_that_comes_too_late_is_dropped(void **state)
{
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c;
	struct peer p;
	uint64_t tag;

	(void)state;
	start_peer(&p, "late", NULL);
	c = connect_to(in, p.name, NULL);
	tag = ask(c, "timer", "sleep", "[5000]", 100);
	answer = take(in);
	assert_int_equal(answer.kind, INV_MAIL_TIMEOUT);
	assert_int_equal(answer.tag, tag);
	assert_int_equal(answer.err.code, INV_ETIME);
	assert_int_equal(call(c, "timer", "sleep", "[6000]", 100, &answer,
			      &err),
			 INV_ETIME);
	assert_int_equal(
		call(c, "timer", "sleep", "[8000]", 60000, &answer, &err), 0);
	inv_mail_release(&answer);
	assert_int_equal(inv_inbox_take(in, 0, &answer), INV_END);
	inv_conn_close(c);
	inv_inbox_free(in);
	stop_peer(&p);
}

static void a_request_to_a_dead_process_is_reported(void **state)
{
	struct inv_inbox *in = new_inbox();
	struct inv_dest nobody = { .name = "nobody_of_that_name" };
	struct inv_dest dead = { .name = NULL };
	ei_x_buff x = term("hello");
	struct inv_buf hello = request(&x);
	struct inv_conn *c;
	struct peer p;
	uint64_t tag;
	int index = 0;

	(void)state;
	start_peer(&p, "gone", NULL);
	c = connect_to(in, p.name, NULL);
	assert_int_equal(
		inv_conn_request(c, &nobody, &hello, 20000, &tag, &err), 0);
	answer = take(in);
	assert_int_equal(answer.kind, INV_MAIL_GONE);
	assert_int_equal(answer.tag, tag);
	assert_non_null(strstr(answer.err.text, "nobody_of_that_name"));

	/* The request goes to a process that ends without an answer. */
	assert_int_equal(call(c, "erlang", "spawn", "[timer,sleep,[5000]]", 0,
			      &answer, &err),
			 0);
	assert_int_equal(ei_decode_pid(answer.term, &index, &dead.pid), 0);
	inv_mail_release(&answer);
	assert_int_equal(inv_conn_request(c, &dead, &hello, 20000, &tag, &err),
			 0);
	assert_int_equal(await_answer(c, tag, 20000, &answer, &err),
			 INV_EREMOTE);
	assert_non_null(strstr(err.text, "normal"));

	ei_x_free(&x);
	inv_conn_close(c);
	inv_inbox_free(in);
	stop_peer(&p);
}

static void ticks_are_answered_while_the_program_sleeps(void **state)
{
	static const char *const quick[] = { "-kernel", "net_ticktime", "4",
					     NULL };
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c;
	struct peer p;

	(void)state;
	start_peer(&p, "ticks", quick);
	c = connect_to(in, p.name, NULL);
	sleep(12);
	assert_int_equal(inv_inbox_take(in, 0, &answer), INV_END);
	assert_int_equal(call(c, "erlang", "abs", "[-1]", 0, &answer, &err), 0);
	inv_mail_release(&answer);
	inv_conn_close(c);
	inv_inbox_free(in);
	stop_peer(&p);
}

static void a_stopped_node_is_silent_for_its_tick_time_at_most(void **state)
{
	static const char *const quick[] = { "-kernel", "net_ticktime", "4",
					     NULL };
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c;
	struct peer p;
	uint64_t tag;
	int i;

	(void)state;
	start_peer(&p, "stopped", quick);
	c = connect_to(in, p.name, NULL);
	/* Before these calls, the connection itself requested the node's tick
	 * time. So when the node has answered the calls, the connection knows
	 * the tick time. */
	for (i = 0; i < 5; i++) {
		assert_int_equal(call(c, "net_kernel", "get_net_ticktime", "[]",
				      0, &answer, &err),
				 0);
		inv_mail_release(&answer);
	}
	freeze_peer(&p);
	tag = ask(c, "erlang", "abs", "[-1]", 300);
	assert_int_equal(call(c, "erlang", "abs", "[-1]", 300, &answer, &err),
			 INV_ETIME);
	answer = take(in);
	assert_int_equal(answer.kind, INV_MAIL_TIMEOUT);
	assert_int_equal(answer.tag, tag);
	answer = take(in);
	assert_int_equal(answer.kind, INV_MAIL_LOST);
	assert_int_equal(answer.err.code, INV_ETIME);
	assert_non_null(strstr(answer.err.text, "net_ticktime of 4 s"));
	assert_int_equal(call(c, "erlang", "abs", "[-1]", 0, &answer, &err),
			 INV_ETIME);
	inv_conn_close(c);
	inv_inbox_free(in);
	stop_peer(&p);
}

/* Sends more bytes than the sockets can buffer. */
static int flood(struct inv_conn *c, size_t n)
{
	struct inv_dest rex = { .name = "rex" };
	size_t size = (size_t)1 << 20;
	char *bytes = calloc(1, size);
	struct inv_buf b = { 0 };
	uint64_t tag;
	int r = 0;

	assert_non_null(bytes);
	inv_etf_binary(&b, bytes, size);
	assert_int_equal(b.error, 0);
	free(bytes);
	while (n-- > 0 && r == 0)
		r = inv_conn_request(c, &rex, &b, 60000, &tag, &err);
	inv_buf_release(&b);
	return r;
}

static void a_node_that_takes_nothing_is_lost(void **state)
{
	struct inv_conn_opts opts = { .write_ms = 700 };
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c;
	struct peer p;

	(void)state;
	start_peer(&p, "takes", NULL);
	c = connect_to(in, p.name, &opts);
	freeze_peer(&p);
	/* The connection may be lost while bytes are still being queued, so the
	 * result is ignored. */
	(void)flood(c, 30);
	answer = take(in);
	assert_int_equal(answer.kind, INV_MAIL_LOST);
	assert_int_equal(answer.err.code, INV_ETIME);
	assert_non_null(strstr(answer.err.text, "has read nothing"));
	inv_conn_close(c);
	inv_inbox_free(in);
	stop_peer(&p);
}

static void closing_does_not_wait_for_a_stopped_node(void **state)
{
	struct inv_conn_opts opts = { .queue_max = (size_t)8 << 20,
				      .write_ms = 300000 };
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c;
	struct peer p;
	int64_t began;

	(void)state;
	start_peer(&p, "closing", NULL);
	c = connect_to(in, p.name, &opts);
	freeze_peer(&p);
	assert_int_equal(flood(c, 100), INV_EFULL);
	began = inv_mono_ms();
	inv_conn_close(c);
	/* inv_conn_close waits at most a second. It does not wait for write_ms,
	 * which is 300 s here. */
	assert_true(inv_mono_ms() - began < 150000);
	inv_inbox_free(in);
	stop_peer(&p);
}

static void requests_before_closing_are_still_sent(void **state)
{
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c;
	char line[64];
	struct peer p;

	(void)state;
	start_peer(&p, "goes", NULL);
	c = connect_to(in, p.name, NULL);
	(void)ask(c, "io", "put_chars", "[user, \"said\n\"]", 0);
	inv_conn_close(c);
	assert_true(read_line(&p, line, sizeof(line)));
	assert_string_equal(line, "said");
	inv_inbox_free(in);
	stop_peer(&p);
}

static void the_end_of_a_node_is_known_at_once(void **state)
{
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c;
	struct peer p;

	(void)state;
	start_peer(&p, "killed", NULL);
	c = connect_to(in, p.name, NULL);
	(void)ask(c, "timer", "sleep", "[50000]", 50000);
	kill(p.pid, SIGKILL);
	answer = take(in);
	assert_int_equal(answer.kind, INV_MAIL_LOST);
	assert_int_equal(answer.err.code, INV_ELOST);
	assert_non_null(strstr(answer.err.text, p.name));
	assert_int_equal(inv_inbox_take(in, 0, &answer), INV_END);
	inv_conn_close(c);
	inv_inbox_free(in);
	stop_peer(&p);
}

static void an_answer_beyond_the_limit_ends_the_connection(void **state)
{
	struct inv_conn_opts opts = { .answer_max = 100000 };
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c;
	struct peer p;

	(void)state;
	start_peer(&p, "big", NULL);
	c = connect_to(in, p.name, &opts);
	assert_int_equal(call(c, "lists", "duplicate", "[40000,1]", 0, &answer,
			      &err),
			 0);
	inv_mail_release(&answer);
	assert_int_equal(call(c, "lists", "duplicate", "[110000,1]", 0, &answer,
			      &err),
			 INV_ETOOBIG);
	answer = take(in);
	assert_int_equal(answer.kind, INV_MAIL_LOST);
	assert_int_equal(answer.err.code, INV_ETOOBIG);
	inv_conn_close(c);
	inv_inbox_free(in);
	stop_peer(&p);
}

static void links_and_monitors_of_a_node_do_no_harm(void **state)
{
	struct inv_inbox *in = new_inbox();
	struct inv_conn *c;
	struct peer p;
	ei_x_buff x;

	(void)state;
	start_peer(&p, "links", NULL);
	c = connect_to(in, p.name, NULL);
	assert_int_equal(ei_x_new(&x), 0);
	assert_int_equal(ei_x_encode_list_header(&x, 1), 0);
	assert_int_equal(ei_x_encode_pid(&x, inv_conn_self(c)), 0);
	assert_int_equal(ei_x_encode_empty_list(&x), 0);
	assert_int_equal(call_x(c, "erlang", "link", &x, 0, &answer, &err), 0);
	inv_mail_release(&answer);
	assert_int_equal(call_x(c, "erlang", "unlink", &x, 0, &answer, &err),
			 0);
	inv_mail_release(&answer);
	ei_x_free(&x);
	assert_int_equal(ei_x_new(&x), 0);
	assert_int_equal(ei_x_encode_list_header(&x, 2), 0);
	assert_int_equal(ei_x_encode_atom(&x, "process"), 0);
	assert_int_equal(ei_x_encode_pid(&x, inv_conn_self(c)), 0);
	assert_int_equal(ei_x_encode_empty_list(&x), 0);
	assert_int_equal(call_x(c, "erlang", "monitor", &x, 0, &answer, &err),
			 0);
	inv_mail_release(&answer);
	ei_x_free(&x);
	assert_int_equal(call(c, "erlang", "abs", "[-1]", 0, &answer, &err), 0);
	inv_mail_release(&answer);
	inv_conn_close(c);
	inv_inbox_free(in);
	stop_peer(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_of_the_node_is_called),
		cmocka_unit_test(a_connection_is_hidden_and_has_its_own_name),
		cmocka_unit_test(answers_of_several_nodes_come_in_one_inbox),
		cmocka_unit_test(
			one_thread_may_ask_and_another_take_the_answers),
		cmocka_unit_test(an_answer_that_comes_too_late_is_dropped),
		cmocka_unit_test(a_request_to_a_dead_process_is_reported),
		cmocka_unit_test(ticks_are_answered_while_the_program_sleeps),
		cmocka_unit_test(
			a_stopped_node_is_silent_for_its_tick_time_at_most),
		cmocka_unit_test(a_node_that_takes_nothing_is_lost),
		cmocka_unit_test(closing_does_not_wait_for_a_stopped_node),
		cmocka_unit_test(requests_before_closing_are_still_sent),
		cmocka_unit_test(the_end_of_a_node_is_known_at_once),
		cmocka_unit_test(
			an_answer_beyond_the_limit_ends_the_connection),
		cmocka_unit_test(links_and_monitors_of_a_node_do_no_harm),
	};

	return cmocka_run_group_tests(tests, start_epmd, stop_epmd);
}
