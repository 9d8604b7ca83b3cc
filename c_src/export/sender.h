/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_EXPORT_SENDER_H
#define INV_EXPORT_SENDER_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>
#include <zlib.h>

#include "base/buf.h"
#include "export/answer.h"
#include "export/target.h"
#include "sink/otlp_span.h"

/*
 * Sends requests to a collector, one after the other. A request is repeated if
 * its failure can be temporary: there was no connection or no answer in time,
 * or the status was 429, 502, 503 or 504. The pause before the request is
 * repeated is the time that the collector asks for (Retry-After). If the
 * collector does not ask for a time, the pause doubles each time.
 *
 *	inv_sender_init(&s, &target, &err);
 *	opts.spans = &s.taker;
 *	...
 *	inv_sender_release(&s);
 */
struct inv_sender {
	struct inv_spans_taker taker;
	const struct inv_target *target;
	uint64_t retry_ms; /* repeat a request for at most this long */
	bool quiet;	   /* print nothing about repeated requests */
	/* results */
	uint64_t requests; /* accepted requests */
	uint64_t retries;
	uint64_t accepted; /* spans */
	uint64_t rejected;
	struct inv_buf why; /* the collector's last message about rejected
			       spans */
	int status;	    /* enum inv_exit, if a request failed */
	/* private */
	CURL *curl;
	struct curl_slist *headers;
	z_stream zip;
	bool zipped; /* zip is initialized */
	struct inv_buf body;
	struct inv_buf reply;
	char text[CURL_ERROR_SIZE];
};

/* All fields of *s except retry_ms and quiet must be 0. Call inv_sender_release
 * also after a failure. */
int inv_sender_init(struct inv_sender *s, const struct inv_target *target,
		    struct inv_err *err);
void inv_sender_release(struct inv_sender *s);

#endif
