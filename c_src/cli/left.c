/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/left.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/report.h"
#include "cli/session_name.h"
#include "cli/shell_word.h"
#include "cli/units.h"
#include "node/part.h"
#include "spool/place.h"

#define LOOK_MS 5000
/* How long to wait for a spooler. If writing the log fails, the spooler tries
 * again for 5 s. */
#define SPOOLER_MS 8000
/* How long to wait for the death of a node whose connection broke. */
#define DYING_MS 3000
#define PAUSE_MS 50
#define MANY 10000
#define CHUNK (256u << 10)

/* --- finding -------------------------------------------------------------- */

struct search {
	struct inv_lefts *out;
	const char *parent;
	const struct inv_place *place;
	bool no_memory;
};

void inv_left_release(struct inv_left *l)
{
	free(l->node);
	free(l->name);
	free(l->place);
	free(l->room);
	free(l->ring);
	memset(l, 0, sizeof(*l));
}

void inv_lefts_release(struct inv_lefts *l)
{
	for (size_t i = 0; i < l->n; i++)
		inv_left_release(&l->v[i]);
	free(l->v);
	memset(l, 0, sizeof(*l));
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && !strcmp(text + n - m, end);
}

/* Returns true for a regular file of this user that has no other links. */
static bool is_plain(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
	       st->st_nlink == 1;
}

/*
 * Returns the NAME of NAME.log, or NULL if NAME is not a valid name for a
 * recording.
 */
static char *name_of(const char *file)
{
	char *name = strndup(file, strlen(file) - strlen(".log"));

	if (name && !inv_session_name_good(name)) {
		free(name);
		return NULL;
	}
	return name;
}

static void add(struct search *s, struct inv_left *l, const char *room,
		const char *ring)
{
	struct inv_lefts *out = s->out;
	struct inv_left *v = realloc(out->v, (out->n + 1) * sizeof(*v));
	int n = asprintf(&l->place, "%s/%s", s->parent, s->place->name);

	out->v = v ? v : out->v;
	l->place = n < 0 ? NULL : l->place;
	l->node = strdup(s->place->node);
	l->room = strdup(room);
	n = ring ? asprintf(&l->ring, "%s/%s/%s", l->place, room, ring) : 0;
	l->ring = n > 0 ? l->ring : NULL;
	if (!v || !l->place || !l->node || !l->room || n < 0) {
		s->no_memory = true;
		inv_left_release(l);
		return;
	}
	out->v[out->n++] = *l;
}

static bool in_room(void *arg, const char *room, int fd)
{
	struct search *s = arg;
	struct inv_left l = { .os_pid = s->place->pid,
			      .since = s->place->time };
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	char ring[NAME_MAX + 1] = "";
	const struct dirent *e;
	struct stat st;

	if (!dir && copy >= 0)
		close(copy);
	while (dir && (e = readdir(dir))) {
		if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !is_plain(&st))
			continue;
		if (ends_with(e->d_name, ".ring") && e->d_name[0] != '-' &&
		    inv_session_name_good(e->d_name))
			snprintf(ring, sizeof(ring), "%s", e->d_name);
		if (l.name || !ends_with(e->d_name, ".log"))
			continue;
		l.name = name_of(e->d_name);
		l.bytes = (uint64_t)st.st_size;
		l.written = st.st_mtime;
	}
	if (dir)
		closedir(dir);
	if (l.name)
		add(s, &l, room, *ring ? ring : NULL);
	return !s->no_memory && s->out->n < MANY;
}

/* Returns true if the node name in a record is valid. Other names are refused,
 * because the name will be printed and become part of a file name. */
static bool is_sound(const char *node)
{
	struct inv_node_name name;
	const char *p;

	for (p = node; *p; p++)
		if ((unsigned char)*p < ' ' || *p == '/' || *p == 0x7f)
			return false;
	return inv_node_name_parse(&name, node, (size_t)(p - node), NULL) == 0;
}

static bool in_place(void *arg, const char *parent, struct inv_place *p)
{
	struct search *s = arg;

	s->parent = parent;
	s->place = p;
	if (is_sound(p->node) && inv_place_is_dead(p))
		inv_place_rooms(p, in_room, s);
	return !s->no_memory && s->out->n < MANY;
}

static int newest_first(const void *a, const void *b)
{
	const struct inv_left *x = a, *y = b;

	return x->written < y->written ? 1 : x->written > y->written ? -1 : 0;
}

static int find_in(struct inv_lefts *out, const char *const *dirs, size_t n)
{
	struct search s = { .out = out };

	memset(out, 0, sizeof(*out));
	inv_places(dirs, n, LOOK_MS, in_place, &s);
	if (s.no_memory) {
		inv_lefts_release(out);
		return INV_ENOMEM;
	}
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), newest_first);
	return 0;
}

int inv_lefts_find(struct inv_lefts *out, const char *dir)
{
	const char *dirs[4] = { "/tmp", "/var/tmp" };
	const char *tmp = getenv("TMPDIR");
	size_t n = 2;

	if (tmp && *tmp == '/')
		dirs[n++] = tmp;
	if (dir)
		dirs[n++] = dir;
	return find_in(out, dirs, n);
}

bool inv_left_is_of(const struct inv_left *l, const struct inv_node_name *node)
{
	size_t n = strlen(node->alive);

	if (!strcmp(l->node, node->full))
		return true;
	return node->any_host && !strncmp(l->node, node->alive, n) &&
	       l->node[n] == '@';
}

/* --- a log with a known path ---------------------------------------------- */

/* Splits PARENT/inviso-.../room-1/NAME.log into place and room. */
static bool split(char *log, const char **place, const char **room)
{
	char *slash[3];

	for (size_t i = 0; i < 3; i++) {
		slash[i] = strrchr(log, '/');
		if (!slash[i] || slash[i] == log)
			return false;
		*slash[i] = 0;
	}
	*room = slash[1] + 1;
	*place = slash[2] + 1;
	return true;
}

/* Moves the recording of this node, in this place and room, from the list to
 * *out. Returns false if there is none. */
static bool take(struct inv_lefts *all, struct inv_left *out, const char *node,
		 const char *place, const char *room)
{
	for (size_t i = 0; i < all->n; i++) {
		struct inv_left *l = &all->v[i];

		if (strcmp(l->node, node) != 0 || strcmp(l->room, room) != 0 ||
		    !ends_with(l->place, place))
			continue;
		*out = *l;
		memset(l, 0, sizeof(*l));
		return true;
	}
	return false;
}

bool inv_left_find_log(struct inv_left *out, const char *node, const char *log)
{
	uint64_t until = inv_mono_ns() + (uint64_t)DYING_MS * 1000000;
	const char *place, *room;
	char *copy = strdup(log);
	bool found = false;

	if (!copy || *copy != '/' || !split(copy, &place, &room)) {
		free(copy);
		return false;
	}
	for (;;) {
		const char *dirs[] = { copy };
		struct inv_lefts all;
		struct stat st;

		if (find_in(&all, dirs, 1))
			break;
		found = take(&all, out, node, place, room);
		inv_lefts_release(&all);
		if (found || lstat(log, &st) < 0 || st.st_uid != geteuid() ||
		    inv_mono_ns() >= until)
			break;
		inv_sleep_ms(PAUSE_MS);
	}
	free(copy);
	return found;
}

/* --- copying -------------------------------------------------------------- */

struct copy {
	const struct inv_left *l;
	struct inv_place place;
	int parent;
	int room;
	int log;
	char file[NAME_MAX + 1];
	uint64_t size;
};

static int open_place(struct copy *c, struct inv_err *err)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	const char *slash = strrchr(c->l->place, '/');
	char *parent = strndup(c->l->place, (size_t)(slash - c->l->place));

	if (!parent)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	c->parent = open(*parent ? parent : "/", flags);
	free(parent);
	if (c->parent < 0 || !inv_place_open(&c->place, c->parent, slash + 1))
		return inv_err_sys(err, errno, "open %s", c->l->place);
	if (!inv_place_is_dead(&c->place))
		return inv_err_set(err, INV_EBUSY,
				   "%s: another command is using it",
				   c->l->place);
	c->room = openat(c->place.fd, c->l->room, flags | O_NOFOLLOW);
	return c->room < 0 ? inv_err_sys(err, errno, "open %s/%s", c->l->place,
					 c->l->room) :
			     0;
}

/* Opens the log. Waits for the lock, which a spooler holds until the log is
 * complete. */
static int open_log(struct copy *c, struct inv_err *err)
{
	uint64_t until = inv_mono_ns() + (uint64_t)SPOOLER_MS * 1000000;
	struct stat st;

	c->log = openat(c->room, c->file,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (c->log < 0)
		return inv_err_sys(err, errno, "open %s/%s/%s", c->l->place,
				   c->l->room, c->file);
	while (flock(c->log, LOCK_SH | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK || inv_mono_ns() >= until)
			return inv_err_set(err, INV_EBUSY,
					   "%s/%s/%s: it is still written",
					   c->l->place, c->l->room, c->file);
		inv_sleep_ms(PAUSE_MS);
	}
	if (fstat(c->log, &st) < 0 || !is_plain(&st))
		return inv_err_set(err, INV_EBUSY,
				   "%s/%s/%s: not a regular file of this user",
				   c->l->place, c->l->room, c->file);
	c->size = (uint64_t)st.st_size;
	return 0;
}

static int copy_bytes(struct copy *c, struct inv_part *part,
		      struct inv_err *err)
{
	uint8_t *buf = malloc(CHUNK);
	int r = buf ? 0 : inv_err_set(err, INV_ENOMEM, "no memory");

	while (r == 0 && part->size < c->size) {
		uint64_t left = c->size - part->size;
		ssize_t n = pread(c->log, buf, left < CHUNK ? left : CHUNK,
				  (off_t)part->size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			r = inv_err_sys(err, n < 0 ? errno : EIO, "read %s",
					c->file);
		else
			r = inv_part_append(part, buf, (size_t)n, err);
	}
	free(buf);
	return r;
}

static int copy_log(struct copy *c, const char *dir, struct inv_err *err)
{
	char prefix[INV_NODE_NAME_MAX + 2];
	struct inv_part part;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return inv_err_sys(err, errno, "open %s", dir);
	snprintf(prefix, sizeof(prefix), "%s-", c->l->node);
	r = inv_part_open(&part, fd, prefix, c->file, c->size, err);
	if (r == 0) {
		if (part.size)
			r = inv_part_reset(&part, err);
		if (r == 0)
			r = copy_bytes(c, &part, err);
		if (r == 0)
			r = inv_part_finish(&part, err);
		inv_part_close(&part);
	}
	close(fd);
	return r < 0 ? r : 0;
}

int inv_left_copy(const struct inv_left *l, const char *dir, bool keep,
		  struct inv_err *err)
{
	struct copy c = { .l = l,
			  .place = { .fd = -1, .record = -1 },
			  .parent = -1,
			  .room = -1,
			  .log = -1 };
	int r;

	snprintf(c.file, sizeof(c.file), "%s.log", l->name);
	r = open_place(&c, err);
	if (r == 0)
		r = open_log(&c, err);
	if (r == 0)
		r = copy_log(&c, dir, err);
	if (r == 0 && !keep && !l->ring) {
		unlinkat(c.room, c.file, 0);
		inv_place_clear(&c.place);
	}
	if (c.log >= 0)
		close(c.log);
	if (c.room >= 0)
		close(c.room);
	inv_place_close(&c.place);
	if (c.parent >= 0)
		close(c.parent);
	return r;
}

/* --- output --------------------------------------------------------------- */

void inv_left_put_time(struct inv_buf *b, int64_t time)
{
	time_t t = (time_t)time;
	char text[64];
	struct tm tm;

	if (!localtime_r(&t, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(text, sizeof(text), "%" PRId64, time);
	inv_buf_puts(b, text);
}

static bool is_one_of_several(const struct inv_left *l,
			      const struct inv_lefts *all)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += !strcmp(all->v[i].node, l->node) &&
		     !strcmp(all->v[i].name, l->name);
	return n > 1;
}

void inv_left_put_text(struct inv_buf *b, const struct inv_left *l,
		       const struct inv_lefts *all)
{
	inv_buf_printf(b,
		       "  %-24s left by %s (os pid %" PRId32
		       "), which died after ",
		       l->name, l->node, l->os_pid);
	inv_left_put_time(b, l->written);
	inv_buf_puts(b, "\n    log     ");
	inv_units_put_bytes(b, l->bytes);
	inv_buf_printf(b, " in %s/%s/%s.log\n", l->place, l->room, l->name);
	if (l->ring) {
		inv_buf_puts(b, "    next    inviso recover ");
		inv_shell_word_put(b, l->ring);
		inv_buf_putc(b, '\n');
	}
	inv_buf_puts(b, "    next    inviso fetch -n ");
	inv_shell_word_put(b, l->node);
	if (is_one_of_several(l, all)) {
		inv_buf_puts(b, " --place ");
		inv_shell_word_put(b, l->place);
	}
	inv_buf_printf(b, " %s\n", l->name);
}

void inv_left_put_json(struct inv_json *j, const char *key,
		       const struct inv_left *l)
{
	size_t begin;

	inv_json_open(j, key, '{');
	inv_json_text(j, "name", l->name);
	inv_json_int(j, "os_pid", l->os_pid);
	inv_json_int(j, "attached", l->since);
	inv_json_int(j, "written", l->written);
	inv_json_uint(j, "bytes", l->bytes);
	inv_json_text(j, "place", l->place);
	begin = inv_json_begin(j, "log");
	inv_buf_printf(j->out, "%s/%s/%s.log", l->place, l->room, l->name);
	inv_json_end(j, begin);
	if (l->ring)
		inv_json_text(j, "ring", l->ring);
	inv_json_close(j, '}');
}
