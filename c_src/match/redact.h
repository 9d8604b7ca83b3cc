/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_MATCH_REDACT_H
#define INV_MATCH_REDACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "match/records.h"

/*
 * Rules that say which values are redacted. A mark replaces a redacted value
 * (abi/term.h, enum inv_redacted). The tracer applies the rules while it
 * records, and `inviso merge' when it reads a log. Rules are text, separated by
 * commas. Each line shows a rule and what it redacts:
 *
 *	all			all data; only the shapes of terms remain
 *	none			nothing: it cancels all rules before it
 *	default			the values of well-known keys
 *				(INV_REDACT_DEFAULT)
 *	password, *token*	the values of these keys in maps, {Key,Value}
 *				and [Key | Value]
 *	#user.password		a field of a record; also #user{password,token}
 *	#user/4.3		the same without a definition of the record: the
 *				third element of a tuple {user,_,_,_}
 *	#user/5-8		all elements except the tag, of tuples
 *				{user, ...} with 5 to 8 elements. If a rule such
 *				as #user/6.3 exists, it alone applies to tuples
 *				with 6 elements
 *	#user(id,password)	a record with these fields. A field is redacted
 *				if an earlier rule makes its name a key. More
 *				definitions in parentheses can follow. Sessions
 *				make such rules
 *	shop:login(_, -)	the second argument of the function
 *	shop:login(_) -> -	the function's result
 *	shop:login/1, shop:login  all arguments, and the result
 *
 * A key is an atom, a binary or a string. When keys are compared, upper and
 * lower case are equal, and the characters - and _ are ignored. A star in a
 * key, or in the name of a module or function, stands for any number of
 * characters. A name with special characters is written in quotes: 'x:y'. Names
 * of Elixir are written as in Elixir: Shop.Cart.add/2.
 *
 * The struct has no pointers and allocates nothing, so readers need no lock.
 */
#define INV_REDACT_RULES 524288 /* the most bytes of the rules' text */
#define INV_REDACT_TEXT 32768	/* the most bytes of names in all rules */
#define INV_REDACT_KEYS 512	/* the most keys */
#define INV_REDACT_OTHERS 64	/* the most rules for functions */
#define INV_REDACT_RECORDS 1024 /* the most rules for arities of records */
#define INV_REDACT_KEY_MAX \
	255 /* the most bytes of a key; no rule matches
				 * longer keys */
/* A later version of a record is assumed to add at most this many fields. */
#define INV_REDACT_GROWTH 4

#define INV_REDACT_DEFAULT                                           \
	"password,passwd,passphrase,password_hash,secret,"           \
	"pass,pwd,token,db_password,user_password,api_token,"        \
	"'password:',"                                               \
	"client_secret,secret_key,secret_key_base,api_key,"          \
	"x_api_key,private_key,access_token,refresh_token,id_token," \
	"auth_token,session_token,authorization,"                    \
	"proxy_authorization,cookie,set_cookie"

/* A set of elements of a tuple, or of arguments. Bit n stands for element n,
 * counted from 0. Bit 63 stands for element 63 and all elements after it. */
typedef uint64_t inv_redact_set;

static inline bool inv_redact_has(inv_redact_set set, uint32_t n)
{
	return set >> (n < 63 ? n : 63) & 1;
}

struct inv_redact_function {
	uint16_t module, function; /* wildcards for the names, as offsets in
				    * `text' */
	int16_t arity;		   /* -1: all arities */
	bool result;
	inv_redact_set args;
};

struct inv_redact_record {
	uint16_t tag;	/* the record's name, as an offset in `text' */
	uint32_t arity; /* the number of elements of the tuple, with the tag */
	/* 0: the rule is for tuples with exactly `arity' elements. Otherwise
	 * the rule is for tuples with `arity' to `to' elements, but not for a
	 * number of elements that has its own rule. Such a range is for
	 * versions of the record that are loaded later. */
	uint32_t to;
	inv_redact_set fields;
};

struct inv_redact {
	bool all;
	uint16_t n_keys, n_globs, n_functions, n_records;
	uint16_t text_len;
	/* Bit sets for a fast test of keys without stars. A character in such a
	 * set sets the bit whose number is the character's low five bits.
	 * `firsts' has the first characters of all keys, and `lasts' has their
	 * last characters. first[len] has the first characters of the keys with
	 * `len' bytes, and first[63] of the keys with 63 or more bytes. */
	uint32_t firsts, lasts;
	uint32_t first[64];
	uint16_t keys[INV_REDACT_KEYS];	 /* keys without stars, as offsets in
					    `text' */
	uint16_t globs[INV_REDACT_KEYS]; /* keys with stars, as offsets in
					    `text' */
	struct inv_redact_function functions[INV_REDACT_OTHERS];
	struct inv_redact_record records[INV_REDACT_RECORDS];
	char text[INV_REDACT_TEXT];
};

/*
 * Adds the rules in the len bytes of `text' to *r. A struct of zeros has no
 * rules. `records' has the definitions of records, or is NULL. Returns 0, or
 * INV_EINVAL or INV_ETOOBIG with a message.
 */
int inv_redact_parse(struct inv_redact *r, const char *text, size_t len,
		     const struct inv_records *records, struct inv_err *err);

/*
 * Checks the first rule of *text and appends it to *out, as a command sends it
 * to a node. If the rule names a record that `records' defines, appends the
 * rule in the form with numbers, #user/4.3; otherwise the node must find the
 * definition. Moves *text after the rule and its comma. Returns 0; INV_END if
 * there is no rule; INV_EINVAL or INV_ETOOBIG with a message; or INV_ENOMEM.
 */
int inv_redact_next(const char **text, const struct inv_records *records,
		    struct inv_buf *out, struct inv_err *err);

/*
 * Adds rules for the records called `name' in `records'. The rules redact those
 * fields whose names are keys. Returns 0, or INV_ETOOBIG with a message.
 */
int inv_redact_learn(struct inv_redact *r, const struct inv_records *records,
		     const char *name, struct inv_err *err);

/* Returns true if there is at least one rule. */
static inline bool inv_redact_any(const struct inv_redact *r)
{
	return r->all || r->n_keys || r->n_globs || r->n_functions ||
	       r->n_records;
}

/*
 * A fast test before inv_redact_key. Returns true for all keys, and false for
 * most other names. It compares the low five bits of the first and the last
 * character: they are the same for an upper-case letter and its lower-case
 * letter.
 */
static inline bool inv_redact_may_be_key(const struct inv_redact *r,
					 const uint8_t *name, size_t len)
{
	uint8_t a, z;

	if (len == 0 || r->n_globs)
		return len > 0;
	a = name[0];
	z = name[len - 1];
	if (a == '-' || a == '_' || z == '-' || z == '_')
		return true;
	return r->firsts >> (a & 31) & r->lasts >> (z & 31) & 1;
}

/* Returns true if `name' is a key whose values are redacted. */
bool inv_redact_key(const struct inv_redact *r, const uint8_t *name,
		    size_t len);

/* inv_redact_atom returns a set of these flags: the kinds of rules in which an
 * atom with this name occurs. The arity and the module are not considered. */
enum inv_redact_verdict {
	INV_REDACT_IS_KEY = 1,
	INV_REDACT_IS_FUNCTION = 2, /* a function of this name has a rule */
	INV_REDACT_IS_RECORD = 4,   /* a record of this name has a rule */
};
unsigned inv_redact_atom(const struct inv_redact *r, const uint8_t *name,
			 size_t len);

/* Which parts of a function's calls are redacted. */
struct inv_redact_call {
	bool any; /* the function has a rule */
	bool result;
	inv_redact_set args;
};

struct inv_redact_name {
	const uint8_t *bytes;
	size_t len;
};

/* Sets *call to the parts that are redacted in calls of the function
 * name[0]:name[1]/arity; returns call->any. */
bool inv_redact_calls(const struct inv_redact *r,
		      const struct inv_redact_name name[2], uint32_t arity,
		      struct inv_redact_call *call);

/* Returns the set of redacted elements of a tuple {Tag, ...} with `arity'
 * elements. */
inv_redact_set inv_redact_fields(const struct inv_redact *r,
				 struct inv_redact_name tag, uint32_t arity);

#endif
