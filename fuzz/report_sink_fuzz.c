/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one input as a report.
 *
 *	byte 0    bit 0: the checksums of the log are corrected first
 *	          bits 1, 2: text, JSON, a page, or text with narrow lines
 *	          bit 3: each ended call is shown as a whole
 *	the rest  the file
 *
 * The target checks that the report is UTF-8 without control characters except
 * line ends and the page's tabs. The brackets of JSON must be balanced. No text
 * of the log may end a script of the page: each script has one beginning and
 * one end.
 */
#include "report/report.h"
#include "sink_run.h"
#include "text_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned count(const struct inv_buf *b, const char *text)
{
	const uint8_t *p = b->data, *end = b->data + b->len;
	size_t n = strlen(text);
	unsigned found = 0;

	while ((p = memmem(p, (size_t)(end - p), text, n))) {
		p += n;
		found++;
	}
	return found;
}

static void look(struct written *w, void *arg)
{
	(void)arg;
	CHECK(w->out.len);
	check_text(&w->out, w->format == &inv_sink_report_page);
	if (w->format == &inv_sink_report_json)
		check_json(&w->out, false);
	if (w->format == &inv_sink_report_page) {
		CHECK(count(&w->out, "<script") == count(&w->out, "</script"));
		CHECK(count(&w->out, "</html>") == 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct inv_sink_ops *const formats[] = {
		&inv_sink_report_text,
		&inv_sink_report_json,
		&inv_sink_report_page,
		&inv_sink_report_text,
	};
	struct inv_sink_opts opts = { .records = true,
				      .width = 120,
				      .top = 10 };

	if (size < 2)
		return 0;
	/* Lines of a narrow report are cut. */
	if ((data[0] & 6) == 6)
		opts.width = 40;
	run_sink(formats[data[0] >> 1 & 3], &opts, data, size, look, NULL);
	return 0;
}
