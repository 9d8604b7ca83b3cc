/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This file is separate from err.c, because only code that is not sent to nodes
 * can use strerrordesc_np: older releases of libc do not have this function.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err_int.h"

int inv_err_sys(struct inv_err *err, int sys, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	if (!err)
		return INV_EIO;
	err->code = INV_EIO;
	err->sys = sys;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	n = strlen(err->text);
	snprintf(err->text + n, sizeof(err->text) - n, ": %s",
		 strerrordesc_np(sys) ? strerrordesc_np(sys) : "unknown error");
	inv__err_end_whole(err->text);
	return INV_EIO;
}
