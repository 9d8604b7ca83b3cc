/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_ALLOC_H
#define INV_BASE_ALLOC_H

/*
 * Memory for what is done once and not for every event.  In a library of the
 * VM's (INV_IN_VM) it is the VM's, which counts it; malloc() is not to be had
 * there (tools/nif-symbols.allow).
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
