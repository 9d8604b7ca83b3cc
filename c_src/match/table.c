/* SPDX-License-Identifier: Apache-2.0 */
#include "match/table.h"

#include <string.h>

#define ROW(id, name, arity, since, guard) { name, arity, since, guard },
const struct inv_match_fn_info inv_match_fns[INV_MF_COUNT] = {
	INV_MATCH_FUNCTIONS(ROW)
};
#undef ROW

#define ROW(id, name, min, max, since, guard, need, told, text) \
	{ name, min, max, since, guard, need, told, INV_MA_##text },
const struct inv_match_act_info inv_match_acts[INV_MACT_COUNT] = {
	INV_MATCH_ACTIONS(ROW)
};
#undef ROW

static const struct {
	unsigned since;
	unsigned quirks;
} releases[] = {
	{ 27, INV_MQ_ZEROS_DIFFER | INV_MQ_ABS_ZERO | INV_MQ_PART_OF_BYTES },
	{ 29, INV_MQ_FLOAT_NEAREST | INV_MQ_NATIVE_RECORDS | INV_MQ_PREFIX },
};

unsigned inv_match_quirks(unsigned otp)
{
	unsigned quirks = 0;

	for (size_t i = 0; i < sizeof(releases) / sizeof(*releases); i++)
		if (otp >= releases[i].since)
			quirks |= releases[i].quirks;
	return quirks;
}

static bool named(const char *name, const void *p, size_t len)
{
	return strlen(name) == len && !memcmp(name, p, len);
}

int inv_match_fn_find(const void *name, size_t len, size_t arity, unsigned otp)
{
	for (int i = 0; i < INV_MF_COUNT; i++) {
		const struct inv_match_fn_info *f = &inv_match_fns[i];

		if (f->arity == arity && f->since <= (otp ? otp : 25) &&
		    named(f->name, name, len))
			return i;
	}
	return -1;
}

int inv_match_act_find(const void *name, size_t len, unsigned otp)
{
	for (int i = 0; i < INV_MACT_COUNT; i++)
		if (inv_match_acts[i].since <= (otp ? otp : 25) &&
		    named(inv_match_acts[i].name, name, len))
			return i;
	return -1;
}
