/* SPDX-License-Identifier: Apache-2.0 */
#include "node/autostart.h"

#include <string.h>

#include "node/ask.h"

#define MODULE "inviso_autostart_admin"
#define LINES_MAX 1024

static void ask_without(struct inv_ask *ask, struct inv_conn *c,
			const char *function, int ms)
{
	struct inv_buf e = { 0 };

	inv_etf_nil(&e);
	inv_ask_rex(ask, c, MODULE, function, &e, ms);
}

void inv_autostart_show(struct inv_ask *ask, struct inv_conn *c, int ms)
{
	ask_without(ask, c, "show", ms);
}

void inv_autostart_remove(struct inv_ask *ask, struct inv_conn *c, int ms)
{
	ask_without(ask, c, "remove", ms);
}

void inv_autostart_write(struct inv_ask *ask, struct inv_conn *c,
			 const struct inv_autostart_case *what, int ms)
{
	struct inv_buf e = { 0 };

	inv_etf_list(&e, 4);
	inv_etf_binary(&e, what->text, what->len);
	inv_etf_list(&e, what->n);
	for (size_t i = 0; i < what->n; i++) {
		inv_etf_tuple(&e, 2);
		inv_put_text(&e, what->names[i]);
		inv_put_text(&e, what->values[i]);
	}
	inv_etf_nil(&e);
	if (what->starts == INV_STARTS_ALWAYS)
		inv_put_atom(&e, "always");
	else
		inv_etf_int(&e, what->starts);
	inv_put_text(&e, what->log);
	inv_etf_nil(&e);
	inv_ask_rex(ask, c, MODULE, "write", &e, ms);
}

int inv_autostart_got(const struct inv_ask *ask, struct inv_autostart *out,
		      struct inv_err *err)
{
	struct inv_decode d;
	int rc = inv_ask_answer(ask, &d, err);

	memset(out, 0, sizeof(*out));
	if (rc)
		return rc;
	rc = inv_decode_ok(&d, 5, err);
	if (rc == INV_EREMOTE && err && strstr(err->text, "undef"))
		return inv_err_set(err, INV_EREMOTE,
				   "inviso is not installed on this node: "
				   "autostart needs the application in the "
				   "node's release");
	if (rc)
		return rc;
	rc = inv_decode_text(&d, out->file, sizeof(out->file));
	if (!rc)
		rc = inv_decode_number(&d, INV_STARTS_ALWAYS, &out->starts);
	if (!rc)
		rc = inv_decode_texts(&d, &out->lines, LINES_MAX);
	if (!rc)
		rc = inv_decode_bool(&d, &out->started);
	return rc ? inv_decode_strange(&d, err) : 0;
}

void inv_autostart_release(struct inv_autostart *a)
{
	inv_texts_release(&a->lines);
	memset(a, 0, sizeof(*a));
}
