/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_ENGINE_PAGES_H
#define INV_ENGINE_PAGES_H

#include <stddef.h>

/*
 * Tables as large as the VM's own, of which only what is used takes memory:
 * pages that are zero until they are written.  NULL: none.
 */
void *inv_pages_map(size_t bytes);
void inv_pages_unmap(void *pages, size_t bytes);

/* Zero again, and given back. */
void inv_pages_clear(void *pages, size_t bytes);

#endif
