/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void inv__err_end_whole(char *text)
{
	size_t len = strlen(text);
	size_t n = 1; /* bytes of the last character */
	unsigned char first;

	while (n < len && n < 4 &&
	       ((unsigned char)text[len - n] & 0xc0) == 0x80)
		n++;
	first = len ? (unsigned char)text[len - n] : 0;
	if (n < (first >= 0xf0 ? 4u :
		 first >= 0xe0 ? 3u :
		 first >= 0xc0 ? 2u :
				 1u))
		text[len - n] = 0;
}

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
	inv__err_end_whole(err->text);
	return code;
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
	inv__err_end_whole(err->text);
	return err->code;
}
