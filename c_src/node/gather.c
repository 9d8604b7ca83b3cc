/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "node/ask.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "abi/control.h"
#include "node/inbox_int.h"
#include "node/net.h"

bool inv_ask_open(const struct inv_ask *ask)
{
	return ask->conn && !ask->done;
}

static void fail(struct inv_ask *ask, const struct inv_err *err)
{
	ask->done = true;
	ask->err = *err;
	ask->code = err->code < 0 ? err->code : INV_ELOST;
}

bool inv_ask_mail(struct inv_ask *ask, struct inv_mail *mail)
{
	if (!inv_ask_open(ask) || mail->conn != ask->conn)
		return false;
	if (mail->kind == INV_MAIL_LOST) {
		fail(ask, &mail->err);
		return true;
	}
	if (mail->kind == INV_MAIL_CONNECTED || mail->tag != ask->tag)
		return false;
	if (mail->kind == INV_MAIL_ANSWER) {
		ask->done = true;
		ask->answered = inv_ask_now();
		ask->mail = *mail;
		memset(mail, 0, sizeof(*mail));
	} else {
		fail(ask, &mail->err);
		inv_mail_release(mail);
		memset(mail, 0, sizeof(*mail));
	}
	return true;
}

/*
 * Passes a mail to the ask that it answers. If the mail is INV_MAIL_LOST,
 * passes it to all asks of the connection. Then releases the mail.
 */
static void deliver(struct inv_ask *asks, size_t n, struct inv_mail *mail)
{
	bool lost = mail->kind == INV_MAIL_LOST;

	for (size_t i = 0; i < n; i++)
		if (inv_ask_mail(&asks[i], mail) && !lost)
			return;
	inv_mail_release(mail);
}

static bool any_open(const struct inv_ask *asks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (inv_ask_open(&asks[i]))
			return true;
	return false;
}

int inv_inbox_wait(struct inv_inbox *in, int stop_fd, int ms)
{
	struct pollfd fds[2] = {
		{ .fd = inv_inbox_fd(in), .events = POLLIN },
		{ .fd = stop_fd, .events = POLLIN },
	};

	/* If a signal interrupts poll(2), this function also returns 0. Then
	 * the callers call it again. */
	if (poll(fds, 2, ms) > 0 && fds[1].revents)
		return INV_ECANCELLED;
	return 0;
}

static void tell_open(const struct inv_lag *p, const struct inv_ask *asks,
		      size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (inv_ask_open(&asks[i]))
			inv_lag_tell(p, asks[i].conn);
}

int inv_gather(struct inv_inbox *in, struct inv_ask *asks, size_t n,
	       int stop_fd)
{
	struct inv_lag p = inv_lag(in);
	struct inv_mail mail;

	while (any_open(asks, n)) {
		int r = inv_inbox_wait(in, stop_fd, inv_lag_ms(&p));

		if (r < 0)
			return r;
		if (inv_lag_ended(&p))
			tell_open(&p, asks, n);
		if (inv_inbox_take(in, 0, &mail) == 0)
			deliver(asks, n, &mail);
	}
	return 0;
}

void inv_gather_for(struct inv_inbox *in, struct inv_ask *asks, size_t n,
		    int ms)
{
	int64_t end = inv_mono_ms() + ms;
	struct inv_mail mail;

	while (any_open(asks, n)) {
		int64_t left = end - inv_mono_ms();

		if (left <= 0)
			return;
		(void)inv_inbox_wait(in, -1, (int)left);
		if (inv_inbox_take(in, 0, &mail) == 0)
			deliver(asks, n, &mail);
	}
}

void inv_asks_release(struct inv_ask *asks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (asks[i].mail.mem)
			inv_mail_release(&asks[i].mail);
	memset(asks, 0, n * sizeof(*asks));
}

/* --- sending -------------------------------------------------------------- */

static void begin(struct inv_ask *ask, struct inv_conn *c)
{
	memset(ask, 0, sizeof(*ask));
	ask->conn = c;
	ask->sent = inv_ask_now();
}

void inv_ask_rex(struct inv_ask *ask, struct inv_conn *c, const char *module,
		 const char *function, struct inv_buf *args, int ms)
{
	begin(ask, c);
	if (inv_conn_rex(c, module, function, args, ms, &ask->tag, &ask->err) <
	    0)
		fail(ask, &ask->err);
	inv_buf_release(args);
}

void inv_ask_code(struct inv_ask *ask, struct inv_conn *c, const char *module,
		  const char *function, struct inv_buf *args, int ms)
{
	char name[64];

	if (inv_conn_brought(c)) {
		snprintf(name, sizeof(name), "%s:%s", module, function);
		module = INV_CONTROL_MODULE;
		function = name;
	}
	inv_ask_rex(ask, c, module, function, args, ms);
}

void inv_ask_pid(struct inv_ask *ask, struct inv_conn *c, const erlang_pid *pid,
		 struct inv_buf *request, int ms)
{
	struct inv_dest to = { .pid = *pid };

	begin(ask, c);
	if (inv_conn_request(c, &to, request, ms, &ask->tag, &ask->err) < 0)
		fail(ask, &ask->err);
	inv_buf_release(request);
}

int inv_ask_answer(const struct inv_ask *ask, struct inv_decode *d,
		   struct inv_err *err)
{
	if (!ask->conn || !ask->done)
		return inv_err_set(err, INV_EINVAL, "no answer was waited for");
	if (ask->code < 0) {
		if (err)
			*err = ask->err;
		return ask->code;
	}
	inv_decode_init(d, ask->mail.term, ask->mail.len);
	return 0;
}
