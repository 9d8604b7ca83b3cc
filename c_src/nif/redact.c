/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/redact.h"

#include <string.h>

#include "base/likely.h"
#include "nif/ident.h"
#include "nif/put.h"
#include "nif/scalar.h"

static ERL_NIF_TERM nil;
static ERL_NIF_TERM http_header;
static ERL_NIF_TERM init;

/* Atoms: their names, and their terms, which never change. */
struct atoms {
	const char *const *names;
	ERL_NIF_TERM v[20];
};

/* The keys of the list Location in an entry of a stack trace, {M, F, A,
 * Location}. */
static struct atoms places = {
	(const char *const[]){ "file", "line", "error_info", NULL }, { 0 }
};
/* The reasons of the VM's own exceptions, and the classes of exceptions. */
static struct atoms reasons = {
	(const char *const[]){ "badarg", "badarith", "function_clause",
			       "if_clause", "undef", "noproc", "noconnection",
			       "timeout_value", "system_limit", "normal",
			       "shutdown", "kill", "killed", "error", "exit",
			       "throw", NULL },
	{ 0 }
};

/* For the functions that recurse: they are not inlined, so that the walk over a
 * term takes one frame on the stack for each level of nesting. */
#define LEVEL __attribute__((noinline))

static void make_atoms(ErlNifEnv *env, struct atoms *a)
{
	unsigned i;

	for (i = 0; a->names[i]; i++)
		a->v[i] = enif_make_atom(env, a->names[i]);
}

static bool is_one_of(const struct atoms *a, ERL_NIF_TERM term)
{
	unsigned i;

	for (i = 0; a->names[i]; i++)
		if (a->v[i] == term)
			return true;
	return false;
}

void inv_redaction_init(ErlNifEnv *env)
{
	nil = enif_make_list(env, 0);
	http_header = enif_make_atom(env, "http_header");
	init = enif_make_atom(env, "init");
	make_atoms(env, &places);
	make_atoms(env, &reasons);
}

/* --- marks ---------------------------------------------------------------- */

static enum inv_redacted type_of(const struct inv_encoder *e, ERL_NIF_TERM term)
{
	switch (enif_term_type(e->env, term)) {
	case ERL_NIF_TERM_TYPE_ATOM:
		return INV_REDACTED_ATOM;
	case ERL_NIF_TERM_TYPE_BITSTRING:
		return INV_REDACTED_BINARY;
	case ERL_NIF_TERM_TYPE_FLOAT:
		return INV_REDACTED_FLOAT;
	case ERL_NIF_TERM_TYPE_FUN:
		return INV_REDACTED_FUN;
	case ERL_NIF_TERM_TYPE_INTEGER:
		return INV_REDACTED_INTEGER;
	case ERL_NIF_TERM_TYPE_LIST:
		return INV_REDACTED_LIST;
	case ERL_NIF_TERM_TYPE_MAP:
		return INV_REDACTED_MAP;
	case ERL_NIF_TERM_TYPE_PID:
		return INV_REDACTED_PID;
	case ERL_NIF_TERM_TYPE_PORT:
		return INV_REDACTED_PORT;
	case ERL_NIF_TERM_TYPE_REFERENCE:
		return INV_REDACTED_REF;
	case ERL_NIF_TERM_TYPE_TUPLE:
		return INV_REDACTED_TUPLE;
	default:
		return INV_REDACTED_TERM;
	}
}

bool inv_redact_mark(struct inv_encoder *e, ERL_NIF_TERM term)
{
	if (e->n_marked < INV_ENCODE_MARKED)
		e->marked[e->n_marked] = term;
	e->n_marked++;
	e->redacted++;
	return inv_put_byte(e, INV_T_HOLE) && inv_put_byte(e, INV_CUT_OTHER) &&
	       inv_put_varint(e, type_of(e, term));
}

/*
 * If the result of a match spec contains the value of a variable, the VM does
 * not copy the value. So the term has the same word in the result as in the
 * event. If the result contains only a part of a redacted value, this function
 * does not find the part.
 */
bool inv_redact_was_marked(const struct inv_encoder *e, ERL_NIF_TERM term)
{
	bool is_bytes = enif_term_type(e->env, term) ==
			ERL_NIF_TERM_TYPE_BITSTRING;

	for (uint32_t i = 0; i < e->n_marked; i++)
		if (e->marked[i] == term ||
		    (is_bytes && enif_is_identical(e->marked[i], term)))
			return true;
	return false;
}

/* --- keys ----------------------------------------------------------------- */

/* An entry of the cache consists of an atom's word and, in the bits from
 * VERDICT_SHIFT on, the verdict: a set of INV_REDACT_IS_... bits that says for
 * what the rules use the atom. IS_ATOM is always set, so that a verdict is
 * never 0. */
#define VERDICT_SHIFT 60
#define IS_ATOM 8u

static _Atomic uint64_t *entry_of(struct inv_redaction *r, ERL_NIF_TERM atom)
{
	uint64_t hash = (uint64_t)atom * 0x9e3779b97f4a7c15u;

	return &r->atoms[hash >> 32 & (INV_REDACTION_ATOMS - 1)];
}

static INV_COLD unsigned judge(struct inv_encoder *e, ERL_NIF_TERM atom)
{
	struct inv_redaction *r = e->redaction;
	uint8_t name[INV_IDENT_NAME];
	uint32_t len = 0;
	unsigned verdict;

	/* If the name cannot be read, the atom counts as a key with a rule. */
	if (!inv_ident_name(e->env, atom, name, &len))
		return INV_REDACT_IS_KEY | IS_ATOM;
	verdict = inv_redact_atom(&r->rules, name, len) | IS_ATOM;
	if ((uint64_t)atom >> VERDICT_SHIFT == 0)
		atomic_store_explicit(entry_of(r, atom),
				      (uint64_t)atom | (uint64_t)verdict
							       << VERDICT_SHIFT,
				      memory_order_relaxed);
	return verdict;
}

/* If the cache contains the term, sets *verdict and returns true. The cache
 * contains only atoms, and no other term has the same word as an atom. */
static inline bool is_known(struct inv_redaction *r, ERL_NIF_TERM term,
			    unsigned *verdict)
{
	uint64_t entry =
		atomic_load_explicit(entry_of(r, term), memory_order_relaxed);

	*verdict = (unsigned)(entry >> VERDICT_SHIFT);
	return entry != 0 && (uint64_t)term >> VERDICT_SHIFT == 0 &&
	       entry << (64 - VERDICT_SHIFT) == (uint64_t)term
							<< (64 - VERDICT_SHIFT);
}

/* Returns the verdict of the rules on an atom, or 0 if the term is no atom. */
static unsigned verdict_of(struct inv_encoder *e, ERL_NIF_TERM term)
{
	unsigned verdict;

	if (inv_likely(is_known(e->redaction, term, &verdict)))
		return verdict;
	return enif_is_atom(e->env, term) ? judge(e, term) : 0;
}

/* Appends a character in UTF-8; returns false if there is no space. */
static bool add_char(uint8_t *name, uint32_t *len, unsigned c)
{
	if (*len >= INV_REDACT_KEY_MAX || c > 0x10ffff)
		return false;
	if (c < 0x80) {
		name[(*len)++] = (uint8_t)c;
		return true;
	}
	if (c < 0x800) {
		name[(*len)++] = (uint8_t)(0xc0 | c >> 6);
	} else {
		if (c < 0x10000) {
			name[(*len)++] = (uint8_t)(0xe0 | c >> 12);
		} else {
			name[(*len)++] = (uint8_t)(0xf0 | c >> 18);
			name[(*len)++] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
		}
		name[(*len)++] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	}
	name[(*len)++] = (uint8_t)(0x80 | (c & 0x3f));
	return true;
}

/*
 * Call it before a rule visits a list cell or map pair. Returns false if no
 * more may be visited; the caller then redacts the value that contains the cell
 * or pair.
 */
static bool may_visit(struct inv_encoder *e)
{
	if (e->checks > 0) {
		e->checks--;
		return true;
	}
	e->cut = true;
	return false;
}

/* Returns true if the list is a string that is a key with a rule. Visits at
 * most as many cells as the longest key has bytes. */
static bool is_string_key(struct inv_encoder *e, ERL_NIF_TERM list)
{
	uint8_t name[INV_REDACT_KEY_MAX + 4];
	uint32_t len = 0;
	ERL_NIF_TERM head;
	unsigned c;

	while (enif_get_list_cell(e->env, list, &head, &list)) {
		if (!may_visit(e))
			return true;
		if (!enif_get_uint(e->env, head, &c) ||
		    !add_char(name, &len, c))
			return false;
	}
	return list == nil && inv_redact_key(&e->redaction->rules, name, len);
}

bool inv_redact_is_key(struct inv_encoder *e, ERL_NIF_TERM key)
{
	const struct inv_redact *r = &e->redaction->rules;
	unsigned verdict;
	ErlNifBinary bin;

	if (!r->n_keys && !r->n_globs)
		return false;
	if (inv_likely(is_known(e->redaction, key, &verdict)))
		return verdict & INV_REDACT_IS_KEY;
	switch (enif_term_type(e->env, key)) {
	case ERL_NIF_TERM_TYPE_ATOM:
		return judge(e, key) & INV_REDACT_IS_KEY;
	case ERL_NIF_TERM_TYPE_BITSTRING:
		return enif_inspect_binary(e->env, key, &bin) &&
		       inv_redact_may_be_key(r, bin.data, bin.size) &&
		       inv_redact_key(r, bin.data, bin.size);
	case ERL_NIF_TERM_TYPE_LIST:
		return is_string_key(e, key);
	default:
		return false;
	}
}

/* --- functions and tuples ------------------------------------------------- */

bool inv_redact_mfa(struct inv_encoder *e, ERL_NIF_TERM module,
		    ERL_NIF_TERM function, uint32_t arity,
		    struct inv_redact_call *call)
{
	const struct inv_redact *r = &e->redaction->rules;
	uint8_t m[INV_IDENT_NAME], f[INV_IDENT_NAME];
	struct inv_redact_name name[2];
	uint32_t m_len, f_len;

	*call = (struct inv_redact_call){ .any = false };
	if (r->n_functions == 0 ||
	    !(verdict_of(e, function) & INV_REDACT_IS_FUNCTION))
		return false;
	if (!inv_ident_name(e->env, module, m, &m_len) ||
	    !inv_ident_name(e->env, function, f, &f_len))
		return false;
	name[0] = (struct inv_redact_name){ m, m_len };
	name[1] = (struct inv_redact_name){ f, f_len };
	return inv_redact_calls(r, name, arity, call);
}

/* Returns true, and sets *arity, if the rules may apply to {M, F, Third}, where
 * Third is an arity or a list of arguments. Sets *all to true if the length of
 * the list is not known, because the rules may visit no more cells. The caller
 * must then redact all arguments. */
static bool get_arity(struct inv_encoder *e, const ERL_NIF_TERM *mfa,
		      uint32_t *arity, bool *all)
{
	ERL_NIF_TERM third = mfa[2];
	ERL_NIF_TERM head;

	*all = false;
	if (!(verdict_of(e, mfa[1]) & INV_REDACT_IS_FUNCTION))
		return false;
	if (enif_get_uint(e->env, third, arity))
		return true;
	for (*arity = 0; *arity < 256; (*arity)++) {
		if (!enif_get_list_cell(e->env, third, &head, &third))
			return third == nil;
		if (!may_visit(e)) {
			*all = true;
			return true;
		}
	}
	return false;
}

bool inv_redact_function(struct inv_encoder *e, ERL_NIF_TERM mfa,
			 struct inv_redact_call *call)
{
	const ERL_NIF_TERM *t;
	uint32_t n;
	int arity;
	bool all;

	*call = (struct inv_redact_call){ .any = false };
	if (e->redaction->rules.n_functions == 0 ||
	    !enif_get_tuple(e->env, mfa, &arity, &t) || arity < 3 ||
	    !get_arity(e, t, &n, &all))
		return false;
	if (!all)
		return inv_redact_mfa(e, t[0], t[1], n, call);
	*call = (struct inv_redact_call){ .any = true,
					  .result = true,
					  .args = ~(inv_redact_set)0 };
	return true;
}

/* Two bounds: how many entries of a stack trace are searched for functions with
 * rules, and how many elements of a list are searched for stack traces. */
#define STACK_MAX 16

/* Returns true if the term is a stack trace, [{M,F,Arity or Args,Location},
 * ...], with a function that has a rule, or if the rules may visit no more
 * cells. If true, terms beside the stack trace, such as the reason of the
 * exception, can contain values of the function. */
static bool is_ruled_stack(struct inv_encoder *e, ERL_NIF_TERM list)
{
	struct inv_redact_call call;
	const ERL_NIF_TERM *t;
	ERL_NIF_TERM head;
	unsigned i;
	int arity;

	for (i = 0;
	     i < STACK_MAX && enif_get_list_cell(e->env, list, &head, &list) &&
	     enif_get_tuple(e->env, head, &arity, &t) && arity >= 3;
	     i++)
		if (!may_visit(e) || inv_redact_function(e, head, &call))
			return true;
	return false;
}

bool inv_redact_has_stack(struct inv_encoder *e, ERL_NIF_TERM term)
{
	const ERL_NIF_TERM *t;
	int arity;

	if (enif_get_tuple(e->env, term, &arity, &t))
		return arity == 2 && is_ruled_stack(e, t[1]);
	return is_ruled_stack(e, term);
}

bool inv_redact_list(struct inv_encoder *e, ERL_NIF_TERM list)
{
	ERL_NIF_TERM head;
	unsigned i;

	if (e->redaction->rules.n_functions == 0)
		return false;
	for (i = 0;
	     i < STACK_MAX && enif_get_list_cell(e->env, list, &head, &list);
	     i++)
		if (!may_visit(e) || inv_redact_has_stack(e, head))
			return true;
	return false;
}

bool inv_redact_map(struct inv_encoder *e, ERL_NIF_TERM map)
{
	ErlNifMapIterator iter;
	ERL_NIF_TERM value;
	ERL_NIF_TERM key;
	bool found = false;

	if (e->redaction->rules.n_functions == 0 ||
	    !enif_map_iterator_create(e->env, map, &iter,
				      ERL_NIF_MAP_ITERATOR_FIRST))
		return false;
	while (!found &&
	       enif_map_iterator_get_pair(e->env, &iter, &key, &value)) {
		found = !may_visit(e) || inv_redact_has_stack(e, value);
		enif_map_iterator_next(e->env, &iter);
	}
	enif_map_iterator_destroy(e->env, &iter);
	return found;
}

void inv_redact_tuple(struct inv_encoder *e, const ERL_NIF_TERM *elements,
		      uint32_t arity, struct inv_redact_tuple *t)
{
	const struct inv_redact *r = &e->redaction->rules;
	uint8_t name[INV_IDENT_NAME];
	uint32_t len;

	*t = (struct inv_redact_tuple){ .hidden = 0 };
	if (arity < 2)
		return;
	if (arity == 2 && inv_redact_is_key(e, elements[0]))
		t->hidden |= 2;
	/* {http_header, _, Name, _, Value}: sockets and decode_packet/3 make
	 * such tuples. Bit 4 is Value. */
	if (arity == 5 && elements[0] == http_header &&
	    inv_redact_is_key(e, elements[2]))
		t->hidden |= 16;
	if (r->n_records > 0 &&
	    verdict_of(e, elements[0]) & INV_REDACT_IS_RECORD &&
	    inv_ident_name(e->env, elements[0], name, &len))
		t->hidden |= inv_redact_fields(
			r, (struct inv_redact_name){ name, len }, arity);
	if (r->n_functions > 0 && arity <= 3 &&
	    is_ruled_stack(e, elements[arity - 1]))
		t->reason = true;
}

/* Returns true if a rule redacts the argument of init/1 of this module. */
static bool is_ruled_behaviour(struct inv_encoder *e, ERL_NIF_TERM module)
{
	struct inv_redact_call call;

	return verdict_of(e, init) & INV_REDACT_IS_FUNCTION &&
	       enif_is_atom(e->env, module) &&
	       (!may_visit(e) || (inv_redact_mfa(e, module, init, 1, &call) &&
				  inv_redact_has(call.args, 0)));
}

bool inv_redact_is_passed(struct inv_encoder *e, const ERL_NIF_TERM before[2],
			  ERL_NIF_TERM term)
{
	const ERL_NIF_TERM mfa[] = { before[0], before[1], term };
	struct inv_redact_call call;
	uint32_t n;
	bool all;

	if (enif_is_list(e->env, term) && enif_is_atom(e->env, mfa[0]) &&
	    get_arity(e, mfa, &n, &all) &&
	    (all || (inv_redact_mfa(e, mfa[0], mfa[1], n, &call) && call.args)))
		return true;
	return !enif_is_atom(e->env, term) && is_ruled_behaviour(e, before[1]);
}

/* --- shapes --------------------------------------------------------------- */

static inline bool shape(struct inv_encoder *e, ERL_NIF_TERM term,
			 uint32_t depth);

/* Writes a term that is not redacted, and is no list, tuple or map. */
static bool put_bare(struct inv_encoder *e, ERL_NIF_TERM term)
{
	switch (enif_term_type(e->env, term)) {
	case ERL_NIF_TERM_TYPE_ATOM:
		return inv_ident_atom(e, term);
	case ERL_NIF_TERM_TYPE_INTEGER:
		return inv_scalar_integer(e, term);
	case ERL_NIF_TERM_TYPE_PID:
		return inv_ident_pid(e, term);
	case ERL_NIF_TERM_TYPE_PORT:
		return inv_ident_port(e, term);
	case ERL_NIF_TERM_TYPE_REFERENCE:
		return inv_ident_ref(e, term);
	case ERL_NIF_TERM_TYPE_FUN:
		return inv_ident_fun(e, term);
	default:
		return inv_redact_mark(e, term);
	}
}

static bool is_spent(const struct inv_encoder *e)
{
	return e->p >= e->limit;
}

/*
 * Returns true if the list is a string: all elements that may be visited
 * (e->looks) are integers. One mark replaces a string, so that its length is
 * not recorded.
 */
static bool is_text(struct inv_encoder *e, ERL_NIF_TERM list)
{
	ERL_NIF_TERM head;

	while (enif_get_list_cell(e->env, list, &head, &list)) {
		if (e->looks == 0)
			return true;
		e->looks--;
		if (enif_term_type(e->env, head) != ERL_NIF_TERM_TYPE_INTEGER)
			return false;
	}
	return true;
}

LEVEL static bool shape_list(struct inv_encoder *e, ERL_NIF_TERM list,
			     uint32_t depth)
{
	ERL_NIF_TERM tail = list;
	ERL_NIF_TERM head;

	if (list == nil)
		return inv_put_byte(e, INV_T_NIL);
	if (is_text(e, list) || depth >= e->max_depth)
		return inv_redact_mark(e, list);
	if (!inv_put_byte(e, INV_T_LIST))
		return false;
	while (tail != nil) {
		if (is_spent(e))
			return inv_scalar_missing(e, INV_T_CUT,
						  INV_CUT_LIST_MIN, 1);
		if (!enif_get_list_cell(e->env, tail, &head, &tail))
			return inv_put_byte(e, INV_T_TAIL) &&
			       shape(e, tail, depth + 1);
		if (!shape(e, head, depth + 1))
			return false;
	}
	return inv_put_byte(e, INV_T_END);
}

/* Returns true if the list is the Location in an entry of a stack trace, such
 * as [{file, File}, {line, Line}]. */
static bool is_place(const struct inv_encoder *e, ERL_NIF_TERM list)
{
	const ERL_NIF_TERM *pair;
	ERL_NIF_TERM head;
	int arity;

	return enif_get_list_cell(e->env, list, &head, &list) &&
	       enif_get_tuple(e->env, head, &arity, &pair) && arity == 2 &&
	       is_one_of(&places, pair[0]);
}

/* Returns how many elements at the start of a tuple are not redacted. If the
 * tuple is an entry of a stack trace, these are the module, the function and
 * the arity, but not a list of arguments. In any other tuple, only the tag is
 * not redacted: the first element, if it is an atom. */
static uint32_t tags(const struct inv_encoder *e, const ERL_NIF_TERM *t,
		     uint32_t arity)
{
	unsigned n;

	if (arity == 0 || !enif_is_atom(e->env, t[0]))
		return 0;
	if (arity != 4 || !enif_is_atom(e->env, t[1]) || !is_place(e, t[3]))
		return 1;
	return enif_get_uint(e->env, t[2], &n) && n <= 255 ? 3 : 2;
}

LEVEL static bool shape_tuple(struct inv_encoder *e, ERL_NIF_TERM term,
			      uint32_t depth)
{
	const ERL_NIF_TERM *t;
	uint32_t n_tags;
	uint32_t n;
	int arity;
	uint32_t i;

	enif_get_tuple(e->env, term, &arity, &t);
	n = (uint32_t)arity;
	if (depth >= e->max_depth)
		return inv_redact_mark(e, term);
	if (!inv_encode_tuple(e, n))
		return false;
	n_tags = tags(e, t, n);
	for (i = 0; i < n; i++) {
		if (is_spent(e))
			return inv_scalar_missing(e, INV_T_CUT, INV_CUT_TUPLE,
						  n - i);
		if (!(i < n_tags ? put_bare(e, t[i]) :
				   shape(e, t[i], depth + 1)))
			return false;
	}
	return true;
}

static bool shape_pairs(struct inv_encoder *e, ErlNifMapIterator *iter,
			size_t n, uint32_t depth)
{
	ERL_NIF_TERM value;
	ERL_NIF_TERM key;

	for (; n > 0; n--) {
		if (is_spent(e) ||
		    !enif_map_iterator_get_pair(e->env, iter, &key, &value))
			return inv_scalar_missing(e, INV_T_CUT, INV_CUT_MAP, n);
		enif_map_iterator_next(e->env, iter);
		if (!(enif_is_atom(e->env, key) ? put_bare(e, key) :
						  shape(e, key, depth + 1)) ||
		    !shape(e, value, depth + 1))
			return false;
	}
	return true;
}

LEVEL static bool shape_map(struct inv_encoder *e, ERL_NIF_TERM map,
			    uint32_t depth)
{
	ErlNifMapIterator iter;
	size_t n = 0;
	bool ok;

	enif_get_map_size(e->env, map, &n);
	if (depth >= e->max_depth)
		return inv_redact_mark(e, map);
	if (!inv_put_code(e, INV_T_MAP, n))
		return false;
	if (n == 0)
		return true;
	if (!enif_map_iterator_create(e->env, map, &iter,
				      ERL_NIF_MAP_ITERATOR_FIRST))
		return inv_scalar_missing(e, INV_T_CUT, INV_CUT_MAP, n);
	ok = shape_pairs(e, &iter, n, depth);
	enif_map_iterator_destroy(e->env, &iter);
	return ok;
}

static inline bool shape(struct inv_encoder *e, ERL_NIF_TERM term,
			 uint32_t depth)
{
	switch (enif_term_type(e->env, term)) {
	case ERL_NIF_TERM_TYPE_LIST:
		return shape_list(e, term, depth);
	case ERL_NIF_TERM_TYPE_TUPLE:
		return shape_tuple(e, term, depth);
	case ERL_NIF_TERM_TYPE_MAP:
		return shape_map(e, term, depth);
	case ERL_NIF_TERM_TYPE_PID:
	case ERL_NIF_TERM_TYPE_PORT:
	case ERL_NIF_TERM_TYPE_REFERENCE:
	case ERL_NIF_TERM_TYPE_FUN:
		return put_bare(e, term);
	default:
		return inv_redact_mark(e, term);
	}
}

bool inv_redact_shape(struct inv_encoder *e, ERL_NIF_TERM term, uint32_t depth)
{
	return shape(e, term, depth);
}

bool inv_redact_reason(struct inv_encoder *e, ERL_NIF_TERM reason,
		       uint32_t depth)
{
	return is_one_of(&reasons, reason) ? put_bare(e, reason) :
					     inv_redact_shape(e, reason, depth);
}
