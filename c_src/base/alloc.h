/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_ALLOC_H
#define INV_BASE_ALLOC_H

/*
 * Memory for rare work, not for events. In a library that the VM loads
 * (INV_IN_VM), the memory comes from the VM's allocator, which counts it;
 * malloc() is not allowed there (tools/nif-symbols.allow).
 */
#ifdef INV_IN_VM
#include <erl_nif.h>
#define inv_alloc enif_alloc
#define inv_realloc enif_realloc
#define inv_free enif_free
#else
#include <stdlib.h>
#define inv_alloc malloc
#define inv_realloc realloc
#define inv_free free
#endif

#endif
