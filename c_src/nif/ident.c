/* SPDX-License-Identifier: Apache-2.0 */
#include "nif/ident.h"

#include <string.h>

#include "abi/term.h"
#include "base/likely.h"
#include "base/varint.h"
#include "nif/put.h"

/*
 * The layout of a pid's word changes between releases, but its printed form
 * does not. So pids, ports and references are read from their printed form, and
 * funs are written in their printed form. The length of a printed form is
 * bounded: the longest is that of a fun with two atoms of 255 characters, if
 * each character is printed as an escape sequence of ten bytes.
 */
#define PRINTED_MAX 5400

/* The dictionary key of another node. x is the number with which the VM prints
 * the node's pids, as in <x.88.0>. No term's word equals this key, because the
 * key's low bits are 0. */
#define NODE_KEY(x) ((uint64_t)(x) << 6)

/* Writes a definition below e->top, and moves e->top down to it. */
static bool define(struct inv_encoder *e, enum inv_def kind,
		   const uint8_t *bytes, uint32_t n)
{
	uint32_t whole = 1 + inv_varint_len(n) + n;
	uint8_t *p;

	if (!inv_put_room(e, whole))
		return false;
	e->top -= whole;
	e->limit -= whole;
	p = e->top;
	*p++ = (uint8_t)kind;
	p = inv_varint_put(p, n);
	memcpy(p, bytes, n);
	return true;
}

/* Reads at most `max' numbers in a printed pid, port or reference. Returns how
 * many it has read. */
static unsigned parse_numbers(const char *text, uint64_t *numbers, unsigned max)
{
	unsigned n = 0;

	while (*text && n < max) {
		if (*text < '0' || *text > '9') {
			text++;
			continue;
		}
		numbers[n] = 0;
		while (*text >= '0' && *text <= '9')
			numbers[n] =
				numbers[n] * 10 + (uint64_t)(*text++ - '0');
		n++;
	}
	return n;
}

static unsigned printed_numbers(ERL_NIF_TERM term, uint64_t *numbers,
				unsigned max)
{
	char text[160];

	enif_snprintf(text, sizeof(text), "%T", term);
	return parse_numbers(text, numbers, max);
}

#define ATOM_MAX INV_IDENT_NAME /* bytes of an atom's name in UTF-8 */

struct name {
	uint32_t n;
	uint8_t text[ATOM_MAX]; /* the name in UTF-8 */
};

static bool name_latin1(struct name *name, const uint8_t *p, uint32_t n)
{
	uint32_t i;

	if (n > ATOM_MAX / 2)
		return false;
	for (i = 0; i < n; i++) {
		if (p[i] < 0x80) {
			name->text[name->n++] = p[i];
			continue;
		}
		name->text[name->n++] = (uint8_t)(0xc0 | p[i] >> 6);
		name->text[name->n++] = (uint8_t)(0x80 | (p[i] & 0x3f));
	}
	return true;
}

/*
 * Reads the atom at p, in the external format: newer releases write all atoms
 * in UTF-8, older ones write Latin-1 if possible. Returns a pointer to the byte
 * after the atom, or NULL.
 */
static const uint8_t *name_read(struct name *name, const uint8_t *p,
				const uint8_t *end)
{
	enum {
		ATOM = 100,
		SMALL_ATOM = 115,
		ATOM_UTF8 = 118,
		SMALL_ATOM_UTF8 = 119
	};
	bool small;
	uint32_t n;
	uint8_t tag;

	name->n = 0;
	if (end - p < 3)
		return NULL;
	tag = *p++;
	small = tag == SMALL_ATOM || tag == SMALL_ATOM_UTF8;
	n = *p++;
	if (!small)
		n = n << 8 | *p++;
	if ((size_t)(end - p) < n)
		return NULL;
	if (tag == ATOM || tag == SMALL_ATOM)
		return name_latin1(name, p, n) ? p + n : NULL;
	if ((tag != ATOM_UTF8 && tag != SMALL_ATOM_UTF8) || n > ATOM_MAX)
		return NULL;
	memcpy(name->text, p, n);
	name->n = n;
	return p + n;
}

/*
 * Reads the name of an atom that is not ASCII, from the atom's external format:
 * in the oldest supported release, enif_get_atom knows only Latin-1.
 */
static INV_COLD bool any_name(ErlNifEnv *env, ERL_NIF_TERM term,
			      struct name *name)
{
	ErlNifBinary bin;
	bool ok;

	if (!enif_term_to_binary(env, term, &bin))
		return false;
	ok = name_read(name, bin.data + 1, bin.data + bin.size) != NULL;
	enif_release_binary(&bin);
	return ok;
}

static bool get_name(ErlNifEnv *env, ERL_NIF_TERM term, struct name *name)
{
	int n = enif_get_atom(env, term, (char *)name->text, sizeof(name->text),
			      ERL_NIF_LATIN1);
	int i;

	if (n < 1)
		return any_name(env, term, name);
	for (i = 0; i < n - 1; i++)
		if (name->text[i] >= 0x80)
			return any_name(env, term, name);
	name->n = (uint32_t)(n - 1);
	return true;
}

bool inv_ident_name(ErlNifEnv *env, ERL_NIF_TERM atom, uint8_t *name,
		    uint32_t *len)
{
	struct name n;

	if (!enif_is_atom(env, atom) || !get_name(env, atom, &n))
		return false;
	memcpy(name, n.text, n.n);
	*len = n.n;
	return true;
}

static bool define_atom(struct inv_encoder *e, ERL_NIF_TERM term)
{
	struct name name;

	return get_name(e->env, term, &name) &&
	       define(e, INV_DEF_ATOM, name.text, name.n);
}

static bool know_atom(struct inv_encoder *e, ERL_NIF_TERM term,
		      uint32_t *number)
{
	if (inv_packet_dict_find(e->dict, term, number))
		return true;
	if (!define_atom(e, term))
		return false;
	*number = inv_packet_dict_add(e->dict, term);
	return true;
}

bool inv_ident_atom(struct inv_encoder *e, ERL_NIF_TERM term)
{
	uint32_t number;

	if (inv_unlikely(e->dict == NULL))
		return inv_put_word(e, term);
	return know_atom(e, term, &number) && inv_put_entry(e, number);
}

bool inv_ident_function(struct inv_encoder *e, ERL_NIF_TERM module,
			ERL_NIF_TERM function, uint32_t arity, uint32_t *number)
{
	struct inv_known_function *known =
		inv_packet_dict_function(e->dict, module, function, arity);
	uint8_t def[3 * INV_VARINT_MAX];
	uint32_t m;
	uint32_t f;
	uint8_t *p;

	if (!know_atom(e, module, &m) || !know_atom(e, function, &f))
		return false;
	p = inv_varint_put(def, m);
	p = inv_varint_put(p, f);
	p = inv_varint_put(p, arity);
	if (!define(e, INV_DEF_FUNCTION, def, (uint32_t)(p - def)))
		return false;
	*number = e->dict->n++;
	*known =
		(struct inv_known_function){ module, function, arity, *number };
	return true;
}

struct node_def {
	uint32_t n;
	uint8_t def[2 * INV_VARINT_MAX + ATOM_MAX]; /* INV_DEF_NODE */
};

/*
 * Makes the definition of another node, whose pids this node prints as <x.1.0>.
 * `term' is a pid, port or reference of that node; its external format contains
 * the name and creation of the node.
 */
static bool read_node(ErlNifEnv *env, ERL_NIF_TERM term, uint64_t x,
		      struct node_def *d)
{
	uint8_t *p = d->def;
	const uint8_t *after = NULL;
	const uint8_t *end;
	struct name name;
	ErlNifBinary bin;
	uint32_t creation = 0;
	bool is_ref;

	if (!enif_term_to_binary(env, term, &bin))
		return false;
	end = bin.data + bin.size;
	/* The external format begins with 131 and the tag. The atom with the
	 * node's name follows. In a reference (tag 90), the number of words
	 * (u16) is in front of the atom. */
	is_ref = bin.size > 4 && bin.data[1] == 90;
	if (bin.size > 4)
		after = name_read(&name, bin.data + (is_ref ? 4 : 2), end);
	/* In a reference, the creation follows the atom; a pid or port ends
	 * with the creation. */
	if (after && end - after >= 4)
		memcpy(&creation, is_ref ? after : end - 4, 4);
	else
		after = NULL;
	enif_release_binary(&bin);
	if (!after)
		return false;
	p = inv_varint_put(p, x);
	p = inv_varint_put(p, __builtin_bswap32(creation));
	memcpy(p, name.text, name.n);
	d->n = (uint32_t)(p - d->def) + name.n;
	return true;
}

/* In kept terms: writes the definition of another node, in front of a pid, port
 * or reference of that node, unless the last definition was of the same
 * node. */
static INV_COLD bool keep_node(struct inv_encoder *e, ERL_NIF_TERM term,
			       uint64_t x)
{
	struct node_def d;

	if (e->kept_node == (uint32_t)x)
		return true;
	if (!read_node(e->env, term, x, &d) ||
	    !inv_put_code(e, INV_KEPT_NODE, d.n) ||
	    !inv_put_bytes(e, d.def, d.n))
		return false;
	e->limit += d.n;
	e->kept_node = (uint32_t)x;
	return true;
}

/* Defines the node to which `term' belongs, unless the packet has already
 * defined it. This node prints pids of that node as <x.1.0>. x is 0 for this
 * node itself, which needs no definition. */
static bool know_node(struct inv_encoder *e, ERL_NIF_TERM term, uint64_t x)
{
	struct node_def d;
	uint32_t number;

	if (x == 0)
		return true;
	if (inv_unlikely(e->dict == NULL))
		return keep_node(e, term, x);
	if (inv_packet_dict_find(e->dict, NODE_KEY(x), &number))
		return true;
	if (!read_node(e->env, term, x, &d) ||
	    !define(e, INV_DEF_NODE, d.def, d.n))
		return false;
	inv_packet_dict_add(e->dict, NODE_KEY(x));
	return true;
}

bool inv_ident_node(struct inv_encoder *e, const uint8_t *def, uint32_t n)
{
	uint32_t number;
	uint64_t x;

	if (!inv_varint_get(def, def + n, &x))
		return false;
	if (inv_packet_dict_find(e->dict, NODE_KEY(x), &number))
		return true;
	if (!define(e, INV_DEF_NODE, def, n))
		return false;
	inv_packet_dict_add(e->dict, NODE_KEY(x));
	return true;
}

/* Writes a pid, which is printed as <X.Number.Serial>. */
bool inv_ident_pid(struct inv_encoder *e, ERL_NIF_TERM term)
{
	uint8_t def[2 * INV_VARINT_MAX];
	uint64_t part[3] = { 0 };
	uint32_t number;
	uint8_t *p;
	ErlNifPid pid;

	if (enif_get_local_pid(e->env, term, &pid)) {
		if (inv_unlikely(e->dict == NULL))
			return inv_put_word(e, term);
		if (inv_packet_dict_find(e->dict, term, &number))
			return inv_put_entry(e, number);
		if (e->fresh)
			inv_fresh_add(e->fresh, term, &pid);
		printed_numbers(term, part, 3);
		p = inv_varint_put(def, part[1]);
		p = inv_varint_put(p, part[2]);
		return define(e, INV_DEF_PID, def, (uint32_t)(p - def)) &&
		       inv_put_entry(e, inv_packet_dict_add(e->dict, term));
	}
	printed_numbers(term, part, 3);
	return know_node(e, term, part[0]) &&
	       inv_put_code(e, INV_T_XPID, part[0]) &&
	       inv_put_varint(e, part[1]) && inv_put_varint(e, part[2]);
}

/* Writes a port, which is printed as #Port<X.Number>. */
bool inv_ident_port(struct inv_encoder *e, ERL_NIF_TERM term)
{
	uint8_t def[INV_VARINT_MAX];
	uint64_t part[2] = { 0 };
	uint32_t number;
	uint8_t *p;
	ErlNifPort port;

	if (enif_get_local_port(e->env, term, &port)) {
		if (inv_unlikely(e->dict == NULL))
			return inv_put_word(e, term);
		if (inv_packet_dict_find(e->dict, term, &number))
			return inv_put_entry(e, number);
		printed_numbers(term, part, 2);
		p = inv_varint_put(def, part[1]);
		return define(e, INV_DEF_PORT, def, (uint32_t)(p - def)) &&
		       inv_put_entry(e, inv_packet_dict_add(e->dict, term));
	}
	printed_numbers(term, part, 2);
	return know_node(e, term, part[0]) &&
	       inv_put_code(e, INV_T_XPORT, part[0]) &&
	       inv_put_varint(e, part[1]);
}

/* Writes a reference, which is printed as #Ref<X.Word.Word…>. */
bool inv_ident_ref(struct inv_encoder *e, ERL_NIF_TERM term)
{
	uint64_t part[1 + 5] = { 0 };
	unsigned n = printed_numbers(term, part, 6);
	unsigned i;

	if (n < 2)
		return inv_encode_hole(e);
	if (!know_node(e, term, part[0]) ||
	    !inv_put_code(e, INV_T_REF, part[0]) || !inv_put_varint(e, n - 1))
		return false;
	for (i = 1; i < n; i++)
		if (!inv_put_varint(e, part[i]))
			return false;
	return true;
}

/* Converts n bytes of Latin-1 to `wide' bytes of UTF-8, in place. */
static void widen(uint8_t *text, uint32_t n, uint32_t wide)
{
	uint8_t c;

	while (wide > n) {
		c = text[--n];
		if (c >= 0x80) {
			text[--wide] = (uint8_t)(0x80 | (c & 0x3f));
			c = (uint8_t)(0xc0 | c >> 6);
		}
		text[--wide] = c;
	}
}

/*
 * Writes a fun as the VM prints it. Printing does not read the fun's
 * environment, which can be as large as a heap. The text is too long for a
 * frame on the stack, so it is printed into the packet above its final place,
 * and then moved. The VM prints an atom that is not ASCII as Latin-1 bytes.
 */
bool inv_ident_fun(struct inv_encoder *e, ERL_NIF_TERM term)
{
	uint8_t *text = e->p + 1 + INV_VARINT_MAX;
	size_t room;
	uint32_t len;
	uint32_t wide;
	uint32_t i;

	if (!inv_put_room(e, 2 + INV_VARINT_MAX))
		return false;
	room = (size_t)(e->top - text);
	if (room > PRINTED_MAX)
		room = PRINTED_MAX;
	enif_snprintf((char *)text, room, "%T", term);
	len = wide = (uint32_t)strlen((char *)text);
	if (len + 1 == room && room < PRINTED_MAX)
		return false; /* the text may be incomplete */
	for (i = 0; i < len; i++)
		wide += text[i] >= 0x80;
	if (wide > (size_t)(e->top - text))
		return false;
	widen(text, len, wide);
	return inv_put_code(e, INV_T_TEXT, wide) &&
	       inv_put_moved(e, text, wide);
}
