/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one input in any format that c_src/sink implements.
 *
 *	byte 0    bit 0: the checksums of the log are corrected first
 *	          bits 1, 2, 4, 5: the format
 *	          bit 3: each ended call is shown as a whole
 *	the rest  the file
 *
 * The target checks that a protocol buffer consists of whole fields of the
 * format's outermost message. In JSON, the brackets of each line must be
 * balanced. Other text must be UTF-8 without control characters except line
 * ends. Records of etf and packets of ctf must be complete.
 */
#include <ftw.h>

#include "base/varint.h"
#include "sink/ctf_stream.h"
#include "sink/formats.h"
#include "sink_run.h"
#include "text_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Checks that each field has the number 1 and a length. */
static void check_fields(const struct inv_buf *b)
{
	const uint8_t *p = b->data, *end;

	if (!b->len)
		return;
	end = p + b->len;
	while (p < end) {
		uint64_t tag, len;

		p = inv_varint_get(p, end, &tag);
		CHECK(p && tag == (1 << 3 | 2));
		p = inv_varint_get(p, end, &len);
		CHECK(p && len <= (uint64_t)(end - p));
		p += len;
	}
}

static void check_lines(const struct inv_buf *b)
{
	check_text(b, false);
	check_json(b, true);
}

/* Checks that each record is a length and a term of this length. */
static void check_records(const struct inv_buf *b)
{
	size_t i = 0, n = 0;

	while (i < b->len) {
		CHECK(b->len - i > 5);
		n = (size_t)b->data[i] << 24 | (size_t)b->data[i + 1] << 16 |
		    (size_t)b->data[i + 2] << 8 | b->data[i + 3];
		CHECK(n > 1 && n <= b->len - i - 4 && b->data[i + 4] == 131);
		i += n + 4;
	}
}

static unsigned streams, metadata;

/* Checks that each packet of a stream has the length that its header says, and
 * that the number of lost events in the headers never becomes smaller. */
static int check_stream(const char *path, const struct stat *st, int type,
			struct FTW *at)
{
	uint8_t *p = NULL;
	uint64_t lost = 0, n, more;
	FILE *f;

	if (type != FTW_F)
		return 0;
	if (!strcmp(path + at->base, "metadata")) {
		metadata++;
		return 0;
	}
	f = fopen(path, "rb");
	p = malloc((size_t)st->st_size + 1);
	CHECK(f && p);
	CHECK(fread(p, 1, (size_t)st->st_size, f) == (size_t)st->st_size);
	for (size_t i = 0; i < (size_t)st->st_size; i += n) {
		uint32_t magic;

		CHECK((size_t)st->st_size - i > 64);
		memcpy(&magic, p + i, sizeof(magic));
		memcpy(&n, p + i + 40, sizeof(n));
		memcpy(&more, p + i + 56, sizeof(more));
		CHECK(magic == INV_CTF_MAGIC && n % 8 == 0 && more >= lost);
		lost = more;
		n /= 8;
		CHECK(n > 64 && n <= (size_t)st->st_size - i);
		/* A zero byte ends the packet's last string. */
		CHECK(memchr(p + i + 64, 0, n - 64));
	}
	fclose(f);
	free(p);
	streams++;
	return 0;
}

static void check_ctf(const struct written *w)
{
	CHECK(!w->out.len);
	streams = metadata = 0;
	CHECK(!nftw(w->dir, check_stream, 8, FTW_PHYS));
	CHECK(metadata == 1);
	CHECK(streams || !w->sum.recorded);
}

static void look(struct written *w, void *arg)
{
	const struct inv_sink_ops *f = w->format;

	(void)arg;
	if (f == &inv_sink_ctf)
		check_ctf(w);
	else if (f == &inv_sink_etf)
		check_records(&w->out);
	else if (f == &inv_sink_pprof)
		CHECK(w->out.len > 20 && w->out.data[0] == 0x1f);
	else if (f == &inv_sink_perfetto || f == &inv_sink_otlp_proto)
		check_fields(&w->out);
	else if (f == &inv_sink_otlp || f == &inv_sink_json ||
		 f == &inv_sink_speedscope)
		check_lines(&w->out);
	else
		check_text(&w->out, false);
}

static const struct inv_sink_ops *const formats[16] = {
	&inv_sink_perfetto,   &inv_sink_otlp,	 &inv_sink_otlp_proto,
	&inv_sink_etf,	      &inv_sink_ctf,	 &inv_sink_folded,
	&inv_sink_speedscope, &inv_sink_pprof,	 &inv_sink_callgrind,
	&inv_sink_svg,	      &inv_sink_mermaid, &inv_sink_shiviz,
	&inv_sink_sequence,   &inv_sink_text,	 &inv_sink_json,
	&inv_sink_classic,
};

/* Checks that all formats are in the list above. The formats that helper
 * programs write are excepted, because sql_sink_fuzz.c tests them. */
static void check_formats(void)
{
	unsigned n = 0;

	for (unsigned i = 0; inv_sinks[i]; i++) {
		if (inv_sinks[i]->program)
			continue;
		n = 0;
		while (n < 16 && formats[n] != inv_sinks[i])
			n++;
		CHECK(n < 16);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inv_sink_opts opts = { .records = true, .utc = 1 };

	check_formats();
	if (size < 2)
		return 0;
	run_sink(formats[(data[0] >> 1 & 3) | (data[0] >> 2 & 12)], &opts, data,
		 size, look, NULL);
	return 0;
}
