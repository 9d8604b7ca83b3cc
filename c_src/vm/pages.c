/* SPDX-License-Identifier: Apache-2.0 */
#include "vm/pages.h"

#include <sys/mman.h>

void *inv_pages_map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

void inv_pages_unmap(void *pages, size_t bytes)
{
	if (pages)
		(void)munmap(pages, bytes);
}

void inv_pages_clear(void *pages, size_t bytes)
{
	if (pages)
		(void)madvise(pages, bytes, MADV_DONTNEED);
}
