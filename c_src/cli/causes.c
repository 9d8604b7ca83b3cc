/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/causes.h"

#include <inttypes.h>

static const enum inv_orphan orphans[] = { INV_ORPHAN_LOST, INV_ORPHAN_UNTRACED,
					   INV_ORPHAN_IN_FLIGHT };
#define N_ORPHANS (sizeof(orphans) / sizeof(orphans[0]))

static void orphans_text(const struct inv_request_counts *n, const char *prefix,
			 struct inv_buf *out)
{
	const char *sep = " (";
	uint64_t sum = 0;

	for (unsigned i = 0; i < N_ORPHANS; i++)
		sum += n->orphans[orphans[i]];
	if (!sum)
		return;
	inv_buf_printf(out,
		       "%s%" PRIu64 " event(s) of requests are orphans: what "
		       "they follow from is missing",
		       prefix, sum);
	for (unsigned i = 0; i < N_ORPHANS; i++) {
		if (!n->orphans[orphans[i]])
			continue;
		inv_buf_printf(out, "%s%" PRIu64 " %s", sep,
			       n->orphans[orphans[i]],
			       inv_orphan_text(orphans[i]));
		sep = ", ";
	}
	inv_buf_puts(out, ")\n");
}

void inv_causes_text(const struct inv_requests *r, const char *prefix,
		     struct inv_buf *out)
{
	const struct inv_request_counts *n = &r->counts;
	uint64_t in_flight = inv_requests_in_flight(r);

	if (!n->events)
		return;
	inv_buf_printf(out,
		       "%s%" PRIu64 " request(s), with %" PRIu64
		       " events and %" PRIu64 " messages received",
		       prefix, n->requests, n->events, n->messages);
	if (in_flight)
		inv_buf_printf(out, ", %" PRIu64 " not received", in_flight);
	inv_buf_putc(out, '\n');
	orphans_text(n, prefix, out);
	if (n->repeated)
		inv_buf_printf(out,
			       "%s%" PRIu64 " serial(s) of sequential traces "
			       "were at the end of their counter, so some "
			       "causes are uncertain\n",
			       prefix, n->repeated);
	if (n->forgotten)
		inv_buf_printf(out,
			       "%s%" PRIu64 " message(s) and process(es) of "
			       "requests were forgotten, because there were "
			       "too many; see --request-memory\n",
			       prefix, n->forgotten);
}

void inv_causes_json(const struct inv_requests *r, struct inv_json *j)
{
	const struct inv_request_counts *n = &r->counts;

	if (!n->events)
		return;
	inv_json_open(j, "requests", '{');
	inv_json_uint(j, "requests", n->requests);
	inv_json_uint(j, "events", n->events);
	inv_json_uint(j, "messages", n->messages);
	inv_json_uint(j, "not_received", inv_requests_in_flight(r));
	inv_json_open(j, "orphans", '{');
	for (unsigned i = 0; i < N_ORPHANS; i++)
		if (n->orphans[orphans[i]])
			inv_json_uint(j, inv_orphan_text(orphans[i]),
				      n->orphans[orphans[i]]);
	inv_json_close(j, '}');
	inv_json_uint(j, "repaired", n->repaired);
	inv_json_uint(j, "repeated", n->repeated);
	inv_json_uint(j, "forgotten", n->forgotten);
	inv_json_close(j, '}');
}
