/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_NOTICE_H
#define INV_LOG_NOTICE_H

#include <stdarg.h>
#include <stdint.h>

/*
 * What the readers have to say about their inputs.  Readers go on after all
 * of these; what could not be read is besides a loss in the stream it belongs
 * to (log/item.h), as far as it can be told.
 */
enum inv_notice_kind {
	INV_NOTICE_DAMAGE, /* bytes that make no sense were stepped over */
	INV_NOTICE_INFO,   /* worth knowing: not ended, files missing, … */
};

struct inv_notice {
	enum inv_notice_kind kind;
	const char *file;
	uint64_t off; /* damage only: where in the file */
	uint64_t len; /* damage only: how many bytes */
	const char *text;
};

/* Who wants to know.  notify may be NULL.  Pointers in a notice are good
 * during the call only. */
struct inv_notices {
	void (*notify)(void *arg, const struct inv_notice *n);
	void *arg;
	uint64_t n_damages; /* counted here */
};

void inv_notice_damage(struct inv_notices *ns, const char *file, uint64_t off,
		       uint64_t len, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
void inv_notice_info(struct inv_notices *ns, const char *file, const char *fmt,
		     ...) __attribute__((format(printf, 3, 4)));

#endif
