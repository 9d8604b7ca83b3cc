/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/memory.h"

#include <erl_nif.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/ring.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* The total size in bytes of inviso's memfds in this VM. */
static _Atomic uint64_t taken;

static uint64_t quarter_of_machine(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) *
	       (uint64_t)sysconf(_SC_PAGESIZE) / 4;
}

/* Adds the length of *m to the total size of inviso's memfds in this VM.
 * Returns false, and adds nothing, if the limit would be exceeded. */
static bool take(struct inv_memory *m)
{
	if (atomic_fetch_add(&taken, m->len) + m->len <= quarter_of_machine()) {
		m->counted = true;
		return true;
	}
	atomic_fetch_sub(&taken, m->len);
	return false;
}

static int make_fd(const char *path, const char **what)
{
	if (path[0] == '\0') {
		*what = "memfd_create";
		return memfd_create("inviso", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	}
	*what = "open";
	return open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
}

/*
 * Writes to all pages of a memfd, so that they are resident. For pages that are
 * allocated but empty, this is twice as fast as MAP_POPULATE. It is not done
 * for a file, because the kernel would then write all its pages to the disk.
 */
static void touch(const struct inv_memory *m)
{
	volatile char *p = m->map;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (madvise(m->map, m->len, MADV_POPULATE_WRITE) == 0)
		return;
	/* Linux before 5.14 does not have MADV_POPULATE_WRITE. */
	for (uint64_t i = 0; i < m->len; i += page)
		p[i] = 0;
}

/* Allocates all blocks now. Otherwise, if the disk is full, the VM would get
 * SIGBUS later. */
static int fill(struct inv_memory *m, const char *path, const char **what)
{
	*what = "fallocate";
	if (fallocate(m->fd, 0, 0, (off_t)m->len) != 0)
		return errno;
	*what = "seal";
	if (path[0] == '\0' &&
	    fcntl(m->fd, F_ADD_SEALS,
		  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return errno;
	*what = "mmap";
	m->map = mmap(NULL, m->len, PROT_READ | PROT_WRITE,
		      path[0] == '\0' ? MAP_SHARED : MAP_SHARED | MAP_POPULATE,
		      m->fd, 0);
	if (m->map == MAP_FAILED)
		return errno;
	if (path[0] == '\0')
		touch(m);
	return 0;
}

int inv_memory_open(struct inv_memory *m, const char *path, uint64_t len,
		    const char **what)
{
	int error;

	*m = (struct inv_memory){ .fd = -1, .map = MAP_FAILED, .len = len };
	*what = "a quarter of the machine's memory";
	if (path[0] == '\0' && !take(m))
		return ENOMEM;
	m->fd = make_fd(path, what);
	error = errno;
	if (m->fd < 0) {
		inv_memory_close(m);
		return error;
	}
	error = fill(m, path, what);
	if (error == 0)
		return 0;
	if (path[0] != '\0')
		unlink(path);
	inv_memory_close(m);
	return error;
}

void inv_memory_close(struct inv_memory *m)
{
	if (m->map != MAP_FAILED)
		munmap(m->map, m->len);
	if (m->fd >= 0)
		close(m->fd);
	if (m->counted)
		atomic_fetch_sub(&taken, m->len);
	*m = (struct inv_memory){ .fd = -1, .map = MAP_FAILED };
}

/* Stores the pointer from enif_alloc in front of the returned memory, where
 * inv_memory_free finds it. */
void *inv_memory_alloc(size_t n)
{
	uint8_t *raw = enif_alloc(n + INV_CACHE_LINE + sizeof(void *));
	uintptr_t from;
	void **p;

	if (!raw)
		return NULL;
	from = (uintptr_t)raw + sizeof(void *);
	p = (void **)(raw + sizeof(void *) + (-from & (INV_CACHE_LINE - 1)));
	p[-1] = raw;
	return memset(p, 0, n);
}

void inv_memory_free(void *p)
{
	if (p)
		enif_free(((void **)p)[-1]);
}

uint64_t inv_memory_vm_pid_ns(void)
{
	/* The symbolic link points to pid:[<inode>]. */
	static const char head[] = "pid:[";
	char link[64];
	const char *p;
	uint64_t n = 0;
	long len;

	len = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/pid", link,
		      sizeof(link) - 1);
	if (len < (long)sizeof(head))
		return 0;
	link[len] = '\0';
	if (memcmp(link, head, sizeof(head) - 1) != 0)
		return 0;
	for (p = link + sizeof(head) - 1; *p >= '0' && *p <= '9'; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	return n;
}

uint64_t inv_memory_vm_start(void)
{
	char stat[1024];
	const char *p;
	uint64_t n = 0;
	ssize_t len;
	int field;
	int fd;

	fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, stat, sizeof(stat) - 1);
	close(fd);
	if (len <= 0)
		return 0;
	stat[len] = '\0';
	/*
	 * The second field is the program's name in parentheses. The name can
	 * contain spaces and parentheses, so the search for fields begins at
	 * the last closing parenthesis.
	 */
	p = strrchr(stat, ')');
	for (field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p)
		return 0;
	for (p++; *p >= '0' && *p <= '9'; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	return n;
}
