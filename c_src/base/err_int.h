/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_BASE_ERR_INT_H
#define INV_BASE_ERR_INT_H

#include "base/err.h"

/* What err.c and err_sys.c share. */

/* Makes a text that was cut end with a whole character. */
void inv__err_end_whole(char *text);

#endif
