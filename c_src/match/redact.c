/* SPDX-License-Identifier: Apache-2.0 */
#include "match/redact.h"

#include <string.h>

#include "base/alloc.h"
#include "base/glob.h"

#define ARITY_MAX 0xffffffu /* the highest arity of a tuple */

/* A key in the form in which keys are compared: in lower case, and without the
 * characters - and _. */
struct key {
	size_t len;
	uint8_t bytes[INV_REDACT_KEY_MAX + 1];
};

/*
 * Converts a name to the form in which keys are compared. Returns false if the
 * name is too long for a key.
 */
static bool normal(struct key *key, const uint8_t *name, size_t len)
{
	if (len > INV_REDACT_KEY_MAX)
		return false;
	key->len = 0;
	for (size_t i = 0; i < len; i++) {
		uint8_t c = name[i];

		if (c == '-' || c == '_')
			continue;
		if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		key->bytes[key->len++] = c;
	}
	key->bytes[key->len] = 0;
	return true;
}

/* --- applying rules ------------------------------------------------------- */

static uint32_t *first_of(struct inv_redact *r, size_t len)
{
	return &r->first[len < 63 ? len : 63];
}

static bool has_first(const struct inv_redact *r, const struct key *key)
{
	return r->first[key->len < 63 ? key->len : 63] >> (key->bytes[0] & 31) &
	       1;
}

bool inv_redact_key(const struct inv_redact *r, const uint8_t *name, size_t len)
{
	struct key key;

	if (!(r->n_keys || r->n_globs) || !normal(&key, name, len) || !key.len)
		return false;
	for (unsigned i = 0; has_first(r, &key) && i < r->n_keys; i++)
		if (!strcmp(r->text + r->keys[i], (const char *)key.bytes))
			return true;
	for (unsigned i = 0; i < r->n_globs; i++)
		if (inv_glob(r->text + r->globs[i], (const char *)key.bytes,
			     key.len))
			return true;
	return false;
}

static bool is_like(const struct inv_redact *r, uint16_t at,
		    struct inv_redact_name name)
{
	return inv_glob(r->text + at, (const char *)name.bytes, name.len);
}

unsigned inv_redact_atom(const struct inv_redact *r, const uint8_t *name,
			 size_t len)
{
	struct inv_redact_name n = { name, len };
	unsigned verdict = 0;

	if (inv_redact_key(r, name, len))
		verdict |= INV_REDACT_IS_KEY;
	for (unsigned i = 0; i < r->n_functions; i++)
		if (is_like(r, r->functions[i].function, n))
			verdict |= INV_REDACT_IS_FUNCTION;
	for (unsigned i = 0; i < r->n_records; i++)
		if (is_like(r, r->records[i].tag, n))
			verdict |= INV_REDACT_IS_RECORD;
	return verdict;
}

bool inv_redact_calls(const struct inv_redact *r,
		      const struct inv_redact_name name[2], uint32_t arity,
		      struct inv_redact_call *call)
{
	*call = (struct inv_redact_call){ .any = false };
	for (unsigned i = 0; i < r->n_functions; i++) {
		const struct inv_redact_function *f = &r->functions[i];

		if ((f->arity >= 0 && (uint32_t)f->arity != arity) ||
		    !is_like(r, f->function, name[1]) ||
		    !is_like(r, f->module, name[0]))
			continue;
		call->any = true;
		call->result |= f->result;
		call->args |= f->args;
	}
	return call->any;
}

inv_redact_set inv_redact_fields(const struct inv_redact *r,
				 struct inv_redact_name tag, uint32_t arity)
{
	inv_redact_set set = 0;
	bool known = false;
	bool later = false;

	for (unsigned i = 0; i < r->n_records; i++) {
		const struct inv_redact_record *x = &r->records[i];

		if (arity < x->arity || arity > (x->to ? x->to : x->arity) ||
		    !is_like(r, x->tag, tag))
			continue;
		if (x->to) {
			later = true;
		} else {
			known = true;
			set |= x->fields;
		}
	}
	return later && !known ? ~(inv_redact_set)1 : set;
}

/* --- reading rules -------------------------------------------------------- */

struct reader {
	struct inv_redact *r;
	const struct inv_records *records;
	struct inv_err *err;
	const char *p;
	const char *end;
	const char *rule; /* where the rule begins in the text */
	bool unknown;	  /* accept rules for a record without a definition */
};

static int fail(struct reader *in, const char *why)
{
	const char *end = in->rule;
	unsigned open = 0;
	int len;

	/* The message shows the rule, which ends at a comma outside of
	 * brackets. */
	for (; end < in->end && (open || *end != ','); end++)
		if (*end == '(' || *end == '{')
			open++;
		else if (open && (*end == ')' || *end == '}'))
			open--;
	len = end - in->rule < 80 ? (int)(end - in->rule) : 80;
	return inv_err_set(in->err, INV_EINVAL, "%.*s: %s", len, in->rule, why);
}

static void skip_space(struct reader *in)
{
	while (in->p < in->end && (*in->p == ' ' || *in->p == '\t' ||
				   *in->p == '\n' || *in->p == '\r'))
		in->p++;
}

/* If `text' comes next, skips it and the space around it, and returns true. */
static bool take(struct reader *in, const char *text)
{
	size_t n = strlen(text);

	skip_space(in);
	if ((size_t)(in->end - in->p) < n || memcmp(in->p, text, n) != 0)
		return false;
	in->p += n;
	skip_space(in);
	return true;
}

static bool at_end(struct reader *in)
{
	skip_space(in);
	return in->p == in->end || *in->p == ',';
}

/* Reads a name. If it is not in quotes, it ends before the first character that
 * is in `stop'. */
static bool get_name(struct reader *in, const char *stop,
		     struct inv_redact_name *name)
{
	const char *from;

	skip_space(in);
	from = in->p;
	if (in->p < in->end && *in->p == '\'') {
		from++;
		in->p++;
		while (in->p < in->end && *in->p != '\'')
			in->p++;
		if (in->p == in->end)
			return false;
		*name = (struct inv_redact_name){ (const uint8_t *)from,
						  (size_t)(in->p - from) };
		in->p++;
		return name->len > 0;
	}
	while (in->p < in->end && *in->p && !strchr(stop, *in->p))
		in->p++;
	*name = (struct inv_redact_name){ (const uint8_t *)from,
					  (size_t)(in->p - from) };
	return name->len > 0;
}

static bool get_number(struct reader *in, uint32_t most, uint32_t *n)
{
	const char *from = in->p;

	for (*n = 0; in->p < in->end && *in->p >= '0' && *in->p <= '9';
	     in->p++) {
		*n = *n * 10 + (uint32_t)(*in->p - '0');
		if (*n > most)
			return false;
	}
	return in->p > from;
}

/* Appends one string to r->text: the text `before' and then the name. Sets *at
 * to the string's offset. */
static int store(struct reader *in, const char *before,
		 struct inv_redact_name name, uint16_t *at)
{
	struct inv_redact *r = in->r;
	size_t n = strlen(before);

	if (memchr(name.bytes, 0, name.len))
		return fail(in, "a name cannot contain a NUL");
	if (n + name.len + 1 > (size_t)(INV_REDACT_TEXT - r->text_len))
		return inv_err_set(in->err, INV_ETOOBIG,
				   "the names in the rules are longer than %u "
				   "bytes",
				   INV_REDACT_TEXT);
	*at = r->text_len;
	memcpy(r->text + r->text_len, before, n);
	memcpy(r->text + r->text_len + n, name.bytes, name.len);
	r->text_len = (uint16_t)(r->text_len + n + name.len);
	r->text[r->text_len++] = 0;
	return 0;
}

static int too_many(struct reader *in, unsigned most, const char *what)
{
	return inv_err_set(in->err, INV_ETOOBIG, "more than %u %s", most, what);
}

static int add_key(struct reader *in, struct inv_redact_name name)
{
	struct inv_redact *r = in->r;
	struct key key;
	bool glob = memchr(name.bytes, '*', name.len) != NULL;
	uint16_t *n = glob ? &r->n_globs : &r->n_keys;
	struct inv_redact_name text = { key.bytes, 0 };
	int rc;

	if (!normal(&key, name.bytes, name.len) || !key.len)
		return fail(in, "a key has from 1 to 255 characters, beside - "
				"and _");
	if (*n == INV_REDACT_KEYS)
		return too_many(in, INV_REDACT_KEYS, "keys");
	text.len = key.len;
	rc = store(in, "", text, glob ? &r->globs[*n] : &r->keys[*n]);
	if (rc)
		return rc;
	if (!glob) {
		*first_of(r, key.len) |= 1u << (key.bytes[0] & 31);
		r->firsts |= 1u << (key.bytes[0] & 31);
		r->lasts |= 1u << (key.bytes[key.len - 1] & 31);
	}
	(*n)++;
	return 0;
}

/* --- records -------------------------------------------------------------- */

/* Returns the rule for the record `tag' whose fields `arity' and `to' have
 * exactly these values, or NULL if there is none. */
static struct inv_redact_record *same_record(struct inv_redact *r,
					     struct inv_redact_name tag,
					     uint32_t arity, uint32_t to)
{
	for (unsigned i = 0; i < r->n_records; i++) {
		struct inv_redact_record *x = &r->records[i];
		const char *name = r->text + x->tag;

		if (x->arity == arity && x->to == to &&
		    strlen(name) == tag.len &&
		    !memcmp(name, tag.bytes, tag.len))
			return x;
	}
	return NULL;
}

static int add_record(struct reader *in, struct inv_redact_name tag,
		      uint32_t arity, uint32_t to, inv_redact_set fields)
{
	struct inv_redact *r = in->r;
	struct inv_redact_record *x = same_record(r, tag, arity, to);
	int rc;

	if (x) {
		x->fields |= fields;
		return 0;
	}
	if (r->n_records == INV_REDACT_RECORDS)
		return too_many(in, INV_REDACT_RECORDS,
				"arities of records with redacted fields");
	x = &r->records[r->n_records];
	rc = store(in, "", tag, &x->tag);
	if (rc)
		return rc;
	x->arity = arity;
	x->to = to;
	x->fields = fields;
	r->n_records++;
	return 0;
}

static inv_redact_set bit(uint32_t n)
{
	return (inv_redact_set)1 << (n < 63 ? n : 63);
}

/* Parses the rest of #user/4.3 or #user/5-8. */
static int record_by_number(struct reader *in, struct inv_redact_name tag)
{
	bool ok = false;
	uint32_t arity;
	uint32_t n;

	if (get_number(in, ARITY_MAX, &arity)) {
		if (take(in, "-") && get_number(in, ARITY_MAX, &n) &&
		    arity >= 2 && n >= arity)
			return add_record(in, tag, arity, n, 0);
		ok = take(in, ".") && get_number(in, ARITY_MAX, &n) && n >= 2 &&
		     n <= arity;
	}
	if (!ok)
		return fail(in, "a record without a definition is written "
				"#name/4.3: the third of the four elements of "
				"its tuple");
	return add_record(in, tag, arity, 0, bit(n - 1));
}

static const struct inv_record_def *find(struct reader *in,
					 struct inv_redact_name tag, char *name,
					 bool *twice)
{
	memcpy(name, tag.bytes, tag.len);
	name[tag.len] = 0;
	*twice = false;
	return in->records ?
		       inv_records_find(in->records, NULL, name, true, twice) :
		       NULL;
}

static bool field_number(const struct inv_record_def *def,
			 struct inv_redact_name field, uint32_t *n)
{
	for (size_t i = 0; i < def->n; i++)
		if (strlen(def->fields[i].name) == field.len &&
		    !memcmp(def->fields[i].name, field.bytes, field.len)) {
			*n = (uint32_t)i + 1;
			return true;
		}
	return false;
}

/*
 * Parses the rest of #user.password, if `dot' is true, or of #user{password,
 * token}.
 */
static int record_by_name(struct reader *in, struct inv_redact_name tag,
			  bool dot)
{
	const struct inv_record_def *def;
	struct inv_redact_name field;
	char name[INV_REDACT_KEY_MAX * 4 + 1];
	inv_redact_set set = 0;
	bool twice;
	uint32_t n;
	int rc;

	if (tag.len >= sizeof(name))
		return fail(in, "the name of the record is too long");
	def = find(in, tag, name, &twice);
	if (!def && !(in->unknown && !twice))
		return fail(in, twice ? "the record has different definitions" :
					"the definition of the record is not "
					"known here; give it with --records, "
					"or write #name/4.3 for the third of "
					"the four elements of its tuple");
	do {
		if (!get_name(in, ", \t{}.", &field))
			return fail(in, "the name of a field is expected");
		if (def && !field_number(def, field, &n))
			return fail(in, "the record has no such field");
		if (def)
			set |= bit(n);
	} while (!dot && take(in, ","));
	if (!dot && !take(in, "}"))
		return fail(in, "} is expected");
	rc = def ? add_record(in, tag, (uint32_t)def->n + 1, 0, set) : 0;
	return def && !rc ? add_record(in, tag, 2, ARITY_MAX, 0) : rc;
}

/* Reads the definition (id, password) of a record, after its "(". Sets *keys to
 * the set of the fields whose names are keys. */
static int get_definition(struct reader *in, uint32_t *arity,
			  inv_redact_set *keys)
{
	struct inv_redact_name field;

	*arity = 1;
	*keys = 0;
	do {
		if (!get_name(in, ",() \t\r\n", &field))
			return fail(in, "the name of a field is expected");
		if (inv_redact_key(in->r, field.bytes, field.len))
			*keys |= bit(*arity);
		(*arity)++;
	} while (take(in, ","));
	return take(in, ")") ? 0 : fail(in, ") is expected");
}

/* Adds a rule for later versions of a record, which can have more fields than
 * the known versions. `largest' is the arity of the largest known version that
 * has a field whose name is a key. The rule is not for smaller arities: it
 * would also redact tuples that are no records, such as the message {user,
 * Name}. */
static int add_growth(struct reader *in, struct inv_redact_name tag,
		      uint32_t largest)
{
	return add_record(in, tag, largest + 1, largest + INV_REDACT_GROWTH, 0);
}

/* Parses the rest of #user(id, password)(id, name, password). If at least one
 * definition has a key, each definition becomes a rule for its arity. A
 * definition without a key becomes a rule, too: then the rule for later
 * versions (add_growth) does not apply to tuples of its arity. */
static int record_by_definitions(struct reader *in, struct inv_redact_name tag)
{
	const char *from = in->p;
	uint32_t largest = 0;
	inv_redact_set keys;
	uint32_t arity;
	int rc;

	do {
		rc = get_definition(in, &arity, &keys);
		if (!rc && keys && arity > largest)
			largest = arity;
	} while (!rc && take(in, "("));
	if (rc || !largest)
		return rc;
	in->p = from;
	do {
		rc = get_definition(in, &arity, &keys);
		if (!rc)
			rc = add_record(in, tag, arity, 0, keys);
	} while (!rc && take(in, "("));
	return rc ? rc : add_growth(in, tag, largest);
}

static inv_redact_set keys_of(const struct inv_redact *r,
			      const struct inv_record_def *def)
{
	inv_redact_set keys = 0;

	for (size_t i = 0; i < def->n; i++) {
		const char *name = def->fields[i].name;

		if (inv_redact_key(r, (const uint8_t *)name, strlen(name)))
			keys |= bit((uint32_t)i + 1);
	}
	return keys;
}

int inv_redact_learn(struct inv_redact *r, const struct inv_records *records,
		     const char *name, struct inv_err *err)
{
	struct inv_redact_name tag = { (const uint8_t *)name, strlen(name) };
	struct reader in = { .r = r,
			     .err = err,
			     .rule = name,
			     .p = name,
			     .end = name + tag.len };
	const struct inv_record_def *def;
	size_t largest = 0;
	int rc = 0;

	if (!r->n_keys && !r->n_globs)
		return 0;
	for (def = records->first; def; def = def->next)
		if (!strcmp(def->name, name) && def->n + 1 > largest &&
		    keys_of(r, def))
			largest = def->n + 1;
	if (!largest)
		return 0;
	for (def = records->first; !rc && def; def = def->next)
		if (!strcmp(def->name, name))
			rc = add_record(&in, tag, (uint32_t)def->n + 1, 0,
					keys_of(r, def));
	return rc ? rc : add_growth(&in, tag, (uint32_t)largest);
}

static int get_record(struct reader *in)
{
	struct inv_redact_name tag;

	if (!get_name(in, "./{}(), \t", &tag))
		return fail(in, "the name of a record is expected");
	if (take(in, "/"))
		return record_by_number(in, tag);
	if (take(in, "."))
		return record_by_name(in, tag, true);
	if (take(in, "{"))
		return record_by_name(in, tag, false);
	if (take(in, "("))
		return record_by_definitions(in, tag);
	return fail(in, "a field is expected: #name.field or #name{field}");
}

/* --- functions ------------------------------------------------------------ */

static int get_args(struct reader *in, struct inv_redact_function *f)
{
	struct inv_redact_name name;

	f->arity = 0;
	if (take(in, ")"))
		return 0;
	do {
		if (f->arity == 255)
			return fail(in, "a function has at most 255 arguments");
		if (take(in, "-"))
			f->args |= bit((uint32_t)f->arity);
		else if (!get_name(in, ",() \t", &name) ||
			 !(name.bytes[0] == '_' ||
			   (name.bytes[0] >= 'A' && name.bytes[0] <= 'Z')))
			return fail(in, "an argument is - (redacted) or _");
		f->arity++;
	} while (take(in, ","));
	return take(in, ")") ? 0 : fail(in, ") is expected");
}

/* Reads the part of a rule after M:F: arguments, an arity or a result. */
static int get_what(struct reader *in, struct inv_redact_function *f)
{
	uint32_t arity;
	bool all = true;
	int rc;

	f->arity = -1;
	if (take(in, "/")) {
		if (!get_number(in, 255, &arity))
			return fail(in, "an arity from 0 to 255 is expected "
					"after /");
		f->arity = (int16_t)arity;
	} else if (take(in, "(")) {
		all = false;
		rc = get_args(in, f);
		if (rc)
			return rc;
	}
	if (take(in, "->")) {
		if (!take(in, "-"))
			return fail(in, "- is expected after ->: it means that "
					"the result is redacted");
		f->result = true;
	} else if (all) {
		f->result = true;
		f->args = ~(inv_redact_set)0;
	}
	return f->result || f->args ? 0 :
				      fail(in, "it redacts nothing: write - in "
					       "the place of an argument");
}

static int add_function(struct reader *in, const char *before,
			struct inv_redact_name module,
			struct inv_redact_name function)
{
	struct inv_redact *r = in->r;
	struct inv_redact_function *f = &r->functions[r->n_functions];
	int rc;

	if (r->n_functions == INV_REDACT_OTHERS)
		return too_many(in, INV_REDACT_OTHERS, "functions");
	*f = (struct inv_redact_function){ .arity = -1 };
	rc = store(in, before, module, &f->module);
	if (!rc)
		rc = store(in, "", function, &f->function);
	if (!rc)
		rc = get_what(in, f);
	if (!rc)
		r->n_functions++;
	return rc;
}

/* Splits a name of Elixir, such as Shop.Cart.add, at its last dot. */
static bool split(struct inv_redact_name whole, struct inv_redact_name *module,
		  struct inv_redact_name *function)
{
	size_t n = whole.len;

	while (n > 0 && whole.bytes[n - 1] != '.')
		n--;
	*module = (struct inv_redact_name){ whole.bytes, n ? n - 1 : 0 };
	*function = (struct inv_redact_name){ whole.bytes + n, whole.len - n };
	return module->len && function->len;
}

/* Returns the text that must be added before a module's name: "Elixir." if the
 * name is written as in Elixir (Shop.Cart), otherwise "". */
static const char *prefix(struct inv_redact_name module)
{
	return module.bytes[0] >= 'A' && module.bytes[0] <= 'Z' &&
			       (module.len < 7 ||
				memcmp(module.bytes, "Elixir.", 7) != 0) ?
		       "Elixir." :
		       "";
}

/* --- rules ---------------------------------------------------------------- */

static bool is(struct inv_redact_name name, const char *word)
{
	return name.len == strlen(word) && !memcmp(name.bytes, word, name.len);
}

static int get_word(struct reader *in, struct inv_redact_name name)
{
	if (is(name, "all")) {
		in->r->all = true;
		return 0;
	}
	if (is(name, "none")) {
		memset(in->r, 0, sizeof(*in->r));
		return 0;
	}
	if (is(name, "default"))
		return inv_redact_parse(in->r, INV_REDACT_DEFAULT,
					strlen(INV_REDACT_DEFAULT), NULL,
					in->err);
	return add_key(in, name);
}

static int get_rule(struct reader *in)
{
	struct inv_redact_name name, module, function;
	bool quoted;

	in->rule = in->p;
	if (take(in, "#"))
		return get_record(in);
	quoted = in->p < in->end && *in->p == '\'';
	if (!get_name(in, ",:/(){}#' \t\r\n", &name))
		return fail(in, "a rule is expected: all, none, a key, "
				"#record.field, or m:f(_, -)");
	if (at_end(in))
		return quoted ? add_key(in, name) : get_word(in, name);
	if (take(in, ":")) {
		if (!get_name(in, ",:/(){}#' \t\r\n-", &function))
			return fail(in, "the name of a function is expected "
					"after :");
		return add_function(in, quoted ? "" : prefix(name), name,
				    function);
	}
	if (!quoted && split(name, &module, &function))
		return add_function(in, prefix(module), module, function);
	return fail(in, "neither a key, #record.field nor m:f(_, -); a key "
			"with other characters is written 'in quotes'");
}

int inv_redact_parse(struct inv_redact *r, const char *text, size_t len,
		     const struct inv_records *records, struct inv_err *err)
{
	struct reader in = { .r = r,
			     .records = records,
			     .err = err,
			     .p = text,
			     .end = text + len };
	int rc = 0;

	skip_space(&in);
	if (in.p == in.end)
		return 0;
	do {
		skip_space(&in);
		rc = get_rule(&in);
		if (!rc && !at_end(&in))
			rc = fail(&in, "a comma is expected after the rule");
	} while (!rc && take(&in, ","));
	return rc;
}

/* Appends the rules for records as text: #'tag'/arity.n for each redacted
 * field, and #'tag'/from-to for a range of arities. */
static void put_records(struct inv_buf *out, const struct inv_redact *r)
{
	const char *sep = "";

	for (unsigned n = 0; n < r->n_records; n++) {
		const struct inv_redact_record *x = &r->records[n];
		const char *tag = r->text + x->tag;

		if (x->to) {
			inv_buf_printf(out, "%s#'%s'/%u-%u", sep, tag, x->arity,
				       x->to);
			sep = ",";
		}
		for (uint32_t i = 1; i < x->arity && i < 64; i++)
			if (x->fields >> i & 1) {
				inv_buf_printf(out, "%s#'%s'/%u.%u", sep, tag,
					       x->arity, i + 1);
				sep = ",";
			}
	}
}

int inv_redact_next(const char **text, const struct inv_records *records,
		    struct inv_buf *out, struct inv_err *err)
{
	struct inv_redact *r;
	struct reader in = { .records = records,
			     .err = err,
			     .p = *text,
			     .end = *text + strlen(*text),
			     .unknown = true };
	int rc;

	skip_space(&in);
	if (in.p == in.end)
		return INV_END;
	r = in.r = inv_alloc(sizeof(*r));
	if (!r)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	memset(r, 0, sizeof(*r));
	rc = get_rule(&in);
	if (!rc && !at_end(&in))
		rc = fail(&in, "a comma is expected after the rule");
	if (!rc && r->n_records)
		put_records(out, r);
	else if (!rc)
		inv_buf_put(out, in.rule, (size_t)(in.p - in.rule));
	inv_free(r);
	if (!rc && take(&in, ",") && in.p == in.end)
		rc = fail(&in, "a rule is expected after the comma");
	*text = in.p;
	return rc ? rc : out->error;
}
