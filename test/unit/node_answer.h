/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_UNIT_NODE_ANSWER_H
#define INV_UNIT_NODE_ANSWER_H

/*
 * Answers of nodes that are not there: terms as ei_x_format takes them, or any
 * bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <ei.h>

#include "node/gather.h"

/* Bytes at the end of their memory, so that a sanitizer sees who goes on. */
static inline void answer_bytes(struct inv_ask *ask, const void *p, size_t len)
{
	char *mem = malloc(len ? len : 1);

	assert_non_null(mem);
	memcpy(mem, p, len);
	memset(ask, 0, sizeof(*ask));
	/* not looked at: only that it is one */
	ask->conn = (struct inv_conn *)mem;
	ask->done = true;
	ask->mail.kind = INV_MAIL_ANSWER;
	ask->mail.term = mem;
	ask->mail.len = len;
}

static inline void answer_free(struct inv_ask *ask)
{
	free(ask->conn);
	memset(ask, 0, sizeof(*ask));
}

/* And the buffer is gone. */
static inline void answer_x(struct inv_ask *ask, ei_x_buff *x)
{
	answer_bytes(ask, x->buff, (size_t)x->index);
	ei_x_free(x);
}

static inline void answer(struct inv_ask *ask, const char *term)
{
	ei_x_buff x;

	assert_int_equal(ei_x_new(&x), 0);
	assert_int_equal(ei_x_format_wo_ver(&x, term), 0);
	answer_x(ask, &x);
}

#endif
