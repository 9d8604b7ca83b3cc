/* SPDX-License-Identifier: Apache-2.0 */
#include "term/chars.h"

#include <string.h>

/* clang-format off */
/* Each entry is a set of enum inv_char_class. */
const uint8_t inv_char_classes[256] = {
	0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4, 0, 0, /* 00 */
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, /* 10 */
	4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, /* 20 */
	14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 4, 4, 4, 4, 4, 4, /* 30 */
	14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, /* 40 */
	14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 4, 4, 4, 4, 14, /* 50 */
	4, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, /* 60 */
	15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 4, 4, 4, 4, 0, /* 70 */
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 80 */
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* 90 */
	4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, /* a0 */
	4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, /* b0 */
	6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, /* c0 */
	6, 6, 6, 6, 6, 6, 6, 4, 6, 6, 6, 6, 6, 6, 6, 7, /* d0 */
	7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, /* e0 */
	7, 7, 7, 7, 7, 7, 7, 4, 7, 7, 7, 7, 7, 7, 7, 7, /* f0 */
};
/* clang-format on */

int inv_word_reserved(const uint8_t *p, size_t len)
{
	/* words[n] has the words of n characters, so that an atom is compared
	 * only with words of its own length. */
	static const char *const words[] = {
		[2] = "if of or",
		[3] = "end fun not div rem bor bsl bsr and xor let try",
		[4] = "case when bnot band bxor cond",
		[5] = "after begin catch",
		[6] = "orelse",
		[7] = "andalso receive",
	};
	const char *w;
	char first;

	if (len < 2 || len > 7)
		return 0;
	first = (char)p[0];
	for (w = words[len]; *w; w += len + (w[len] == ' '))
		if (w[0] == first && memcmp(w, p, len) == 0)
			return 1;
	if ((len == 5 && memcmp(p, "maybe", 5) == 0) ||
	    (len == 4 && memcmp(p, "else", 4) == 0))
		return 2;
	return 0;
}

bool inv_atom_is_plain(const uint8_t *p, size_t len)
{
	size_t i;

	if (len == 0 || p[0] >= 0x80 ||
	    !(inv_char_classes[p[0]] & INV_CH_LOWER))
		return false;
	for (i = 1; i < len; i++)
		if (!(inv_char_classes[p[i]] & INV_CH_ASCII_NAME))
			return false;
	return inv_word_reserved(p, len) == 0;
}
