/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses selectors for test/ct/inviso_selector_SUITE.erl.
 *
 *	selector_oracle NODE RECORDS...
 *
 * RECORDS are files that define records.
 *
 * In:  4 bytes n, n bytes of text; until the end of the input.
 * Out: 4 bytes n, n bytes of term_to_binary of
 *        {ok, Kind, {Module, Function, Arity}, {WildModule, WildFunction}, Spec}
 *        {error, Text}
 *      Kind: 0 call, 1 send, 2 receive; Arity -1: any
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/record_files.h"
#include "match/match.h"
#include "match/selector.h"

#define RELEASE 29

static struct inv_heap heap;
static struct inv_records records;

static inv_word atom(const char *name)
{
	return inv_make_atom(&heap, name, strlen(name));
}

static inv_word tuple(size_t n, const inv_word *elements)
{
	inv_word *w = inv_make_tuple(&heap, n);

	if (!w)
		exit(1);
	memcpy(w + 1, elements, n * sizeof(*w));
	return (inv_word)(uintptr_t)w;
}

static inv_word binary(const char *s)
{
	return inv_make_bits(&heap, (const uint8_t *)s, 0,
			     8 * (uint64_t)strlen(s));
}

static inv_word truth(bool b)
{
	return atom(b ? "true" : "false");
}

static int compiled(inv_word spec, enum inv_match_event event,
		    struct inv_err *err)
{
	struct inv_match match;
	int rc = inv_match_make(&match, spec, RELEASE, event, err);

	inv_match_release(&match);
	return rc;
}

static inv_word answer(const char *text)
{
	/* static, because the answer refers to its text */
	static struct inv_err err;
	struct inv_selector s;
	enum inv_match_event event;
	inv_word spec;

	if (inv_selector_parse(&heap, text, &records, &s, &err) ||
	    inv_selector_spec(&heap, &s, &spec, &event, &err) ||
	    compiled(spec, event, &err))
		return tuple(2,
			     (inv_word[]){ atom("error"), binary(err.text) });
	return tuple(
		5,
		(inv_word[]){
			atom("ok"), inv_make_int(&heap, s.kind),
			tuple(3, (inv_word[]){ s.module, s.function,
					       inv_make_int(&heap, s.arity) }),
			tuple(2, (inv_word[]){ truth(s.wild_module),
					       truth(s.wild_function) }),
			spec });
}

int main(int argc, char **argv)
{
	struct inv_buf in = { 0 }, out = { 0 };
	struct inv_err err;
	uint8_t head[4];

	if (argc < 2 || inv_heap_new(&heap, 1 << 20))
		return 2;
	for (int i = 2; i < argc; i++)
		if (inv_record_file_load(&records, argv[i], &err)) {
			fprintf(stderr, "%s\n", err.text);
			return 2;
		}
	while (fread(head, 1, 4, stdin) == 4) {
		size_t n = (size_t)head[0] << 24 | (size_t)head[1] << 16 |
			   (size_t)head[2] << 8 | head[3];
		uint8_t *w;

		inv_buf_reset(&in);
		inv_buf_reset(&out);
		heap.used = 0;
		w = inv_buf_reserve(&in, n + 1);
		if (!w || fread(w, 1, n, stdin) != n)
			return 1;
		w[n] = 0;
		inv_buf_put(&out, "nnnn", 4);
		if (inv_tree_etf(answer((char *)w), argv[1], 0, &out))
			return 1;
		for (unsigned i = 0; i < 4; i++)
			out.data[i] = (uint8_t)((out.len - 4) >> (24 - 8 * i));
		fwrite(out.data, 1, out.len, stdout);
		fflush(stdout);
	}
	inv_buf_release(&in);
	inv_buf_release(&out);
	inv_records_release(&records);
	inv_heap_free(&heap);
	return 0;
}
