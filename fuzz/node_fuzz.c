/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes arbitrary bytes that a node may send to the command.
 *
 *	byte 0    a kind of answer, or the kind `frame'
 *	the rest  the answer's term, or a frame of the connection without its
 *	          length
 *
 * The target checks that texts for people are UTF-8 without control characters
 * and end within their arrays, that a pointer to bytes of the answer points into
 * the answer, that names of files have no directory, and that counts do not
 * exceed their limits. libei must read the content of an accepted frame without
 * reading beyond its end.
 */
#include <stdlib.h>
#include <string.h>

#include "node/ask.h"
#include "node/frame.h"
#include "node/node_status.h"
#include "node/session.h"
#include "node/survey.h"
#include "text_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct inv_cursor cursor;

static void check_texts(const struct inv_texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		check_string(t->v[i], 4096);
}

static void check_status(const struct inv_status *s)
{
	check_string(s->name, sizeof(s->name));
	check_string(s->owner, sizeof(s->owner));
	check_string(s->mode, sizeof(s->mode));
	check_string(s->keep, sizeof(s->keep));
	check_string(s->text, sizeof(s->text));
	check_string(s->log, sizeof(s->log));
	check_texts(&s->specs);
	check_texts(&s->notes);
	check_string(s->state, sizeof(s->state));
	check_string(s->why, sizeof(s->why));
	CHECK(s->code <= 0 && s->n_lost <= INV_STATUS_LOST_MAX);
	for (size_t i = 0; i < s->n_lost; i++)
		check_string(s->lost[i].reason, sizeof(s->lost[i].reason));
}

/* --- answers ---------------------------------------------------------------- */

static void take_start(const struct inv_ask *ask, struct inv_err *err)
{
	struct inv_session session;
	struct inv_status status;

	if (inv_session_start_got(ask, &session, &status, err) == 0) {
		check_status(&status);
		CHECK(memchr(session.pid.node, 0, sizeof(session.pid.node)));
		inv_status_release(&status);
	}
	(void)inv_session_find_got(ask, &session, err);
}

static void take_status(const struct inv_ask *ask, struct inv_err *err)
{
	struct inv_status status;

	if (inv_session_status_got(ask, &status, err) == 0) {
		check_status(&status);
		inv_status_release(&status);
	}
}

static bool within(const struct inv_ask *ask, const uint8_t *p, size_t len)
{
	const uint8_t *from = (const uint8_t *)ask->mail.term;

	return p >= from && len <= ask->mail.len &&
	       p + len <= from + ask->mail.len;
}

static void take_followed(const struct inv_ask *ask, struct inv_err *err)
{
	struct inv_status status;
	struct inv_followed f;
	const uint8_t *bytes;
	size_t len;

	if (inv_session_follow_got(ask, &f, &status, err) == 0) {
		CHECK(within(ask, f.bytes, f.len));
		check_status(&status);
		inv_status_release(&status);
	}
	if (inv_session_read_got(ask, &bytes, &len, err) == 0)
		CHECK(within(ask, bytes, len));
}

static void take_files(const struct inv_ask *ask, struct inv_err *err)
{
	struct inv_session_files files;

	if (inv_session_files_got(ask, &files, err) != 0)
		return;
	CHECK(files.n <= INV_SESSION_FILES_MAX);
	for (size_t i = 0; i < files.n; i++) {
		const char *name = files.v[i].name;

		check_string(name, sizeof(files.v[i].name));
		CHECK(name[0] && name[0] != '.' && !strchr(name, '/'));
	}
	free(files.v);
}

static void take_counters(const struct inv_ask *ask, struct inv_err *err)
{
	struct inv_counters counters;

	if (inv_session_counters_got(ask, &counters, err) != 0)
		return;
	for (size_t i = 0; i < counters.n; i++)
		check_string(counters.v[i].mfa, SIZE_MAX);
	inv_counters_release(&counters);
}

static void take_node(const struct inv_ask *ask, struct inv_err *err)
{
	struct inv_node_status s = { 0 };

	if (inv_node_status_got(ask, &s, err) == 0) {
		check_string(s.otp, sizeof(s.otp));
		for (size_t i = 0; i < s.n_sessions; i++)
			check_status(&s.sessions[i]);
		check_texts(&s.clients);
		check_texts(&s.others);
	}
	inv_node_status_release(&s);
}

static void take_ok(const struct inv_ask *ask, struct inv_err *err)
{
	(void)inv_session_ok_got(ask, err);
}

static void take_survey(const struct inv_ask *ask, struct inv_err *err)
{
	struct inv_survey s;

	if (inv_survey_got(ask, &s, err) == 0) {
		check_string(s.version, sizeof(s.version));
		check_string(s.arch, sizeof(s.arch));
		check_string(s.os, sizeof(s.os));
		for (size_t i = 0; i < s.others.n; i++)
			check_string(s.others.names[i].full,
				     sizeof(s.others.names[i].full));
		(void)inv_survey_check(&s, true, err);
	}
	inv_survey_release(&s);
}

static void (*const takes[])(const struct inv_ask *ask, struct inv_err *err) = {
	take_start, take_status,   take_followed, take_files,
	take_ok,    take_counters, take_node,	  take_survey,
};
#define TAKES (sizeof(takes) / sizeof(takes[0]))

/* Makes an answer if the bytes are exactly one term. Returns false for other
 * bytes: the command refuses them before it decodes an answer. */
static bool make_answer(struct inv_ask *ask, const uint8_t *p, size_t len)
{
	memset(ask, 0, sizeof(*ask));
	inv_cursor_init(&cursor, INV_ENC_ETF, NULL, p, len);
	if (inv_cursor_skip(&cursor) != 0 || inv_cursor_offset(&cursor) != len)
		return false;
	ask->conn = (struct inv_conn *)(uintptr_t)p; /* not NULL */
	ask->done = true;
	ask->mail.kind = INV_MAIL_ANSWER;
	ask->mail.term = (const char *)p;
	ask->mail.len = len;
	return true;
}

static void take_answer(unsigned which, const uint8_t *p, size_t len)
{
	struct inv_err err = { 0 };
	struct inv_ask ask;

	if (!make_answer(&ask, p, len))
		return;
	takes[which](&ask, &err);
	check_string(err.text, sizeof(err.text));
}

/* --- frames --------------------------------------------------- */

static void read_by_ei(const char *term, size_t len)
{
	char *copy = malloc(len);
	int index = 0;

	CHECK(copy);
	memcpy(copy, term, len);
	/* ei_skip_term may fail, because libei refuses references that are
	 * longer than OTP's. */
	(void)ei_skip_term(copy, &index);
	CHECK((size_t)index <= len);
	free(copy);
}

static void take_frame(const uint8_t *p, size_t len)
{
	static const erlang_pid self = {
		.node = "c@h", .num = 1, .serial = 0, .creation = 1
	};
	struct inv_buf out = { 0 };
	struct inv_dist_frame f;

	if (inv_dist_frame_parse(&cursor, p, len, &self, &f) != 0)
		return;
	switch (f.kind) {
	case INV_DIST_ANSWER:
		read_by_ei(f.term, f.len);
		for (unsigned i = 0; i < TAKES; i++)
			take_answer(i, (const uint8_t *)f.term, f.len);
		break;
	case INV_DIST_DOWN:
		read_by_ei(f.term, f.len);
		break;
	case INV_DIST_WATCHED:
		CHECK(inv_dist_frame_put_noproc(&out, &f) == 0);
		break;
	default:
		break;
	}
	inv_buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	if (data[0] < TAKES)
		take_answer(data[0], data + 1, size - 1);
	else
		take_frame(data + 1, size - 1);
	return 0;
}
