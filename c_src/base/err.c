/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int inv_err_set(struct inv_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	err->code = code;
	err->sys = 0;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return code;
}

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
	return INV_EIO;
}

int inv_err_ctx(struct inv_err *err, const char *fmt, ...)
{
	char was[sizeof(err->text)];
	va_list ap;
	size_t n;

	if (!err)
		return INV_EIO;
	memcpy(was, err->text, sizeof(was));
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	n = strlen(err->text);
	snprintf(err->text + n, sizeof(err->text) - n, ": %s", was);
	return err->code;
}
