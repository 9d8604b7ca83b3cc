/* SPDX-License-Identifier: Apache-2.0 */
/* Requests in JSON: "id":7,"cause":5,"certain":true,"request":1. */
#include "sink/json_int.h"

void inv_json_cause(struct inv_json_sink *j, const struct inv_cause *c)
{
	const char *orphan = inv_orphan_text(c->orphan);
	const char *signal = inv_signal_text(c->signal);

	inv_json_uint(&j->w, "id", c->id);
	if (c->cause)
		inv_json_uint(&j->w, "cause", c->cause);
	else
		inv_json_null(&j->w, "cause");
	inv_json_bool(&j->w, "certain", c->certain);
	inv_json_uint(&j->w, "request", c->request);
	if (orphan)
		inv_json_text(&j->w, "orphan", orphan);
	if (signal)
		inv_json_text(&j->w, "signal", signal);
}
