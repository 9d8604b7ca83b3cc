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
 * Rules that say which values are redacted: a mark replaces them (abi/term.h,
 * enum inv_redacted). The tracer applies the rules while it records, and `inviso
 * merge' when it reads a log. Rules are text, separated by commas:
 *
 *	all			all data; the shapes of terms remain
 *	none			removes the rules before it
 *	default			well-known keys (INV_REDACT_DEFAULT)
 *	password, *token*	values of this key, in maps, {Key,Value} and
 *				[Key | Value]
 *	#user.password		a field of a record; also #user{password,token}
 *	#user/4.3		the same without a definition: the third element
 *				of a tuple {user,_,_,_}
 *	#user/5-8		all elements but the tag of a tuple {user, ...} of 5
 *				to 8 elements, unless a rule names its arity
 *	#user(id,password)	a definition of the record: the fields whose names
 *				are keys by the rules before it; more definitions
 *				in parentheses can follow. Sessions make such rules
 *	shop:login(_, -)	the second argument of the function
 *	shop:login(_) -> -	its result
 *	shop:login/1, shop:login  all arguments, and the result
 *
 * A key is an atom, a binary or a string. Keys are compared without regard to
 * case, and without their characters - and _. A star in a key, or in the names of
 * module and function, stands for any characters. Other characters can be in
 * quotes: 'x:y'. Names of Elixir are written as there: Shop.Cart.add/2.
 *
 * The struct has no pointers and allocates nothing. Reading it takes no lock.
 */
#define INV_REDACT_RULES 524288 /* the most bytes of the rules' text */
#define INV_REDACT_TEXT 32768	/* the most bytes of names in all rules */
#define INV_REDACT_KEYS 512	/* the most keys */
#define INV_REDACT_OTHERS 64	/* the most functions */
#define INV_REDACT_RECORDS 1024 /* the most arities of records */
#define INV_REDACT_KEY_MAX \
	255		    /* the most bytes of a key; no rule matches
				 * longer keys */
#define INV_REDACT_GROWTH 4 /* fields that a new version can add */

#define INV_REDACT_DEFAULT                                           \
	"password,passwd,passphrase,password_hash,secret,"           \
	"pass,pwd,token,db_password,user_password,api_token,"        \
	"'password:',"                                               \
	"client_secret,secret_key,secret_key_base,api_key,"          \
	"x_api_key,private_key,access_token,refresh_token,id_token," \
	"auth_token,session_token,authorization,"                    \
	"proxy_authorization,cookie,set_cookie"

/* A set of elements of a tuple, or of arguments: bit n is for the n-th from 0.
 * The last bit is also for all further elements. */
typedef uint64_t inv_redact_set;

static inline bool inv_redact_has(inv_redact_set set, uint32_t n)
{
	return set >> (n < 63 ? n : 63) & 1;
}

struct inv_redact_function {
	uint16_t module, function; /* offsets in `text' of two wildcards */
	int16_t arity;		   /* -1: all arities */
	bool result;
	inv_redact_set args;
};

struct inv_redact_record {
	uint16_t tag; /* offset in `text' */
	uint32_t arity;
	/* 0: the rule is for this arity. Otherwise the rule is for all arities
	 * from this one up to `to' that have no rule of their own: a version of
	 * the record that was loaded later. */
	uint32_t to;
	inv_redact_set fields;
};

struct inv_redact {
	bool all;
	uint16_t n_keys, n_globs, n_functions, n_records;
	uint16_t text_len;
	/* The first and the last characters of all keys without stars, and the
	 * first characters of those of each length, as sets of bits. */
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
 * Adds the rules in text, of len bytes, to r; a struct of zeros has no rules.
 * `records' has the definitions of records, or is NULL. Returns 0, or INV_EINVAL
 * or INV_ETOOBIG with a message.
 */
int inv_redact_parse(struct inv_redact *r, const char *text, size_t len,
		     const struct inv_records *records, struct inv_err *err);

/*
 * Checks the first rule of the text, which a node will read, and appends it to
 * out. If `records' defines a record, its rule is appended with numbers;
 * otherwise the node has to find the definition. Moves *text behind the rule
 * and its comma. Returns 0; INV_END if there is no rule; INV_EINVAL or
 * INV_ETOOBIG with a message; INV_ENOMEM.
 */
int inv_redact_next(const char **text, const struct inv_records *records,
		    struct inv_buf *out, struct inv_err *err);

/*
 * Redacts the fields of the records called `name' whose names are keys. Returns 0,
 * or INV_ETOOBIG with a message.
 */
int inv_redact_learn(struct inv_redact *r, const struct inv_records *records,
		     const char *name, struct inv_err *err);

static inline bool inv_redact_any(const struct inv_redact *r)
{
	return r->all || r->n_keys || r->n_globs || r->n_functions ||
	       r->n_records;
}

/*
 * Returns false for most names that are no key: an early answer, without a call.
 * The low five bits of a letter do not depend on its case.
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

/* Returns true if the values of the key are redacted. */
bool inv_redact_key(const struct inv_redact *r, const uint8_t *name,
		    size_t len);

/* The verdict of the rules on a name, without regard to arities and modules. */
enum inv_redact_verdict {
	INV_REDACT_IS_KEY = 1,
	INV_REDACT_IS_FUNCTION = 2, /* a function of that name has a rule */
	INV_REDACT_IS_RECORD = 4,   /* a record of that name has a rule */
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

/* Returns the redacted elements of a tuple {Tag, ...}. */
inv_redact_set inv_redact_fields(const struct inv_redact *r,
				 struct inv_redact_name tag, uint32_t arity);

#endif
