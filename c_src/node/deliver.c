/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "node/conn_int.h"
#include "node/etf_text.h"

/* Makes an item of the inbox about the request q.  Returns NULL if there is no
 * memory. */
static struct inv_mail *mail_of(struct inv_conn *c, enum inv_mail_kind kind,
				const struct inv_request *q)
{
	struct inv_mail *it = calloc(1, sizeof(*it));

	if (!it)
		return NULL;
	it->kind = kind;
	it->conn = c;
	if (q)
		it->tag = q->tag;
	return it;
}

static int no_memory(struct inv_err *err)
{
	return inv_err_set(err, INV_ENOMEM, "no memory");
}

/* The frame's bytes are not copied: the item takes over the buffer that
 * contains them. */
int inv_deliver_answer(struct inv_conn *c, const struct inv_dist_frame *f,
		       const struct inv_request *q, struct inv_err *err)
{
	struct inv_mail *it = mail_of(c, INV_MAIL_ANSWER, q);

	if (!it)
		return no_memory(err);
	it->term = f->term;
	it->len = f->len;
	it->mem = c->body.data;
	memset(&c->body, 0, sizeof(c->body));
	inv_inbox_put(c->in, it);
	return 0;
}

int inv_deliver_gone(struct inv_conn *c, const struct inv_dist_frame *f,
		     const struct inv_request *q, struct inv_err *err)
{
	struct inv_mail *it = mail_of(c, INV_MAIL_GONE, q);
	char why[200];

	if (!it)
		return no_memory(err);
	inv_etf_text(why, sizeof(why), f->term, f->len);
	inv_err_set(&it->err, INV_EREMOTE,
		    "%s: %s does not exist, or has died: %s", c->peer.full,
		    q->to.name ? q->to.name : "the process", why);
	inv_inbox_put(c->in, it);
	return 0;
}

int inv_deliver_timeout(struct inv_conn *c, const struct inv_request *q,
			struct inv_err *err)
{
	struct inv_mail *it = mail_of(c, INV_MAIL_TIMEOUT, q);

	if (!it)
		return no_memory(err);
	inv_err_set(&it->err, INV_ETIME, "%s: no answer within %d.%d s",
		    c->peer.full, q->ms / 1000, q->ms % 1000 / 100);
	inv_inbox_put(c->in, it);
	return 0;
}

int inv_deliver_connected(struct inv_conn *c, struct inv_err *err)
{
	struct inv_mail *it = mail_of(c, INV_MAIL_CONNECTED, NULL);

	if (!it)
		return no_memory(err);
	inv_inbox_put(c->in, it);
	return 0;
}

void inv_deliver_lost(struct inv_conn *c, int r, const struct inv_err *why)
{
	struct inv_mail *it = c->last_words;

	c->last_words = NULL;
	it->kind = INV_MAIL_LOST;
	it->conn = c;
	it->err = *why;
	it->err.code = r;
	inv_err_ctx(&it->err, "%s", inv_conn_name(c)->full);
	pthread_mutex_lock(&c->lock);
	c->state = INV_CONN_LOST;
	c->why = it->err;
	pthread_mutex_unlock(&c->lock);
	inv_request_drop_all(c);
	inv_inbox_put(c->in, it);
}
