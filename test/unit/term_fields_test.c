/* SPDX-License-Identifier: Apache-2.0 */
/* Records are printed with the names of their fields. If a record is nested deeper
 * than the bound on depth, some of its parts are not printed. */
#include "term/fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "term/print.h"

/* The dictionary: 0 order, 1 item, 2 id, 3 'Big one', 4 m, 5 n. */
static const char definitions[] = "\x01\x01n\x01\x01m\x01\x07"
				  "Big one"
				  "\x01\x02id\x01\x04item\x01\x05order";
#define ATOM(n) (INV_T_DICT_SMALL + (n))
#define TUPLE(n) (INV_T_TUPLE_SMALL + (n))

static struct inv_dict dict;
static struct inv_cursor cursor;
static struct inv_fields fields, given;
static struct inv_buf out;

static int setup(void **state)
{
	(void)state;
	return inv_dict_parse(&dict, (const uint8_t *)definitions,
			      sizeof(definitions) - 1, NULL);
}

static int teardown(void **state)
{
	(void)state;
	inv_fields_release(&fields);
	inv_fields_release(&given);
	inv_buf_release(&out);
	return 0;
}

static int end(void **state)
{
	(void)state;
	inv_dict_release(&dict);
	return 0;
}

/* Adds a definition of the record `name' with n fields. `names' has each
 * field's name after its length. */
static void add(struct inv_fields *f, const char *module, const char *name,
		uint32_t n, const char *names)
{
	assert_int_equal(inv_fields_add(f, (const uint8_t *)module,
					strlen(module), (const uint8_t *)name,
					strlen(name), n, (const uint8_t *)names,
					strlen(names)),
			 0);
}

/* Checks that the term is printed as `expected', by inv_term_print and by
 * inv_term_print_token. */
static void assert_prints(const uint8_t *p, size_t len,
			  const struct inv_print_opts *o, const char *expected)
{
	struct inv_token tok;

	for (int slow = 0; slow < 2; slow++) {
		inv_cursor_init(&cursor, INV_ENC_PACKED, &dict, p, len);
		inv_buf_reset(&out);
		if (!slow) {
			assert_int_equal(inv_term_print(&cursor, &out, o), 0);
		} else {
			assert_int_equal(inv_cursor_next(&cursor, &tok), 0);
			assert_int_equal(inv_term_print_token(&cursor, &tok,
							      &out, o),
					 0);
		}
		assert_int_equal(inv_cursor_offset(&cursor), len);
		inv_buf_putc(&out, 0);
		assert_string_equal(out.data, expected);
	}
}

#define PRINTS(o, expected, ...)                          \
	do {                                              \
		const uint8_t p[] = { __VA_ARGS__ };      \
		assert_prints(p, sizeof(p), o, expected); \
	} while (0)

static void records_have_names(void **state)
{
	const struct inv_print_opts o = { .style = INV_PRINT_P,
					  .fields = { NULL, &fields } };

	(void)state;
	add(&fields, "", "order", 2, "\x02id\x05items");
	add(&fields, "", "item", 1,
	    "\x07"
	    "Big one");
	PRINTS(&o, "#order{id = 7,items = [#item{'Big one' = m},{item}]}",
	       TUPLE(3), ATOM(0), 7, INV_T_LIST, TUPLE(2), ATOM(1), ATOM(4),
	       TUPLE(1), ATOM(1), INV_T_END);
	/* These tuples are not printed as records. Their number of elements or
	 * their tag differs, they have no tag, or they are empty. */
	PRINTS(&o, "{{order,1},{order,1,2,3},{id,1,2},{7,item},{}}", TUPLE(5),
	       TUPLE(2), ATOM(0), 1, TUPLE(4), ATOM(0), 1, 2, 3, TUPLE(3),
	       ATOM(2), 1, 2, TUPLE(2), 7, ATOM(1), TUPLE(0));
	/* The record is a key of a map, and has a string as a field. */
	PRINTS(&o, "#{#item{'Big one' = \"a\"} => #item{'Big one' = <<>>}}",
	       INV_T_MAP, 1, TUPLE(2), ATOM(1), INV_T_STRING_SMALL, 'a',
	       TUPLE(2), ATOM(1), INV_T_BINARY_SMALL);
	/* Fields that were not recorded. */
	PRINTS(&o, "#order{id = 7,...(1 more)}", TUPLE(3), ATOM(0), 7,
	       INV_T_CUT, INV_CUT_TUPLE, 1);
}

static void the_module_decides(void **state)
{
	struct inv_print_opts o = { .fields = { &given, &fields } };

	(void)state;
	add(&fields, "m", "order", 1, "\x01m");
	add(&fields, "n", "order", 1, "\x01n");
	add(&fields, "m", "item", 1, "\x01x");
	add(&fields, "n", "item", 1, "\x01x");
	/* Two modules define the record `order' with different fields. So the
	 * tuple is printed as a tuple. */
	PRINTS(&o, "{order,1}", TUPLE(2), ATOM(0), 1);
	PRINTS(&o, "#item{x = 1}", TUPLE(2), ATOM(1), 1);
	o.module = (const uint8_t *)"n";
	o.module_len = 1;
	PRINTS(&o, "#order{n = 1}", TUPLE(2), ATOM(0), 1);
	/* If a module defines a record again, the new definition replaces the
	 * earlier one. */
	add(&fields, "n", "order", 1, "\x01z");
	PRINTS(&o, "#order{z = 1}", TUPLE(2), ATOM(0), 1);
	/* A definition that the user gave has precedence over those of
	 * modules. */
	add(&given, "", "order", 1, "\x01g");
	PRINTS(&o, "#order{g = 1}", TUPLE(2), ATOM(0), 1);
	o.module = (const uint8_t *)"x";
	PRINTS(&o, "#order{g = 1}", TUPLE(2), ATOM(0), 1);
}

static void deep_terms_are_left_out(void **state)
{
	struct inv_print_opts o = { .style = INV_PRINT_P,
				    .depth = 1,
				    .fields = { &fields, NULL } };

	(void)state;
	add(&fields, "", "order", 1, "\x02id");
	PRINTS(&o, "[{...},[...],#{...},#order{...},\"a\",7]", INV_T_LIST,
	       TUPLE(2), 1, TUPLE(0), INV_T_LIST, ATOM(0), INV_T_END, INV_T_MAP,
	       1, 1, 2, TUPLE(2), ATOM(0), 1, INV_T_STRING_SMALL, 'a', 7,
	       INV_T_END);
	o.depth = 2;
	PRINTS(&o, "{#order{id = {...}},[],{{...}}}", TUPLE(3), TUPLE(2),
	       ATOM(0), TUPLE(1), 1, INV_T_NIL, TUPLE(1), TUPLE(1), TUPLE(1),
	       1);
}

/* Definitions of records are read from notes. A note that is cut or invalid
 * gives no definition. */
static void notes_are_read(void **state)
{
	const struct inv_print_opts o = { .fields = { &fields, NULL } };
	static const uint8_t good[] = { INV_T_NIL, ATOM(0), INV_T_LIST, ATOM(2),
					INV_T_END };
	static const uint8_t cut[] = { INV_T_NIL, ATOM(1),   INV_T_LIST,
				       ATOM(2),	  INV_T_CUT, INV_CUT_LIST,
				       3 };
	static const uint8_t odd[] = { ATOM(4), ATOM(1), INV_T_LIST,
				       ATOM(2), 7,	 INV_T_END };

	(void)state;
	inv_cursor_init(&cursor, INV_ENC_PACKED, &dict, good, sizeof(good));
	assert_int_equal(inv_fields_read(&fields, &cursor), 0);
	inv_cursor_init(&cursor, INV_ENC_PACKED, &dict, cut, sizeof(cut));
	assert_int_equal(inv_fields_read(&fields, &cursor), 0);
	inv_cursor_init(&cursor, INV_ENC_PACKED, &dict, odd, sizeof(odd));
	assert_int_equal(inv_fields_read(&fields, &cursor), 0);
	for (size_t n = 0; n < sizeof(good); n++) {
		inv_cursor_init(&cursor, INV_ENC_PACKED, &dict, good, n);
		assert_int_equal(inv_fields_read(&given, &cursor), 0);
	}
	assert_int_equal(given.size, 0);
	PRINTS(&o, "[#order{id = 1},{item,1}]", INV_T_LIST, TUPLE(2), ATOM(0),
	       1, TUPLE(2), ATOM(1), 1, INV_T_END);
}

static void memory_is_bounded(void **state)
{
	char name[32];

	(void)state;
	for (int i = 0; i < 200000; i++) {
		snprintf(name, sizeof(name), "record%d", i);
		add(&fields, "", name, 1, "\x02id");
	}
	assert_true(fields.size < INV_FIELDS_MEMORY + 4096);
	assert_true(fields.size > INV_FIELDS_MEMORY / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(records_have_names, teardown),
		cmocka_unit_test_teardown(the_module_decides, teardown),
		cmocka_unit_test_teardown(deep_terms_are_left_out, teardown),
		cmocka_unit_test_teardown(notes_are_read, teardown),
		cmocka_unit_test_teardown(memory_is_bounded, teardown),
	};

	return cmocka_run_group_tests(tests, setup, end);
}
