/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_VM_PAGES_H
#define INV_VM_PAGES_H

#include <stddef.h>

/*
 * Returns zeroed memory, or NULL if there is no memory. A page takes physical
 * memory when it is first written.
 */
void *inv_pages_map(size_t bytes);
void inv_pages_unmap(void *pages, size_t bytes);

/* Makes the pages zero again, and frees their memory. */
void inv_pages_clear(void *pages, size_t bytes);

#endif
