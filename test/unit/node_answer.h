/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_UNIT_NODE_ANSWER_H
#define INV_UNIT_NODE_ANSWER_H

/* Answers of simulated nodes. An answer is a term in the form that
 * ei_x_format takes, or any bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <ei.h>

#include "node/gather.h"

/* Puts the bytes at the end of a block of memory, so that a sanitizer
 * detects reads after their end. */
static inline void answer_bytes(struct inv_ask *ask, const void *p, size_t len)
{
	char *mem = malloc(len ? len : 1);

	assert_non_null(mem);
	memcpy(mem, p, len);
	memset(ask, 0, sizeof(*ask));
	/* The connection is not used, but must not be NULL. */
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

/* Answers with the bytes in x, and frees x. */
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
