/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_LOG_NOTICE_H
#define INV_LOG_NOTICE_H

#include <stdarg.h>
#include <stdint.h>

/*
 * Notices: messages of readers about their inputs. A reader continues after
 * each notice. If the notice is about unreadable data of a known stream, the
 * reader also returns a loss (log/item.h).
 */
enum inv_notice_kind {
	INV_NOTICE_DAMAGE, /* invalid bytes, which were skipped */
	INV_NOTICE_INFO,   /* everything else: a log's end or a file is missing,
			      … */
};

struct inv_notice {
	enum inv_notice_kind kind;
	const char *file;
	uint64_t off; /* only for damage: offset in the file */
	uint64_t len; /* only for damage: number of bytes */
	const char *text;
};

/*
 * Receives notices. notify may be NULL. Pointers in a notice are valid only
 * during the call.
 */
struct inv_notices {
	void (*notify)(void *arg, const struct inv_notice *n);
	void *arg;
	uint64_t n_damages; /* how many notices of damage there were */
};

void inv_notice_damage(struct inv_notices *ns, const char *file, uint64_t off,
		       uint64_t len, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
void inv_notice_info(struct inv_notices *ns, const char *file, const char *fmt,
		     ...) __attribute__((format(printf, 3, 4)));

#endif
