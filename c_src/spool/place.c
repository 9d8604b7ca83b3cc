/* SPDX-License-Identifier: Apache-2.0 */
#include "spool/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "spool/watch.h"

#define PREFIX "inviso-"
#define HEX 32
#define ROOM "room-"
#define LIVE "live-"
#define VERSION "inviso-place 1"
#define RECORD_MAX 2048
/* If a place is not complete after this many seconds, its VM is dead. */
#define YOUNG_S 60
/*
 * If a living VM can lock its record, it does so within this many seconds. The
 * time is long, because the library that locks the record may be sent to the VM
 * over a slow network.
 */
#define UNLOCKED_S 3600

#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* --- the record ----------------------------------------------------------- */

static void take(struct inv_place *p, const char *key, const char *value)
{
	if (!strcmp(key, "node"))
		snprintf(p->node, sizeof(p->node), "%s", value);
	else if (!strcmp(key, "pid"))
		p->pid = (int32_t)strtol(value, NULL, 10);
	else if (!strcmp(key, "start"))
		p->start = strtoull(value, NULL, 10);
	else if (!strcmp(key, "boot"))
		snprintf(p->boot, sizeof(p->boot), "%s", value);
	else if (!strcmp(key, "pidns"))
		p->pid_ns = strtoull(value, NULL, 10);
	else if (!strcmp(key, "time"))
		p->time = strtoll(value, NULL, 10);
	else if (!strcmp(key, "locked") || !strcmp(key, "nolock")) {
		p->locked = *key == 'l';
		p->no_lock = !p->locked;
	}
}

/* Returns true if the text is a record of this version, or only the beginning
 * of a record's first line. */
static bool is_begun(const char *text)
{
	static const char first[] = VERSION "\n";
	size_t n = strnlen(text, sizeof(first) - 1);

	return !strncmp(text, first, n);
}

/* Reads the record. It is complete if it has the line `time', which the VM
 * writes last. */
static void parse(struct inv_place *p, char *text)
{
	bool first = true;
	char *end;

	for (; (end = strchr(text, '\n')); text = end + 1) {
		char *value = strchr(text, ' ');

		*end = 0;
		if (first && strcmp(text, VERSION) != 0)
			return;
		first = false;
		if (value && value < end)
			*value++ = 0;
		else
			value = end;
		take(p, text, value);
		p->has_record |= !strcmp(text, "time") && p->time > 0;
	}
}

static void read_record(struct inv_place *p)
{
	const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	char text[RECORD_MAX + 1];
	struct stat st;
	ssize_t n;

	p->record = openat(p->fd, INV_PLACE_RECORD, flags);
	p->begun = p->record < 0 && errno == ENOENT;
	if (p->record < 0)
		return;
	if (fstat(p->record, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_uid != geteuid() || st.st_nlink != 1)
		return;
	n = pread(p->record, text, RECORD_MAX, 0);
	if (n < 0)
		return;
	text[n] = 0;
	p->begun = is_begun(text);
	parse(p, text);
}

/* --- the directory -------------------------------------------------------- */

static bool is_named(const char *name)
{
	size_t n = strlen(PREFIX);

	return !strncmp(name, PREFIX, n) && strlen(name) == n + HEX &&
	       strspn(name + n, "0123456789abcdef") == HEX;
}

static bool is_ours(int fd, struct stat *st)
{
	return fstat(fd, st) == 0 && S_ISDIR(st->st_mode) &&
	       st->st_uid == geteuid() && (st->st_mode & 07777) == 0700;
}

/* Returns true if the file system is of a kind that only one machine can mount
 * at a time. */
static bool is_local(int fd)
{
	static const unsigned long kinds[] = {
		0xEF53,	    /* ext2, ext3 and ext4 */
		0x58465342, /* XFS */
		0x9123683E, /* btrfs */
		0xF2F52010, /* F2FS */
		0x2FC12FC1, /* ZFS */
		0x01021994, /* tmpfs */
		0x858458F6, /* ramfs */
		0x794C7630, /* overlay, whose files are on one of the file
			     * systems above */
	};
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if ((unsigned long)fs.f_type == kinds[i])
			return true;
	return false;
}

bool inv_place_open(struct inv_place *p, int parent, const char *name)
{
	struct stat st;

	if (!is_named(name))
		return false;
	memset(p, 0, sizeof(*p));
	p->parent = parent;
	p->record = -1;
	memcpy(p->name, name, strlen(name) + 1);
	p->fd = openat(parent, name, OPEN_DIR | O_NOFOLLOW);
	if (p->fd < 0)
		return false;
	if (!is_ours(p->fd, &st)) {
		inv_place_close(p);
		return false;
	}
	p->changed = st.st_mtime;
	p->local = is_local(p->fd);
	read_record(p);
	return true;
}

void inv_place_close(struct inv_place *p)
{
	if (p->record >= 0)
		close(p->record);
	if (p->fd >= 0)
		close(p->fd);
	p->record = p->fd = -1;
}

/* --- is the VM dead? ------------------------------------------------------ */

static bool has_ended(const struct inv_place *p)
{
	struct inv_vm_watch vm;
	bool dead;

	inv_vm_watch_open(&vm, p->pid, p->start);
	dead = inv_vm_watch_is_dead(&vm);
	inv_vm_watch_close(&vm);
	return dead;
}

static void read_boot(char *boot, size_t size)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, boot, size - 1);

	if (fd >= 0)
		close(fd);
	boot[n > 0 ? n : 0] = 0;
	boot[strcspn(boot, "\n")] = 0;
}

/*
 * Returns false if the VM may be alive. If it returns true, the caller tries
 * the record's lock; if the caller gets the lock, the VM is dead. The rules, in
 * this order:
 *
 *   - If this program is in the VM's pid namespace, and the record has the
 *     current boot id, the result says whether the VM's process has ended.
 *   - If the file system may be shared with another machine, the result is
 *     false.
 *   - If the record says that the VM has locked the record, the result is true:
 *     the lock shows whether the VM is alive.
 *   - Otherwise the result is true only if the boot id differs, the record is
 *     older than UNLOCKED_S, and the record does not say `nolock'. The boot id
 *     alone proves nothing, because containers of one machine can have
 *     different boot ids (systemd-nspawn).
 */
static bool may_be_dead(const struct inv_place *p)
{
	char boot[sizeof(p->boot)];
	bool known;

	read_boot(boot, sizeof(boot));
	known = *boot && *p->boot;
	if (known && !strcmp(boot, p->boot) && p->pid > 0 && p->pid_ns &&
	    p->pid_ns == inv_process_ns())
		return has_ended(p);
	if (!p->local)
		return false;
	if (p->locked)
		return true;
	return !p->no_lock && known && strcmp(boot, p->boot) != 0 &&
	       time(NULL) - p->time > UNLOCKED_S;
}

/*
 * Tries the lock last. While this program has the lock, a living VM could not
 * lock its record. So the other checks first exclude a living VM that has not
 * locked its record yet.
 */
bool inv_place_is_dead(struct inv_place *p)
{
	return p->has_record && may_be_dead(p) &&
	       flock(p->record, LOCK_EX | LOCK_NB) == 0;
}

/* --- the entries of a place ---------------------------------------------- */

static DIR *list(int fd)
{
	int copy = openat(fd, ".", OPEN_DIR);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	if (!dir && copy >= 0)
		close(copy);
	return dir;
}

/* Returns the next name in the directory that is not . or .., or NULL at the
 * end. */
static const char *next(DIR *dir)
{
	const struct dirent *e;

	do {
		e = readdir(dir);
	} while (e && (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")));
	return e ? e->d_name : NULL;
}

static bool is_numbered(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	return !strncmp(name, prefix, n) && name[n] && strlen(name) < n + 20 &&
	       strspn(name + n, "0123456789") == strlen(name + n);
}

static bool is_log(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && !strcmp(name + n - 4, ".log");
}

void inv_place_rooms(const struct inv_place *p, inv_room_each *each, void *arg)
{
	DIR *dir = list(p->fd);
	const char *name;
	bool more = true;

	while (more && dir && (name = next(dir))) {
		struct stat st;
		int fd;

		if (!is_numbered(name, ROOM))
			continue;
		fd = openat(p->fd, name, OPEN_DIR | O_NOFOLLOW);
		if (fd < 0)
			continue;
		if (is_ours(fd, &st))
			more = each(arg, name, fd);
		close(fd);
	}
	if (dir)
		closedir(dir);
}

/* --- removing ------------------------------------------------------------- */

static void remove_logs(int place, const char *room)
{
	int fd = openat(place, room, OPEN_DIR | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : list(fd);
	const char *name;

	while (dir && (name = next(dir)))
		if (is_log(name))
			unlinkat(fd, name, 0);
	if (dir)
		closedir(dir);
	if (fd >= 0)
		close(fd);
}

/* Removes the logs of `inviso trace'. Returns true if the place then contains
 * more than the record. */
static bool clear_rooms(int place)
{
	DIR *dir = list(place);
	bool left = !dir;
	const char *name;

	while (dir && (name = next(dir))) {
		if (is_numbered(name, LIVE))
			remove_logs(place, name);
		if ((is_numbered(name, LIVE) || is_numbered(name, ROOM)) &&
		    unlinkat(place, name, AT_REMOVEDIR) == 0)
			continue;
		left |= strcmp(name, INV_PLACE_RECORD) != 0;
	}
	if (dir)
		closedir(dir);
	return left;
}

/* Removes the record last, because it identifies the place. */
bool inv_place_empty(int fd)
{
	unlinkat(fd, "inviso_tracer.so", 0);
	unlinkat(fd, "inviso_spool", 0);
	unlinkat(fd, "inviso_engine.so", 0);
	if (clear_rooms(fd))
		return false;
	unlinkat(fd, INV_PLACE_RECORD, 0);
	return true;
}

void inv_place_clear(const struct inv_place *p)
{
	if (inv_place_empty(p->fd))
		unlinkat(p->parent, p->name, AT_REMOVEDIR);
}

/* A VM creates the record before all other files. So if the VM died before the
 * record was complete, its place contains no other file. */
void inv_place_clear_unfinished(const struct inv_place *p)
{
	DIR *dir = list(p->fd);
	bool empty = dir != NULL;
	const char *name;

	while (empty && (name = next(dir)))
		empty = !strcmp(name, INV_PLACE_RECORD);
	if (dir)
		closedir(dir);
	if (!empty || !p->begun || time(NULL) - p->changed < YOUNG_S)
		return;
	unlinkat(p->fd, INV_PLACE_RECORD, 0);
	unlinkat(p->parent, p->name, AT_REMOVEDIR);
}

/* --- all places ----------------------------------------------------------- */

static bool places_in(const char *parent, int fd, uint64_t until,
		      inv_place_each *each, void *arg)
{
	DIR *dir = list(fd);
	bool more = true;
	const char *name;

	while (more && dir && (name = next(dir))) {
		struct inv_place p;

		if (inv_place_open(&p, fd, name)) {
			more = each(arg, parent, &p);
			inv_place_close(&p);
		}
		more = more && inv_mono_ns() < until;
	}
	if (dir)
		closedir(dir);
	return more;
}

/* Returns true if one of the first n parents is the directory `st'. */
static bool is_repeated(const char *const *parents, size_t n,
			const struct stat *st)
{
	struct stat other;

	for (size_t i = 0; i < n; i++)
		if (stat(parents[i], &other) == 0 &&
		    other.st_ino == st->st_ino && other.st_dev == st->st_dev)
			return true;
	return false;
}

void inv_places(const char *const *parents, size_t n, unsigned ms,
		inv_place_each *each, void *arg)
{
	uint64_t until = inv_mono_ns() + (uint64_t)ms * 1000000;
	bool more = true;

	for (size_t i = 0; more && i < n; i++) {
		int fd = open(parents[i], OPEN_DIR);
		struct stat st;

		if (fd < 0)
			continue;
		if (fstat(fd, &st) == 0 && !is_repeated(parents, i, &st))
			more = places_in(parents[i], fd, until, each, arg);
		close(fd);
	}
}
