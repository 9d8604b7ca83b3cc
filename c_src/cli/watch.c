/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/watch.h"

#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/notes.h"

#define FOLLOW_MAX (256u * 1024)
#define SILENT_MS 2000
#define WAIT_MAX_MS 500

static bool done(const struct inv_watch *w, const struct inv_member *m)
{
	if (w->until_armed && !w->stop_wanted &&
	    inv_status_is(&m->status, "tracing"))
		return true;
	return !m->there || (m->final && m->eof);
}

/* --- answers -------------------------------------------------------------- */

static void end_log(struct inv_watch *w, struct inv_member *m)
{
	if (m->eof)
		return;
	m->eof = true;
	if (w->ended)
		w->ended(w->arg, m);
}

static void lose(struct inv_watch *w, struct inv_member *m,
		 const struct inv_err *err)
{
	struct inv_err why = *err;

	if (why.code == INV_ETIME)
		inv_err_set(
			&why, INV_ETIME,
			"%.400s; the command no longer waits, the node cleans "
			"up by itself",
			err->text);
	inv_member_lose(w->ms, m, &why);
	end_log(w, m);
}

static void tell_matched(struct inv_watch *w, struct inv_member *m)
{
	const struct inv_status *s = &m->status;
	struct inv_buf b = { 0 };

	if (m->notified || !*s->state || inv_status_is(s, "arming"))
		return;
	m->notified = true;
	if (w->quiet)
		return;
	inv_buf_printf(&b, "%s:", m->name);
	if (s->functions > 0)
		inv_buf_printf(&b, " %lld function%s,", (long long)s->functions,
			       s->functions == 1 ? "" : "s");
	if (s->processes > 0 || s->system == 0)
		inv_buf_printf(&b, " %lld process%s",
			       (long long)(s->processes < 0 ? 0 : s->processes),
			       s->processes == 1 ? "" : "es");
	if (s->system > 0)
		inv_buf_printf(&b, "%s the system monitor",
			       s->processes > 0 ? "," : "");
	if (!b.error)
		inv_screen_note(w->ms->cluster->screen, "%.*s", (int)b.len,
				(const char *)b.data);
	inv_buf_release(&b);
}

static void heard(struct inv_watch *w, struct inv_member *m,
		  struct inv_status *status)
{
	m->silent = false;
	inv_member_status(m, status);
	tell_matched(w, m);
	if (!w->quiet)
		inv_notes_tell(w->ms);
	if (inv_status_is(&m->status, "failed") && !m->code) {
		inv_member_fail(m);
		inv_screen_note(w->ms->cluster->screen, "%s: failed: %s",
				m->name, m->err.text);
	}
	/* Without `wants' the log is not requested, so this status is the
	 * last. */
	if (inv_status_ended(&m->status) && !w->wants) {
		m->final = true;
		end_log(w, m);
	}
	if (w->together && (inv_status_ended(&m->status) ||
			    inv_status_is(&m->status, "stopping")))
		inv_watch_stop(w, "another node stopped");
}

static int got_followed(struct inv_watch *w, struct inv_member *m,
			struct inv_status *status, struct inv_err *err)
{
	struct inv_followed f;
	int rc = inv_session_follow_got(&m->ask, &f, status, err);

	if (rc)
		return rc;
	m->offset += f.len;
	if (!m->eof)
		w->took(w->arg, m, &f);
	if (f.watermark == INV_WATERMARK_EOF)
		end_log(w, m);
	return 0;
}

static void answered(struct inv_watch *w, struct inv_member *m)
{
	struct inv_status status = { 0 };
	struct inv_err err = { 0 };
	int rc;

	if (m->following)
		rc = got_followed(w, m, &status, &err);
	else if (m->timing)
		rc = inv_session_clock_got(&m->ask, &m->session, &status, &err);
	else
		rc = inv_session_status_got(&m->ask, &status, &err);
	if (rc)
		lose(w, m, &err);
	else
		heard(w, m, &status);
	inv_status_release(&status);
	inv_asks_release(&m->ask, 1);
}

/* Handles the answer to `stop': the session has stopped, and its log is
 * complete. */
static void stopped(struct inv_watch *w, struct inv_member *m)
{
	struct inv_status status = { 0 };
	struct inv_err err = { 0 };

	if (inv_session_status_got(&m->stop_ask, &status, &err)) {
		lose(w, m, &err);
	} else {
		heard(w, m, &status);
		m->final = true;
		if (!w->wants || w->discard)
			end_log(w, m);
	}
	inv_status_release(&status);
	inv_asks_release(&m->stop_ask, 1);
}

static void mail(struct inv_watch *w, struct inv_mail *mail)
{
	struct inv_members *ms = w->ms;

	for (size_t i = 0; i < ms->n; i++) {
		struct inv_member *m = &ms->v[i];

		if (m->at->conn != mail->conn || !m->there)
			continue;
		if (mail->kind == INV_MAIL_LOST) {
			lose(w, m, &mail->err);
		} else if (inv_ask_open(&m->ask) &&
			   inv_ask_mail(&m->ask, mail)) {
			answered(w, m);
			return;
		} else if (inv_ask_open(&m->stop_ask) &&
			   inv_ask_mail(&m->stop_ask, mail)) {
			stopped(w, m);
			return;
		}
	}
	if (w->mailed)
		w->mailed(w->arg, mail);
	inv_mail_release(mail);
}

/* --- requests ------------------------------------------------------------- */

static void ask_stop(struct inv_watch *w, struct inv_member *m)
{
	if (m->stopping || m->final || !m->there)
		return;
	m->stopping = true;
	m->why_asked = w->why;
	inv_session_ask(&m->stop_ask, &m->session, INV_VERB_STOP,
			inv_cluster_ms(w->ms->cluster));
	if (m->stop_ask.done)
		stopped(w, m);
}

void inv_watch_stop(struct inv_watch *w, const char *why)
{
	/* Only stores that the sessions are to stop. If a request were sent
	 * here and failed, a hook would be called, and the hook could call this
	 * function again. */
	for (size_t i = 0; i < w->ms->n; i++)
		w->ms->v[i].next_ms = 0;
	w->stop_wanted = true;
	if (!w->why)
		w->why = why;
}

bool inv_watch_wants_all(void *arg, struct inv_member *m)
{
	(void)arg;
	(void)m;
	return true;
}

static bool want_log(struct inv_watch *w, struct inv_member *m)
{
	return w->wants && !m->eof && !w->discard && w->wants(w->arg, m);
}

static bool is_silent(const struct inv_member *m)
{
	return m->silent;
}

static void silent(struct inv_watch *w, struct inv_member *m)
{
	if (!inv_members_other(w->ms, m, is_silent))
		inv_screen_note(w->ms->cluster->screen, "%s: no answer for 2 s",
				m->name);
	m->silent = true;
}

static void ask(struct inv_watch *w, struct inv_member *m, int64_t now)
{
	int ms = inv_cluster_ms(w->ms->cluster);

	if (inv_ask_open(&m->ask)) {
		if (!m->silent && now - m->asked_ms >= SILENT_MS)
			silent(w, m);
		return;
	}
	if (want_log(w, m)) {
		m->following = true;
		m->timing = false;
		inv_session_follow_ask(&m->ask, &m->session, m->offset,
				       FOLLOW_MAX, ms);
	} else if (now >= m->next_ms) {
		m->following = false;
		m->next_ms = now + w->period_ms;
		m->timing = w->clock_ms && m->session.clock.command &&
			    now >= m->clock_ms;
		if (m->timing)
			m->clock_ms = now + w->clock_ms;
		inv_session_ask(&m->ask, &m->session,
				m->timing ? INV_VERB_CLOCK : INV_VERB_STATUS,
				ms);
	} else {
		return;
	}
	m->asked_ms = now;
	if (m->ask.done)
		answered(w, m);
}

/* Sends requests that are due. Returns true if a session has not ended yet. */
static bool ask_all(struct inv_watch *w, int64_t now, int64_t *wait)
{
	bool open = false;

	for (size_t i = 0; i < w->ms->n; i++) {
		struct inv_member *m = &w->ms->v[i];

		if (w->discard && m->final)
			end_log(w, m);
		if (done(w, m))
			continue;
		if (w->stop_wanted || m->eof)
			ask_stop(w, m);
		if (!done(w, m))
			ask(w, m, now);
		if (done(w, m))
			continue;
		open = true;
		if (m->next_ms > now && m->next_ms - now < *wait)
			*wait = m->next_ms - now;
	}
	return open;
}

/* --- the loop ------------------------------------------------------------- */

enum {
	AT_INBOX,
	AT_STOP,
	AT_SCREEN,
	AT_OUTPUT,
	AT_MORE,
	AT_COUNT = AT_MORE + INV_WATCH_MORE
};

static const char output_closed[] = "standard output is closed";

static void look_at_output(struct inv_watch *w)
{
	int sys;

	if (w->broken || !inv_screen_broken(w->ms->cluster->screen, &sys))
		return;
	w->broken = true;
	w->discard = true;
	inv_watch_stop(w, output_closed);
}

static bool all_final(const struct inv_members *ms)
{
	for (size_t i = 0; i < ms->n; i++)
		if (ms->v[i].there && !ms->v[i].final)
			return false;
	return true;
}

/*
 * Handles the user's signals. The first signal stops the sessions. If all
 * sessions have stopped, the second signal discards the waiting output.
 * Otherwise the second signal ends the program at once.
 */
static void signalled(struct inv_watch *w)
{
	struct inv_cluster *c = w->ms->cluster;

	if (!inv_stop_take(&c->stop))
		return;
	if (c->stopped && (w->discard || !all_final(w->ms)))
		inv_cluster_abandon(c);
	if (c->stopped)
		w->discard = true;
	c->stopped = true;
	w->interrupted = true;
	inv_watch_stop(w, "interrupted");
}

static void wait_for(struct inv_watch *w, int64_t ms)
{
	struct inv_cluster *c = w->ms->cluster;
	bool watch_output = w->output && !w->broken;
	struct pollfd fds[AT_COUNT] = {
		[AT_INBOX] = { .fd = inv_inbox_fd(c->in), .events = POLLIN },
		[AT_STOP] = { .fd = c->stop.fd, .events = POLLIN },
		[AT_SCREEN] = { .fd = inv_screen_fd(c->screen),
				.events = POLLIN },
		/*
		 * Standard output is polled only for POLLERR, which shows that
		 * the reader has closed the pipe.
		 */
		[AT_OUTPUT] = { .fd = watch_output ? STDOUT_FILENO : -1 },
	};
	struct inv_mail item;

	if (w->n_more)
		memcpy(fds + AT_MORE, w->more, w->n_more * sizeof(*fds));
	poll(fds, AT_MORE + w->n_more, (int)ms);
	if (w->n_more)
		memcpy(w->more, fds + AT_MORE, w->n_more * sizeof(*fds));
	if (fds[AT_SCREEN].revents)
		inv_screen_seen(c->screen);
	if (fds[AT_STOP].revents)
		signalled(w);
	if (fds[AT_OUTPUT].revents & (POLLERR | POLLHUP)) {
		w->broken = true;
		w->discard = true;
		inv_watch_stop(w, output_closed);
	}
	/* This loop ends, because only a few requests are open, and each
	 * request gets one answer. */
	while (!inv_inbox_take(c->in, 0, &item))
		mail(w, &item);
}

void inv_watch_run(struct inv_watch *w)
{
	int64_t turn_ms;

	for (;;) {
		int64_t wait = WAIT_MAX_MS;
		bool open = ask_all(w, inv_mono_ms(), &wait);

		turn_ms = w->turn ? w->turn(w->arg) : -1;
		if (!open && !(w->going && w->going(w->arg)))
			return;
		if (turn_ms >= 0 && turn_ms < wait)
			wait = turn_ms;
		wait_for(w, wait);
		look_at_output(w);
	}
}
