/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one input as a report.
 *
 *	byte 0    bit 0: the checksums of the log are corrected first;
 *	          1, 2: text, JSON or a page
 *	          3: each ended call is shown as a whole
 *	the rest  the file
 *
 * The target checks that the report is UTF-8 without control characters except line
 * ends and the page's tabs. The brackets of JSON must be balanced. No text of the log
 * may end a script of the page: each script has one beginning and one end.
 */
#include "base/utf8.h"
#include "report/report.h"
#include "sink_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const struct inv_buf *b, bool tabs)
{
	CHECK(b->len && inv_utf8_valid(b->data, b->len));
	for (size_t i = 0; i < b->len; i++)
		CHECK(b->data[i] >= ' ' || b->data[i] == '\n' ||
		      (tabs && b->data[i] == '\t'));
}

static void check_json(const struct inv_buf *b)
{
	bool quoted = false;
	int depth = 0;

	for (size_t i = 0; i < b->len; i++) {
		uint8_t c = b->data[i];

		if (quoted && c == '\\')
			i++;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted)
			depth += (c == '{') + (c == '[') - (c == '}') -
				 (c == ']');
		CHECK(depth >= 0);
	}
	CHECK(!quoted && !depth);
}

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
	check_text(&w->out, w->format == &inv_sink_report_page);
	if (w->format == &inv_sink_report_json)
		check_json(&w->out);
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
