/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"

#define WAITING_MAX ((size_t)256 * 1024)
#define WAIT_MS 200
#define DIVERT_MS 2000
#define KEPT_MAX ((size_t)64 * 1024)

/* A piece of output that waits to be written; its bytes follow it. */
struct piece {
	int fd;
	uint32_t len;
};

struct inv_screen {
	const char *program;
	bool status_line;
	int event;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more;
	/* the fields from here on are protected by the lock */
	struct inv_buf waiting;
	size_t at_work; /* bytes that the thread is writing */
	struct inv_buf status;
	bool status_new;
	bool closing;
	int broken; /* errno of a failed write to standard output; 0: none */
	/* fields for inv_screen_limit (0: no limit) and inv_screen_divert, used
	 * only by the caller's thread */
	int limit_ms;
	void (*divert)(void *arg, const char *note);
	void *divert_arg;
	struct inv_buf kept;
	/* used only by the thread that writes */
	bool shown; /* the status line is on the terminal */
	struct inv_buf work;
	struct inv_buf drawn;
};

/* --- the terminal --------------------------------------------------------- */

bool inv_screen_is_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && isatty(STDERR_FILENO) && term &&
	       strcmp(term, "dumb") != 0;
}

unsigned inv_screen_width(void)
{
	struct winsize w = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) &&
	    ioctl(STDERR_FILENO, TIOCGWINSZ, &w))
		return 0;
	return w.ws_col;
}

size_t inv_screen_fit(const char *text, size_t len, unsigned columns)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (((unsigned char)text[i] & 0xc0) == 0x80)
			continue; /* the byte is not the first one of a
				     character */
		if (!columns--)
			break;
	}
	return i;
}

/* --- the thread ----------------------------------------------------------- */

/*
 * Writes all bytes. Returns 0 or errno. Waits if another program has made the
 * descriptor non-blocking.
 */
static int write_all(int fd, const uint8_t *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n >= 0) {
			p += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			struct pollfd pfd = { .fd = fd, .events = POLLOUT };

			poll(&pfd, 1, -1);
		} else if (errno != EINTR) {
			return errno;
		}
	}
	return 0;
}

static void wipe(struct inv_screen *s)
{
	static const char text[] = "\r\033[K";

	if (s->shown)
		write_all(STDERR_FILENO, (const uint8_t *)text,
			  sizeof(text) - 1);
	s->shown = false;
}

static void draw(struct inv_screen *s)
{
	unsigned width = inv_screen_width();
	size_t len = s->drawn.len;

	if (!len) {
		wipe(s);
		return;
	}
	/* The last column stays empty, because some terminals wrap the line
	 * when a character is written there. */
	if (width)
		len = inv_screen_fit((const char *)s->drawn.data, len,
				     width - 1);
	inv_buf_reset(&s->work);
	inv_buf_putc(&s->work, '\r');
	inv_buf_put(&s->work, s->drawn.data, len);
	inv_buf_puts(&s->work, "\033[K");
	if (!s->work.error)
		write_all(STDERR_FILENO, s->work.data, s->work.len);
	s->shown = true;
}

/* Writes the pieces in s->work. Returns the errno of a failed write to standard
 * output, or 0. */
static int write_work(struct inv_screen *s)
{
	size_t at = 0;
	int broken = 0;

	wipe(s);
	while (at < s->work.len) {
		struct piece piece;

		memcpy(&piece, s->work.data + at, sizeof(piece));
		at += sizeof(piece);
		if (piece.fd != STDOUT_FILENO)
			write_all(piece.fd, s->work.data + at, piece.len);
		else if (!broken)
			broken = write_all(piece.fd, s->work.data + at,
					   piece.len);
		at += piece.len;
	}
	return broken;
}

static void ring(struct inv_screen *s)
{
	uint64_t one = 1;
	ssize_t n = write(s->event, &one, sizeof(one));

	(void)n; /* The write fails only if the counter of the eventfd is full.
		    Then the descriptor is readable already. */
}

/* Takes the waiting pieces and writes them. The lock is held on entry, and
 * released while writing. */
static void turn(struct inv_screen *s)
{
	struct inv_buf swap = s->work;
	int broken;

	if (s->waiting.len) {
		s->work = s->waiting;
		s->waiting = swap;
		inv_buf_reset(&s->waiting);
		s->at_work = s->work.len;
		pthread_mutex_unlock(&s->lock);
		broken = write_work(s);
		pthread_mutex_lock(&s->lock);
		if (broken && !s->broken)
			s->broken = broken;
		s->at_work = 0;
		s->status_new = true;
		ring(s);
		return;
	}
	inv_buf_reset(&s->drawn);
	if (s->status.len)
		inv_buf_put(&s->drawn, s->status.data, s->status.len);
	s->status_new = false;
	pthread_mutex_unlock(&s->lock);
	draw(s);
	pthread_mutex_lock(&s->lock);
}

static void *writer(void *arg)
{
	struct inv_screen *s = arg;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		if (s->waiting.len || (s->status_new && s->status_line))
			turn(s);
		else if (s->closing)
			break;
		else
			pthread_cond_wait(&s->more, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* --- the caller's thread -------------------------------------------------- */

static void release(struct inv_screen *s)
{
	if (s->event >= 0)
		close(s->event);
	pthread_cond_destroy(&s->more);
	pthread_mutex_destroy(&s->lock);
	inv_buf_release(&s->waiting);
	inv_buf_release(&s->kept);
	inv_buf_release(&s->status);
	inv_buf_release(&s->work);
	inv_buf_release(&s->drawn);
	free(s);
}

int inv_screen_open(struct inv_screen **out, const char *program,
		    bool status_line)
{
	struct inv_screen *s = calloc(1, sizeof(*s));
	sigset_t all, before;
	int rc;

	if (!s)
		return INV_ENOMEM;
	s->program = program;
	s->status_line = status_line;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->more, NULL);
	s->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	rc = s->event < 0 ? errno : pthread_create(&s->thread, NULL, writer, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc) {
		release(s);
		return INV_EIO;
	}
	*out = s;
	return 0;
}

bool inv_screen_close(struct inv_screen *s)
{
	bool good;

	if (!s)
		return true;
	inv_screen_status(s, "");
	if (s->limit_ms && !inv_screen_drain(s, s->limit_ms)) {
		/* The thread is in write(), and uses s until the process
		 * ends. */
		pthread_detach(s->thread);
		return true;
	}
	pthread_mutex_lock(&s->lock);
	s->closing = true;
	pthread_cond_signal(&s->more);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	good = !s->broken || s->broken == EPIPE || s->limit_ms;
	if (!good)
		fprintf(stderr, "%s: standard output: %s\n", s->program,
			strerror(s->broken)); /* NOLINT: one thread again */
	release(s);
	return good;
}

void inv_screen_limit(struct inv_screen *s, int ms)
{
	s->limit_ms = ms;
}

int inv_screen_fd(const struct inv_screen *s)
{
	return s->event;
}

void inv_screen_seen(struct inv_screen *s)
{
	uint64_t n;
	ssize_t rc = read(s->event, &n, sizeof(n));

	(void)rc; /* the read fails only if the descriptor was not readable */
}

void inv_screen_wait(struct inv_screen *s, int fd)
{
	struct pollfd fds[] = { { .fd = s->event, .events = POLLIN },
				{ .fd = fd, .events = POLLIN } };

	poll(fds, 2, WAIT_MS);
	if (fds[0].revents)
		inv_screen_seen(s);
}

size_t inv_screen_room(struct inv_screen *s)
{
	size_t waits;

	pthread_mutex_lock(&s->lock);
	waits = s->waiting.len + s->at_work;
	if (s->broken)
		waits = 0; /* bytes for a broken output are dropped at once */
	pthread_mutex_unlock(&s->lock);
	return waits < WAITING_MAX ? WAITING_MAX - waits : 0;
}

bool inv_screen_broken(struct inv_screen *s, int *sys)
{
	pthread_mutex_lock(&s->lock);
	*sys = s->broken;
	pthread_mutex_unlock(&s->lock);
	return *sys != 0;
}

static void give(struct inv_screen *s, int fd, const void *bytes, size_t len)
{
	struct piece piece = { .fd = fd, .len = (uint32_t)len };

	pthread_mutex_lock(&s->lock);
	if (s->broken && fd == STDOUT_FILENO) {
		/* Standard output cannot be written: drop the bytes. */
	} else if (inv_buf_reserve(&s->waiting, sizeof(piece) + len)) {
		inv_buf_put(&s->waiting, &piece, sizeof(piece));
		inv_buf_put(&s->waiting, bytes, len);
		pthread_cond_signal(&s->more);
	} else {
		/* There is no memory for these bytes. Further output would hide
		 * the gap, so it is dropped, too. */
		s->waiting.error = 0;
		if (fd == STDOUT_FILENO)
			s->broken = ENOMEM;
	}
	pthread_mutex_unlock(&s->lock);
}

void inv_screen_out(struct inv_screen *s, const void *bytes, size_t len)
{
	if (len)
		give(s, STDOUT_FILENO, bytes, len);
}

void inv_screen_err(struct inv_screen *s, const void *bytes, size_t len)
{
	if (len)
		give(s, STDERR_FILENO, bytes, len);
}

void inv_screen_put(struct inv_screen *s, struct inv_buf *b)
{
	if (!b->error)
		inv_screen_out(s, b->data, b->len);
	inv_buf_release(b);
}

void inv_screen_put_err(struct inv_screen *s, struct inv_buf *b)
{
	if (!b->error)
		inv_screen_err(s, b->data, b->len);
	inv_buf_release(b);
}

/* Keeps a note for later. */
static void keep(struct inv_screen *s, const char *note, size_t len)
{
	struct inv_buf *k = &s->kept;
	const uint8_t *end;

	while (k->len && k->len + len > KEPT_MAX) {
		end = memchr(k->data, '\n', k->len);
		k->len = end ? k->len - (size_t)(end + 1 - k->data) : 0;
		if (k->len)
			memmove(k->data, end + 1, k->len);
	}
	inv_buf_put(k, note, len);
}

void inv_screen_note(struct inv_screen *s, const char *fmt, ...)
{
	char text[1024];
	int n = snprintf(text, sizeof(text), "%s: ", s->program);
	size_t len;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n - 1, fmt, ap);
	va_end(ap);
	if (s->divert)
		s->divert(s->divert_arg, text + n);
	len = strlen(text);
	text[len++] = '\n';
	if (s->divert)
		keep(s, text, len);
	else
		give(s, STDERR_FILENO, text, len);
}

static bool is_writing(struct inv_screen *s)
{
	bool busy;

	pthread_mutex_lock(&s->lock);
	busy = s->waiting.len || s->at_work ||
	       (s->status_new && s->status_line);
	pthread_mutex_unlock(&s->lock);
	return busy;
}

bool inv_screen_drain(struct inv_screen *s, int ms)
{
	int64_t until = inv_mono_ms() + ms;

	while (is_writing(s)) {
		if (inv_mono_ms() >= until)
			return false;
		inv_sleep_ms(1);
	}
	return true;
}

void inv_screen_divert(struct inv_screen *s,
		       void (*to)(void *arg, const char *note), void *arg)
{
	s->divert = to;
	s->divert_arg = arg;
	if (!to) {
		inv_screen_put_err(s, &s->kept);
		return;
	}
	inv_screen_status(s, "");
	(void)inv_screen_drain(s, DIVERT_MS);
}

const char *inv_screen_without(const char *text, const char *node)
{
	size_t len = strlen(node);

	while (!strncmp(text, node, len) && !strncmp(text + len, ": ", 2))
		text += len + 2;
	return text;
}

void inv_screen_note_node(struct inv_screen *s, const char *node,
			  const char *text)
{
	text = inv_screen_without(text, node);
	if (!strncmp(text, node, strlen(node)))
		inv_screen_note(s, "%s", text);
	else
		inv_screen_note(s, "%s: %s", node, text);
}

void inv_screen_status(struct inv_screen *s, const char *text)
{
	size_t len = strlen(text);

	if (!s->status_line)
		return;
	pthread_mutex_lock(&s->lock);
	if (s->status.len != len ||
	    (len && memcmp(s->status.data, text, len) != 0)) {
		inv_buf_reset(&s->status);
		inv_buf_put(&s->status, text, len);
		s->status_new = true;
		pthread_cond_signal(&s->more);
	}
	pthread_mutex_unlock(&s->lock);
}
