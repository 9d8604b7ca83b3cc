/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/members.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cmd.h"

int inv_members_init(struct inv_members *ms, struct inv_cluster *c)
{
	ms->cluster = c;
	ms->n = 0;
	ms->v = calloc(c->n + 1, sizeof(*ms->v));
	if (!ms->v) {
		inv_screen_note(c->screen, "no memory");
		return INV_EXIT_FAILED;
	}
	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].code || c->v[i].state != INV_ATTACH_READY)
			continue;
		ms->v[ms->n].at = &c->v[i];
		ms->v[ms->n++].name = inv_cluster_name(c, i);
	}
	return INV_EXIT_DONE;
}

int inv_members_reach(struct inv_members *ms, struct inv_cluster *c,
		      bool tracer, const char *dir)
{
	int status = inv_cluster_connect(c);

	if (!status)
		status = inv_cluster_attach(c, tracer, dir);
	return status ? status : inv_members_init(ms, c);
}

void inv_members_release(struct inv_members *ms)
{
	for (size_t i = 0; i < ms->n; i++) {
		struct inv_member *m = &ms->v[i];

		inv_asks_release(&m->ask, 1);
		inv_asks_release(&m->stop_ask, 1);
		inv_status_release(&m->status);
	}
	free(ms->v);
	ms->v = NULL;
	ms->n = 0;
}

void inv_members_put_target(const struct inv_members *ms, size_t i,
			    struct inv_buf *out)
{
	inv_node_opts_put(inv_conn_name(ms->v[i].at->conn), out);
}

void inv_member_status(struct inv_member *m, struct inv_status *status)
{
	inv_status_release(&m->status);
	m->status = *status;
	memset(status, 0, sizeof(*status));
}

bool inv_members_other(const struct inv_members *ms, const struct inv_member *m,
		       bool (*meets)(const struct inv_member *m))
{
	for (size_t i = 0; i < ms->n; i++)
		if (&ms->v[i] != m && ms->v[i].at == m->at && meets(&ms->v[i]))
			return true;
	return false;
}

static bool is_lost(const struct inv_member *m)
{
	return inv_code_gone(m->code);
}

void inv_member_lose(struct inv_members *ms, struct inv_member *m,
		     const struct inv_err *err)
{
	if (!m->there)
		return;
	m->there = false;
	m->code = err->code ? err->code : INV_ELOST;
	m->err = *err;
	/*
	 * The command has already waited for this node in vain. With the state
	 * INV_ATTACH_UP, inv_cluster_leave does not wait for the node again.
	 * The node's guard cleans up when the connection ends.
	 */
	if (inv_code_gone(m->code))
		m->at->state = INV_ATTACH_UP;
	if (!inv_members_other(ms, m, is_lost))
		inv_screen_note_node(ms->cluster->screen, m->name, err->text);
}

bool inv_code_gone(int code)
{
	return code == INV_ETIME || code == INV_ELOST ||
	       code == INV_EUNREACHABLE || code == INV_ENONODE;
}

void inv_member_fail(struct inv_member *m)
{
	const struct inv_status *s = &m->status;

	if (m->code)
		return;
	m->code = s->code ? s->code : INV_EREMOTE;
	inv_err_set(&m->err, m->code, "%s",
		    *s->text ? s->text : "the node does not report why");
}

/* --- all sessions at once ------------------------------------------------- */

/* Waits for the answers. The user's first signal ends the wait and is
 * remembered; the second signal ends the program. */
static int gather(struct inv_members *ms, struct inv_ask *asks)
{
	struct inv_cluster *c = ms->cluster;
	int rc = inv_gather(c->in, asks, ms->n, c->stop.fd);

	if (rc != INV_ECANCELLED)
		return rc;
	if (c->stopped)
		inv_cluster_abandon(c);
	inv_stop_take(&c->stop);
	c->stopped = true;
	return rc;
}

static struct inv_ask *new_asks(struct inv_members *ms)
{
	struct inv_ask *asks = calloc(ms->n + 1, sizeof(*asks));

	if (!asks)
		inv_screen_note(ms->cluster->screen, "no memory");
	return asks;
}

static void free_asks(struct inv_members *ms, struct inv_ask *asks)
{
	inv_asks_release(asks, ms->n);
	free(asks);
}

static bool is_there(const struct inv_member *m)
{
	return m->there;
}

static bool is_unfetched(const struct inv_member *m)
{
	return m->there && m->unfetched;
}

/*
 * Sends a request to the members that `selects' accepts, waits, and passes the
 * answers to `got'. Waits at most ms_max milliseconds, and leaves the user's
 * signals pending. If ms_max is 0, waits until all members have answered or the
 * user stops the command.
 */
static int each_of(struct inv_members *ms,
		   bool (*selects)(const struct inv_member *m),
		   enum inv_session_verb verb,
		   int (*got)(struct inv_member *m, const struct inv_ask *ask),
		   int ms_max)
{
	struct inv_ask *asks = new_asks(ms);
	int rc = 0;

	if (!asks)
		return INV_ENOMEM;
	for (size_t i = 0; i < ms->n; i++) {
		if (selects(&ms->v[i]))
			inv_session_ask(&asks[i], &ms->v[i].session, verb,
					inv_cluster_ms(ms->cluster));
		else
			asks[i].done = true;
	}
	if (ms_max)
		inv_gather_for(ms->cluster->in, asks, ms->n, ms_max);
	else
		rc = gather(ms, asks);
	for (size_t i = 0; i < ms->n; i++) {
		struct inv_member *m = &ms->v[i];

		if (!selects(m) || !asks[i].done)
			continue;
		if (got(m, &asks[i]))
			inv_member_lose(ms, m, &m->err);
	}
	free_asks(ms, asks);
	return rc;
}

static int each(struct inv_members *ms, enum inv_session_verb verb,
		int (*got)(struct inv_member *m, const struct inv_ask *ask))
{
	return each_of(ms, is_there, verb, got, 0);
}

static int got_status(struct inv_member *m, const struct inv_ask *ask)
{
	struct inv_status status = { 0 };
	int rc = inv_session_status_got(ask, &status, &m->err);

	if (!rc)
		inv_member_status(m, &status);
	inv_status_release(&status);
	return rc;
}

#define CLOCK_ROUNDS 12
#define CLOCK_ROUNDS_MS 300

static int got_clock(struct inv_member *m, const struct inv_ask *ask)
{
	struct inv_status status = { 0 };
	int rc = inv_session_clock_got(ask, &m->session, &status, &m->err);

	if (!rc)
		inv_member_status(m, &status);
	inv_status_release(&status);
	return rc;
}

void inv_members_clocks(struct inv_members *ms)
{
	uint64_t command = inv_session_clock_new();
	int64_t until = inv_mono_ms() + CLOCK_ROUNDS_MS;

	if (ms->n < 2)
		return;
	for (size_t i = 0; i < ms->n; i++)
		ms->v[i].session.clock =
			(struct inv_session_clock){ .command = command };
	for (int i = 0; i < CLOCK_ROUNDS; i++) {
		int64_t left = until - inv_mono_ms();

		if (left <= 0 ||
		    each_of(ms, is_there, INV_VERB_CLOCK, got_clock, (int)left))
			return;
	}
}

static int got_stopped(struct inv_member *m, const struct inv_ask *ask)
{
	int rc = got_status(m, ask);

	m->final = !rc;
	return rc;
}

static int got_removed(struct inv_member *m, const struct inv_ask *ask)
{
	int rc = inv_session_ok_got(ask, &m->err);

	if (!rc)
		m->there = false;
	return rc;
}

void inv_members_status(struct inv_members *ms)
{
	each(ms, INV_VERB_STATUS, got_status);
}

void inv_members_stop(struct inv_members *ms)
{
	each(ms, INV_VERB_STOP, got_stopped);
}

/* got_removed makes the members forget their sessions, so the command sends no
 * more requests to these sessions. */
void inv_members_hold(struct inv_members *ms)
{
	each_of(ms, is_unfetched, INV_VERB_HOLD, got_removed, 0);
}

void inv_members_remove(struct inv_members *ms)
{
	each(ms, INV_VERB_REMOVE, got_removed);
}

/* --- start and find ------------------------------------------------------- */

/* Returns true if the node has no session with this name, and the command does
 * not need a session on this node. */
static bool does_without(const struct inv_members *ms,
			 const struct inv_member *m)
{
	const struct inv_cluster *c = ms->cluster;

	return m->code == INV_ENOTHING && c->dispensable &&
	       c->dispensable(c->dispensable_arg, inv_conn_name(m->at->conn));
}

/*
 * Reports the members' errors, and returns the exit status. A node on which
 * nothing matches is a failure only if nothing matches on any other node.
 */
static int judge(struct inv_members *ms)
{
	struct inv_screen *screen = ms->cluster->screen;
	size_t nothing = 0;
	int status = INV_EXIT_DONE;

	for (size_t i = 0; i < ms->n; i++) {
		struct inv_member *m = &ms->v[i];

		if (!m->code)
			continue;
		if (!does_without(ms, m))
			inv_screen_note_node(screen, m->name, m->err.text);
		if (m->code == INV_ENOTHING)
			nothing++;
		else if (!status)
			status = inv_exit_of(m->code);
	}
	if (!status && ms->n && nothing == ms->n)
		status = INV_EXIT_NOTHING;
	return status;
}

int inv_members_start(struct inv_members *ms, const struct inv_session_opts *o)
{
	struct inv_ask *asks = new_asks(ms);
	struct inv_session_opts opts = *o;
	int status;
	int rc;

	if (!asks)
		return INV_EXIT_FAILED;
	for (size_t i = 0; i < ms->n; i++) {
		opts.guard = &ms->v[i].at->guard;
		inv_session_start_ask(&asks[i], ms->v[i].at->conn, &opts,
				      inv_cluster_ms(ms->cluster));
	}
	rc = gather(ms, asks);
	for (size_t i = 0; i < ms->n; i++) {
		struct inv_member *m = &ms->v[i];

		if (!asks[i].done)
			continue;
		m->code = inv_session_start_got(&asks[i], &m->session,
						&m->status, &m->err);
		m->there = !m->code;
	}
	free_asks(ms, asks);
	if (rc == INV_ECANCELLED) {
		inv_screen_note(ms->cluster->screen, "interrupted");
		status = INV_EXIT_FAILED;
	} else {
		status = judge(ms);
	}
	if (status)
		inv_members_remove(ms);
	return status;
}

int inv_members_matched(struct inv_members *ms, unsigned n)
{
	for (size_t i = 0; i < ms->n; i++)
		if (ms->v[i].status.idle < (int64_t)n)
			return INV_EXIT_DONE;
	for (size_t i = 0; i < ms->n; i++) {
		const struct inv_member *m = &ms->v[i];

		for (size_t k = 0; k < m->status.notes.n; k++)
			inv_screen_note_node(ms->cluster->screen, m->name,
					     m->status.notes.v[k]);
	}
	inv_members_remove(ms);
	return INV_EXIT_NOTHING;
}

static int got_begun(struct inv_member *m, const struct inv_ask *ask)
{
	return inv_session_ok_got(ask, &m->err);
}

int inv_members_begin(struct inv_members *ms)
{
	int status = each(ms, INV_VERB_BEGIN, got_begun) ? INV_EXIT_FAILED :
							   INV_EXIT_DONE;

	for (size_t i = 0; !status && i < ms->n; i++)
		if (!ms->v[i].there)
			status = inv_exit_of(ms->v[i].code);
	if (status)
		inv_members_remove(ms);
	return status;
}

int inv_members_find(struct inv_members *ms, const char *name)
{
	struct inv_ask *asks = new_asks(ms);
	int rc;

	if (!asks)
		return INV_EXIT_FAILED;
	for (size_t i = 0; i < ms->n; i++)
		inv_session_find_ask(&asks[i], ms->v[i].at->conn, name,
				     inv_cluster_ms(ms->cluster));
	rc = gather(ms, asks);
	for (size_t i = 0; i < ms->n; i++) {
		struct inv_member *m = &ms->v[i];

		if (!asks[i].done)
			continue;
		m->code = inv_session_find_got(&asks[i], &m->session, &m->err);
		m->there = !m->code;
	}
	free_asks(ms, asks);
	if (rc == INV_ECANCELLED) {
		inv_screen_note(ms->cluster->screen, "interrupted");
		return INV_EXIT_FAILED;
	}
	return judge(ms);
}

/* --- results -------------------------------------------------------------- */

bool inv_lost_is_limit(const char *reason)
{
	return !strcmp(reason, "limit");
}

uint64_t inv_member_lost(const struct inv_member *m)
{
	uint64_t n = 0;

	for (size_t i = 0; i < m->status.n_lost; i++)
		if (!inv_lost_is_limit(m->status.lost[i].reason))
			n += m->status.lost[i].n;
	return n;
}

int inv_members_exit(const struct inv_members *ms)
{
	static const int order[] = {
		INV_EXIT_UNREACHABLE, INV_EXIT_FAILED,	  INV_EXIT_USAGE,
		INV_EXIT_REFUSED,     INV_EXIT_PROTECTED, INV_EXIT_LOST,
	};
	bool seen[INV_EXIT_LOST + 1] = { false };

	for (size_t i = 0; i < ms->n; i++) {
		const struct inv_member *m = &ms->v[i];

		if (m->code && m->code != INV_ENOTHING)
			seen[inv_exit_of(m->code)] = true;
		if (inv_status_is(&m->status, "failed") && !m->code)
			seen[INV_EXIT_FAILED] = true;
		if (inv_status_protected(&m->status))
			seen[INV_EXIT_PROTECTED] = true;
		if (inv_member_lost(m))
			seen[INV_EXIT_LOST] = true;
	}
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (seen[order[i]])
			return order[i];
	return INV_EXIT_DONE;
}
