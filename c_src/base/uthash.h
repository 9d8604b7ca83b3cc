/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_UTHASH_H
#define INV_BASE_UTHASH_H

/*
 * Hash tables of uthash, with XXH3 as the hash function: clang warns about
 * uthash's own function, in which cases of a switch fall through.
 *
 * If there is no memory for a new element, the element's member `stored' is set
 * to false, and the program goes on. A file can define HASH_FUNCTION or
 * uthash_nonfatal_oom before it includes this header.
 */
#ifndef HASH_FUNCTION
#define XXH_INLINE_ALL
#include <xxhash.h>
#define HASH_FUNCTION(key, len, hash) \
	((hash) = (unsigned)XXH3_64bits((key), (len)))
#endif
#define HASH_NONFATAL_OOM 1
#ifndef uthash_nonfatal_oom
#define uthash_nonfatal_oom(elt) ((elt)->stored = false)
#endif
#include <uthash.h>

#endif
