/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs the input as messages that a C node receives from another node. One
 * packet has several messages.
 *
 *	byte 0    the size of each message in bytes; 0 means 256
 *	the rest  messages in the external term format
 *
 * The target checks that the packet can be read: its dictionary is valid, each
 * message is one term, and no message is larger than its limit. The text of a
 * packed message must be the text of the original message, unless the packed
 * message was truncated.
 */
#include <string.h>

#include "check.h"
#include "cnode/pack.h"
#include "term/print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct inv_pack pack;
static struct inv_cursor cursor;
static struct inv_dict dict;
static struct inv_buf defs, out, direct;

/* By how many bytes a packed term may exceed its limit: the limit is checked
 * before each element, and the last element can be large, for instance two
 * atoms. */
#define OVER 4096

static void print(struct inv_buf *to, enum inv_enc enc, const void *p,
		  size_t len)
{
	static const struct inv_print_opts w = { .unicode = true };

	inv_buf_reset(to);
	inv_cursor_init(&cursor, enc, &dict, p, len);
	CHECK(inv_term_print(&cursor, to, &w) == 0);
}

/* Returns true for a fun whose text has unusual characters. The two encodings
 * print such a text in different ways. */
static bool is_odd_fun(const struct inv_token *tok)
{
	if (tok->kind != INV_TOK_FUN)
		return false;
	for (size_t i = 0; i < tok->len; i++)
		if (tok->bytes[i] < ' ' || tok->bytes[i] > '~')
			return true;
	return false;
}

/* Returns true if the text of the term depends on the encoding. The text of a
 * pid, port or reference has a number for its node, which a term in ETF does
 * not contain. */
static bool differs(const uint8_t *p, size_t len)
{
	struct inv_token tok;
	int r;

	inv_cursor_init(&cursor, INV_ENC_ETF, NULL, p, len);
	do {
		r = inv_cursor_next(&cursor, &tok);
		if (r == 0 &&
		    (tok.kind == INV_TOK_PID || tok.kind == INV_TOK_PORT ||
		     tok.kind == INV_TOK_REF || is_odd_fun(&tok)))
			return true;
	} while (r == 0 && inv_cursor_depth(&cursor) > 0);
	return false;
}

static void add(const uint8_t *p, size_t len)
{
	size_t begin = pack.terms.len;
	size_t used = begin + pack.def_len;

	if (pack.n_defs > INV_PACK_DEFS_FULL) {
		inv_pack_clear(&pack);
		begin = used = 0;
	}
	pack.cut = false;
	inv_pack_etf(&pack, (const char *)p, len);
	CHECK(!pack.terms.error);
	CHECK(pack.terms.len + pack.def_len - used < INV_PACK_BYTES + OVER);
	inv_buf_reset(&defs);
	inv_buf_reserve(&defs, 1); /* so that data is not NULL */
	inv_pack_put_defs(&pack, &defs);
	CHECK(defs.len == pack.def_len);
	CHECK(inv_dict_parse(&dict, defs.data, defs.len, NULL) == 0);
	print(&out, INV_ENC_PACKED, pack.terms.data + begin,
	      pack.terms.len - begin);
	CHECK(inv_cursor_offset(&cursor) == pack.terms.len - begin);
	if (pack.cut || differs(p, len))
		return;
	print(&direct, INV_ENC_ETF, p, len);
	CHECK(out.len == direct.len &&
	      memcmp(out.data, direct.data, out.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t each, n;

	if (!pack.home)
		CHECK(inv_pack_init(&pack, "c@h", 1) == 0);
	if (size < 2)
		return 0;
	inv_pack_clear(&pack);
	each = data[0] ? data[0] : 256;
	for (data++, size--; size > 0; data += n, size -= n) {
		n = size < each ? size : each;
		add(data, n);
	}
	return 0;
}
