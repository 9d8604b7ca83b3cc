/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaching has four steps: connect, survey, load the code, send the files.
 * Each step is done for all nodes at the same time. It ends when every node has
 * answered, or the step's time limit has passed.
 */
#include "node/attach.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "abi/control.h"
#include "base/clock.h"
#include "node/ask.h"
#include "node/inbox_int.h"
#include "node/payload.h"

#define STEP_MS 10000
/* If the user stops the command while it attaches, the command still waits this
 * long for the pids of the nodes' guards. */
#define GUARD_MS 2000
/*
 * The maximum number of requests to a node in one step: one for each file that
 * the node's guard needs (at most three), and `ready'.
 */
#define STEP_ASKS 4

struct step {
	struct inv_attach *v;
	size_t n;
	struct inv_inbox *in;
	const struct inv_attach_opts *opts;
	int ms;
	int stop_fd;
	struct inv_ask *asks;	 /* STEP_ASKS elements for each node */
	struct inv_texts *files; /* for each node, the files that its guard
				    needs */
};

static struct inv_ask *asks_of(const struct step *s, size_t i)
{
	return s->asks + i * STEP_ASKS;
}

static int gather(struct step *s)
{
	return inv_gather(s->in, s->asks, s->n * STEP_ASKS, s->stop_fd);
}

static void ask_no_more(struct step *s)
{
	inv_asks_release(s->asks, s->n * STEP_ASKS);
}

/* Returns true if node `i' is in this state and has not failed. */
static bool is_at(const struct step *s, size_t i, enum inv_attach_state state)
{
	const struct inv_attach *a = &s->v[i];

	return a->conn && a->code == 0 && a->state == state;
}

static void fail(struct inv_attach *a, int code)
{
	a->code = code;
	inv_err_ctx(&a->err, "%s", inv_conn_name(a->conn)->full);
}

/* --- connecting ----------------------------------------------------------- */

static bool connecting(const struct step *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (is_at(s, i, INV_ATTACH_NONE))
			return true;
	return false;
}

static void connected(struct step *s, const struct inv_mail *mail)
{
	for (size_t i = 0; i < s->n; i++) {
		struct inv_attach *a = &s->v[i];

		if (a->conn != mail->conn)
			continue;
		if (mail->kind == INV_MAIL_CONNECTED) {
			a->state = INV_ATTACH_UP;
		} else if (mail->kind == INV_MAIL_LOST && a->code == 0) {
			a->err = mail->err; /* its text has the node's name */
			a->code = mail->err.code;
		}
	}
}

static void tell_connecting(const struct inv_lag *p, const struct step *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (is_at(s, i, INV_ATTACH_NONE))
			inv_lag_tell(p, s->v[i].conn);
}

static int connect_all(struct step *s)
{
	struct inv_lag p = inv_lag(s->in);
	struct inv_mail mail;

	while (connecting(s)) {
		int r = inv_inbox_wait(s->in, s->stop_fd, inv_lag_ms(&p));

		if (r < 0)
			return r;
		if (inv_lag_ended(&p))
			tell_connecting(&p, s);
		if (inv_inbox_take(s->in, 0, &mail) == 0) {
			connected(s, &mail);
			inv_mail_release(&mail);
		}
	}
	return 0;
}

/* --- the survey ----------------------------------------------------------- */

static void surveyed(struct step *s, size_t i)
{
	struct inv_attach *a = &s->v[i];
	int r;

	inv_survey_release(&a->survey);
	r = inv_survey_got(asks_of(s, i), &a->survey, &a->err);
	if (r < 0)
		fail(a, r);
}

static int survey_all(struct step *s)
{
	int r;

	for (size_t i = 0; i < s->n; i++)
		if (is_at(s, i, INV_ATTACH_UP) && s->v[i].survey.otp == 0)
			inv_survey_ask(asks_of(s, i), s->v[i].conn, s->ms);
	r = gather(s);
	for (size_t i = 0; r == 0 && i < s->n; i++)
		if (asks_of(s, i)->conn)
			surveyed(s, i);
	ask_no_more(s);
	return r;
}

static void check_all(struct step *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct inv_attach *a = &s->v[i];
		int r = is_at(s, i, INV_ATTACH_UP) ?
				inv_survey_check(&a->survey, s->opts->tracer,
						 &a->err) :
				0;

		if (r < 0)
			fail(a, r);
	}
}

/* --- the code ------------------------------------------------------------- */

/* Encodes the term Args of the request to load the code (abi/control.h, section
 * 2). */
static void encode_args(struct inv_buf *e, const struct step *s,
			const struct inv_attach *a)
{
	const struct inv_attach_opts *o = s->opts;

	inv_etf_map(e, 6);
	inv_put_atom(e, "protocol");
	inv_etf_int(e, INV_CONTROL_PROTOCOL);
	inv_put_atom(e, "build");
	inv_put_text(e, inv_payload_build());
	inv_put_atom(e, "client");
	inv_put_pid(e, inv_conn_self(a->conn));
	inv_put_atom(e, "owner");
	inv_put_text(e, o->owner ? o->owner : "");
	inv_put_atom(e, "want");
	inv_put_atom(e, o->tracer ? "tracer" : "code");
	inv_put_atom(e, "dirs");
	inv_put_texts(e, o->dirs, o->n_dirs);
}

static void ask_code(const struct step *s, size_t i)
{
	struct inv_blob head = inv_payload_boot_head();
	struct inv_blob tail = inv_payload_boot_tail();
	struct inv_attach *a = &s->v[i];
	struct inv_buf e = { 0 };

	inv_buf_put(&e, head.data, head.len);
	encode_args(&e, s, a);
	inv_buf_put(&e, tail.data, tail.len);
	inv_asks_release(asks_of(s, i), STEP_ASKS);
	inv_ask_rex(asks_of(s, i), a->conn, "erl_eval", "expr", &e, s->ms);
}

/* Decodes the map in the node's answer. The map's value of `dir' is a path, or
 * the atom none. */
static int decode_attached(struct inv_decode *d, struct inv_attach *a,
			   struct inv_texts *files)
{
	struct attached {
		erlang_pid guard;
		char dir[sizeof(a->dir)];
		struct inv_texts files;
		bool brought, stays;
	} got = { .files = { NULL, 0 } };
	static const struct inv_field fields[] = {
		INV_FIELD("guard", inv_field_pid, struct attached, guard),
		INV_FIELD_TEXT("dir", struct attached, dir),
		INV_FIELD("files", inv_field_texts, struct attached, files),
		INV_FIELD("brought", inv_field_bool, struct attached, brought),
		INV_FIELD("stays", inv_field_bool, struct attached, stays),
		{ 0 },
	};
	int r = inv_decode_fields(d, fields, &got);

	*files = got.files;
	a->guard = got.guard;
	a->stays = got.stays;
	if (strcmp(got.dir, "none") != 0)
		memcpy(a->dir, got.dir, sizeof(a->dir));
	inv_conn_set_brought(a->conn, got.brought);
	return r == 0 && !got.guard.node[0] ? inv_decode_bad(d) : r;
}

/* Decodes the answer to the request to load the code. Returns INV_EBUSY if the
 * request must be sent again. */
static int code_loaded(struct inv_ask *ask, struct inv_attach *a,
		       struct inv_texts *files)
{
	struct inv_decode d;
	int r = inv_ask_answer(ask, &d, &a->err);

	if (r == 0)
		r = inv_decode_ok(&d, 2, &a->err);
	if (r == 0 && decode_attached(&d, a, files) < 0)
		r = inv_decode_strange(&d, &a->err);
	return r;
}

/* Handles a node's answer to the request to load the code. Returns true if the
 * request must be sent again. But if `last' is true, the request is not sent
 * again: attaching to the node fails, and the function returns false. */
static bool load_one(struct step *s, size_t i, bool last)
{
	struct inv_attach *a = &s->v[i];
	struct inv_ask *ask = asks_of(s, i);
	int r = code_loaded(ask, a, &s->files[i]);

	if (r == INV_EBUSY && !last)
		return true;
	if (r == INV_EBUSY)
		inv_err_set(&a->err, r,
			    "another command is attaching or leaving there, "
			    "and does not finish");
	/* The code is loaded (r is 0), or may be loaded, because the node has
	 * not answered (ask->code is negative). */
	if (r == 0 || ask->code < 0)
		a->state = INV_ATTACH_CODE;
	if (r < 0)
		fail(a, r);
	return false;
}

static int pause_for(const struct step *s, int ms)
{
	struct pollfd fd = { .fd = s->stop_fd, .events = POLLIN };

	return poll(&fd, 1, ms) > 0 ? INV_ECANCELLED : 0;
}

/*
 * Sends the request to load the code to all nodes that do not have the code
 * yet. If the user stops the command, still waits GUARD_MS for the answers:
 * they contain the pids of the guards, which the command needs for leaving the
 * nodes. A node that does not answer in time removes the code by itself after
 * the connection has ended.
 */
static int load_once(struct step *s, bool last, bool *again)
{
	size_t n = s->n * STEP_ASKS;
	int r;

	for (size_t i = 0; i < s->n; i++)
		if (is_at(s, i, INV_ATTACH_UP))
			ask_code(s, i);
	r = gather(s);
	if (r == INV_ECANCELLED)
		inv_gather_for(s->in, s->asks, n, GUARD_MS);
	for (size_t i = 0; i < s->n; i++) {
		struct inv_ask *ask = asks_of(s, i);

		if (inv_ask_open(ask))
			fail(&s->v[i], inv_err_set(&s->v[i].err, INV_ECANCELLED,
						   "cancelled"));
		else if (ask->conn)
			*again |= load_one(s, i, last);
	}
	ask_no_more(s);
	return r;
}

static int load_all(struct step *s)
{
	int64_t end = inv_mono_ms() + INV_CONTROL_AGAIN_MS;
	bool again;
	int r;

	do {
		again = false;
		r = load_once(s, inv_mono_ms() >= end, &again);
		if (again && r == 0)
			r = pause_for(s, INV_CONTROL_PAUSE_MS);
	} while (again && r == 0);
	return r;
}

/* --- the files ------------------------------------------------------------ */

static void ask_put(const struct step *s, size_t i, struct inv_ask *ask,
		    const char *name)
{
	struct inv_blob file = inv_payload_file(name);
	struct inv_attach *a = &s->v[i];
	struct inv_buf e = { 0 };

	inv_etf_tuple(&e, 3);
	inv_put_atom(&e, "put");
	inv_put_text(&e, name);
	inv_etf_binary(&e, file.data, file.len);
	inv_ask_pid(ask, a->conn, &a->guard, &e, s->ms);
}

/* Sends the files that the node's guard needs, and then the request `ready'.
 * Does not wait for answers in between, because the guard handles the requests
 * in order. */
static void ask_files(const struct step *s, size_t i)
{
	const struct inv_texts *files = &s->files[i];
	struct inv_ask *ask = asks_of(s, i);
	struct inv_attach *a = &s->v[i];
	struct inv_buf e = { 0 };

	if (files->n > STEP_ASKS - 1) {
		fail(a, inv_err_set(&a->err, INV_EDAMAGED, "asks for %zu files",
				    files->n));
		return;
	}
	for (size_t f = 0; f < files->n; f++) {
		if (inv_payload_file(files->v[f]).data) {
			ask_put(s, i, ask++, files->v[f]);
			continue;
		}
		fail(a, inv_err_set(&a->err, INV_EDAMAGED,
				    "asks for a file that this command does "
				    "not have: %s",
				    files->v[f]));
		return;
	}
	/* Without the option `tracer', the guard needs no files, and no request
	 * `ready'. */
	if (!s->opts->tracer)
		return;
	inv_put_atom(&e, "ready");
	inv_ask_pid(ask, a->conn, &a->guard, &e, s->ms);
}

static void files_done(struct step *s, size_t i)
{
	struct inv_attach *a = &s->v[i];
	struct inv_decode d;
	int r = 0;

	for (size_t k = 0; r == 0 && k < STEP_ASKS; k++) {
		struct inv_ask *ask = &asks_of(s, i)[k];

		if (!ask->conn)
			break;
		r = inv_ask_answer(ask, &d, &a->err);
		if (r == 0)
			r = inv_decode_answer_ok(&d, &a->err);
	}
	if (r < 0)
		fail(a, r);
	else
		a->state = INV_ATTACH_READY;
}

static int send_all(struct step *s)
{
	int r;

	for (size_t i = 0; i < s->n; i++)
		if (is_at(s, i, INV_ATTACH_CODE))
			ask_files(s, i);
	r = gather(s);
	for (size_t i = 0; r == 0 && i < s->n; i++)
		if (is_at(s, i, INV_ATTACH_CODE))
			files_done(s, i);
	ask_no_more(s);
	return r;
}

/* --- all steps ------------------------------------------------------------ */

static int first_code(const struct inv_attach *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].conn && v[i].code < 0)
			return v[i].code;
	return 0;
}

static int step_init(struct step *s, struct inv_attach *v, size_t n,
		     struct inv_inbox *in, int ms, int stop_fd)
{
	memset(s, 0, sizeof(*s));
	s->v = v;
	s->n = n;
	s->in = in;
	s->ms = ms > 0 ? ms : STEP_MS;
	s->stop_fd = stop_fd;
	s->asks = calloc(n * STEP_ASKS + 1, sizeof(*s->asks));
	s->files = calloc(n + 1, sizeof(*s->files));
	return s->asks && s->files ? 0 : INV_ENOMEM;
}

static void step_release(struct step *s)
{
	for (size_t i = 0; s->files && i < s->n; i++)
		inv_texts_release(&s->files[i]);
	free(s->files);
	free(s->asks);
}

int inv_attach_all(struct inv_attach *v, size_t n, struct inv_inbox *in,
		   const struct inv_attach_opts *opts, int stop_fd)
{
	struct step s;
	int r = step_init(&s, v, n, in, opts ? opts->ms : 0, stop_fd);

	s.opts = opts;
	if (r == 0)
		r = connect_all(&s);
	if (r == 0)
		r = survey_all(&s);
	if (r == 0 && opts && !opts->survey_only) {
		check_all(&s);
		r = load_all(&s);
		if (r == 0)
			r = send_all(&s);
	}
	step_release(&s);
	return r < 0 ? r : first_code(v, n);
}

void inv_attach_release(struct inv_attach *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct inv_conn *conn = v[i].conn;

		inv_survey_release(&v[i].survey);
		inv_texts_release(&v[i].others);
		memset(&v[i], 0, sizeof(v[i]));
		v[i].conn = conn;
	}
}
