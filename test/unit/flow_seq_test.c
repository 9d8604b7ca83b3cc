/* SPDX-License-Identifier: Apache-2.0 */
/* inv_seq has two readers: a quick reader for simple terms, and a reader with a
 * cursor. The test gives random encoded events to both. If the quick reader
 * returns a result, the other reader must return the same result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "flow/seq_int.h"

static uint64_t seed;
static struct inv_cursor cursor;
static struct inv_dict dict;
static struct inv_buf terms;
static struct inv_node node = { .name = (char[]){ "a@h" } };

enum {
	SEND,
	RECEIVE,
	PRINT,
	EXIT,
	SPAWN,
	REPLY,
	NAME,
	NODE_NAME,
	PID,
	PORT,
	NODE,
	FUNCTION,
	ENTRIES
};

static unsigned chance(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

static void put(unsigned byte)
{
	inv_buf_putc(&terms, (char)byte);
}

static void entry(unsigned number)
{
	put(INV_T_DICT_SMALL + number);
}

/* Writes a definition to the bytes before p. Returns its start. */
static uint8_t *define(uint8_t *p, unsigned kind, const char *bytes, size_t len)
{
	p -= len;
	memcpy(p, bytes, len);
	*--p = (uint8_t)len;
	*--p = (uint8_t)kind;
	return p;
}

static void setup_dict(void)
{
	static const char *const atoms[] = { "send",	      "receive",
					     "print",	      "EXIT",
					     "spawn_request", "spawn_reply",
					     "name",	      "b@h" };
	static uint8_t defs[256];
	uint8_t *end = defs + sizeof(defs), *p = end;

	for (unsigned i = 0; i < sizeof(atoms) / sizeof(*atoms); i++)
		p = define(p, INV_DEF_ATOM, atoms[i], strlen(atoms[i]));
	p = define(p, INV_DEF_PID, "\x58\x01", 2);
	p = define(p, INV_DEF_PORT, "\x05", 1);
	p = define(p, INV_DEF_NODE,
		   "\x07\x03"
		   "b@h",
		   5);
	p = define(p, INV_DEF_FUNCTION, "\x00\x01\x02", 3);
	assert_int_equal(inv_dict_parse(&dict, p, (size_t)(end - p), NULL), 0);
}

/* Appends a pid of the recording node, of a node in the dictionary, or of an
 * unknown node. */
static void pid(void)
{
	if (chance(2)) {
		entry(PID);
		return;
	}
	put(INV_T_XPID);
	put(chance(2) ? 7 : chance(9));
	put(chance(128));
	put(chance(2));
}

static void term(unsigned depth)
{
	unsigned n = chance(depth ? 11 : 8);

	switch (n) {
	case 0:
		put(chance(64));
		break;
	case 1:
		entry(chance(ENTRIES + 1));
		break;
	case 2:
		put(INV_T_INT);
		put(0x80 + chance(128));
		put(chance(128));
		break;
	case 3:
		put(INV_T_BINARY_SMALL + 2);
		put(chance(256));
		put(chance(256));
		break;
	case 4:
		put(INV_T_STRING_SMALL);
		put(chance(256));
		break;
	case 5:
		put(INV_T_NIL);
		break;
	case 6:
		pid();
		break;
	case 7:
		put(INV_T_HOLE);
		put(INV_CUT_OTHER);
		put(0);
		break;
	case 8:
		put(INV_T_LIST);
		term(depth - 1);
		put(INV_T_END);
		break;
	case 9:
		put(INV_T_CUT);
		put(INV_CUT_TUPLE);
		put(1);
		break;
	default:
		n = chance(4);
		put(INV_T_TUPLE_SMALL + n);
		while (n--)
			term(depth - 1);
		break;
	}
}

static void message(void)
{
	unsigned n = chance(7);

	if (!chance(3)) {
		term(2);
		return;
	}
	put(INV_T_TUPLE_SMALL + n);
	if (n)
		entry(chance(ENTRIES));
	if (n > 1)
		pid();
	for (unsigned i = 2; i < n; i++)
		term(1);
}

/* Appends {Kind, {Prev,Cur}, From, To, Message}. */
static void payload(void)
{
	put(INV_T_TUPLE_SMALL + 5);
	entry(chance(3));
	put(INV_T_TUPLE_SMALL + 2);
	put(chance(64));
	if (chance(2)) {
		put(INV_T_INT);
		put(0x80 + chance(128));
		put(chance(128));
	} else {
		put(chance(64));
	}
	if (chance(8))
		pid();
	else
		entry(PORT);
	if (chance(2))
		pid();
	else
		term(1);
	message();
}

/* Makes an event. Some of the events have a wrong byte, and some are cut. */
static void event(struct inv_item *it)
{
	inv_buf_reset(&terms);
	term(2);
	payload();
	if (chance(4) == 0)
		terms.data[chance((unsigned)terms.len)] = (uint8_t)chance(256);
	if (chance(4) == 0)
		terms.len = chance((unsigned)terms.len + 1);
	memset(it, 0, sizeof(*it));
	it->node = &node;
	it->ev.tag = INV_TAG_SEQ_TRACE;
	it->ev.enc = INV_ENC_PACKED;
	it->ev.dict = &dict;
	it->ev.terms = terms.data;
	it->ev.len = terms.len;
}

static void assert_alike(const struct inv_seq *a, const struct inv_seq *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->signal, b->signal);
	assert_int_equal(a->label, b->label);
	assert_int_equal(a->prev, b->prev);
	assert_int_equal(a->cur, b->cur);
	assert_int_equal(a->from, b->from);
	assert_int_equal(a->from_node, b->from_node);
	assert_int_equal(a->within, b->within);
	assert_int_equal(a->to, b->to);
}

static void random_events_are_read_alike(void **state)
{
	const char *given = getenv("INVISO_SEED"); /* NOLINT: one thread */
	unsigned simple = 0, valid = 0;
	struct inv_seq a, b;
	struct inv_item it;

	(void)state;
	seed = given ? strtoull(given, NULL, 10) : 1;
	print_message("seed %llu\n", (unsigned long long)seed);
	setup_dict();
	for (int i = 0; i < 200000; i++) {
		bool is_valid;

		event(&it);
		is_valid = inv__seq_terms(&b, &cursor, &it);
		valid += is_valid;
		if (!inv__seq_packed(&a, &it))
			continue;
		assert_true(is_valid);
		assert_alike(&a, &b);
		simple++;
	}
	print_message("%u simple, %u valid\n", simple, valid);
	assert_true(simple > 40000 && simple < valid);
	inv_buf_release(&terms);
	inv_dict_release(&dict);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_events_are_read_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
