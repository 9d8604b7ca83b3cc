/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_ERR_INT_H
#define INV_BASE_ERR_INT_H

#include "base/err.h"

/* Removes an incomplete UTF-8 character from the end of a text that was cut. */
void inv__err_end_whole(char *text);

#endif
