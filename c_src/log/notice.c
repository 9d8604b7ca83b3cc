/* SPDX-License-Identifier: Apache-2.0 */
#include "log/notice.h"

#include <stdio.h>

static void notify(struct inv_notices *ns, struct inv_notice *n,
		   const char *fmt, va_list ap)
{
	char text[256];

	if (!ns->notify)
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	n->text = text;
	ns->notify(ns->arg, n);
}

void inv_notice_damage(struct inv_notices *ns, const char *file, uint64_t off,
		       uint64_t len, const char *fmt, ...)
{
	struct inv_notice n = {
		.kind = INV_NOTICE_DAMAGE, .file = file, .off = off, .len = len
	};
	va_list ap;

	ns->n_damages++;
	va_start(ap, fmt);
	notify(ns, &n, fmt, ap);
	va_end(ap);
}

void inv_notice_info(struct inv_notices *ns, const char *file, const char *fmt,
		     ...)
{
	struct inv_notice n = { .kind = INV_NOTICE_INFO, .file = file };
	va_list ap;

	va_start(ap, fmt);
	notify(ns, &n, fmt, ap);
	va_end(ap);
}
