/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_FUZZ_CHECK_H
#define INV_FUZZ_CHECK_H

#include <stdlib.h>

/* Ends the program with SIGABRT if x is false. libFuzzer then keeps the input, and a
 * replay fails. */
#define CHECK(x)                 \
	do {                     \
		if (!(x))        \
			abort(); \
	} while (0)

#endif
