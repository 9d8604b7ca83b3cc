/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints terms in Elixir's syntax.
 *
 * The form in which a list is printed depends on all its elements: whether it
 * is a keyword list is known only at its end. The same is true for maps and
 * structs. So a container is read twice. First look() finds the form (enum
 * class) of the container and of all containers inside it. Then the container
 * is read again and printed.
 */
#include "term/print_int.h"

/* The form in which a container is printed. */
enum class {
	PLAIN,
	CHARS,	  /* a list as ~c"abc" */
	KEYWORDS, /* a list as [a: 1], or a map as %{a: 1} */
	STRUCT,	  /* a map as %Shop.Cart{a: 1} */
};

struct shape {
	const uint8_t *name; /* STRUCT: the module; points into the cursor's
			      * bytes */
	uint16_t len;
	uint8_t class;
};

/* An open container. */
struct level {
	uint32_t shape; /* index in `shapes' of the container's shape */
	uint32_t n;	/* how many elements were read */
	uint8_t kind;
	/* The next four fields are used only by look(). */
	bool chars;	   /* all elements so far are characters */
	bool keywords;	   /* a list: all elements so far are pairs whose keys
			      are atoms; a map: all keys so far are atoms */
	bool is_struct;	   /* the last key was __struct__ */
	bool is_exception; /* the last key was __exception__ */
	bool bare; /* when printing: a pair of a keyword list, printed without
		    * brackets */
};

struct printer {
	struct inv_cursor *c;
	struct inv_buf *out;
	const struct inv_print_opts *o;
	struct inv_buf shapes; /* an array of struct shape, one for each
				* container, in the order in which containers
				* begin */
	struct inv_buf levels; /* a stack of struct level, the innermost last */
	uint32_t outside;      /* depth of the cursor outside the term */
	uint32_t next;	       /* when printing: index in `shapes' of the next
				  container */
};

static struct level *innermost(const struct printer *x)
{
	return x->levels.len ? (struct level *)(void *)(x->levels.data +
							x->levels.len) -
				       1 :
			       NULL;
}

static struct shape *shape_at(const struct printer *x, uint32_t i)
{
	return (struct shape *)(void *)x->shapes.data + i;
}

static int push(struct printer *x, const struct level *l)
{
	inv_buf_put(&x->levels, l, sizeof(*l));
	return x->levels.error;
}

static void pop(struct printer *x)
{
	x->levels.len -= sizeof(struct level);
}

/* --- classes -------------------------------------------------------------- */

static bool is_key(const struct inv_token *tok)
{
	return tok->kind == INV_TOK_ATOM &&
	       inv__elixir_is_key(tok->bytes, tok->len);
}

/* Returns true if the bytes at p stay valid when the cursor moves. Bytes that
 * the cursor has converted, in its scratch memory, do not stay valid. */
static bool stays(const struct inv_cursor *c, const uint8_t *p)
{
	return p < &c->scratch[0][0] ||
	       p >= &c->scratch[0][0] + sizeof(c->scratch);
}

static void look_at_pair(struct printer *x, struct level *l,
			 const struct inv_token *tok)
{
	bool value = l->n % 2;

	if (!value) {
		l->keywords = l->keywords && is_key(tok);
		l->is_struct = inv_token_is(tok, "__struct__");
		l->is_exception = inv_token_is(tok, "__exception__");
	} else if (l->is_exception) {
		l->keywords = l->keywords && inv_token_is(tok, "true");
	} else if (l->is_struct && tok->kind == INV_TOK_ATOM &&
		   inv__elixir_is_alias(tok->bytes, tok->len) &&
		   stays(x->c, tok->bytes)) {
		struct shape *s = shape_at(x, l->shape);

		s->name = tok->bytes;
		s->len = (uint16_t)tok->len;
	}
}

/* The tuple l cannot be a pair of a keyword list. So if a list is around it,
 * this list is not a keyword list. */
static void not_a_pair(struct printer *x, struct level *l)
{
	if (x->levels.len > sizeof(*l) && l[-1].kind == INV_TOK_LIST)
		l[-1].keywords = false;
}

/* Updates what is known about the innermost container when tok, its next
 * element, is read. */
static void look_at(struct printer *x, const struct inv_token *tok)
{
	struct level *l = innermost(x);

	if (!l)
		return;
	if (tok->kind == INV_TOK_CUT) {
		if (l->kind == INV_TOK_TUPLE && !l->n)
			not_a_pair(x, l);
		return;
	}
	switch (l->kind) {
	case INV_TOK_LIST:
		l->chars = l->chars && tok->kind == INV_TOK_INT &&
			   tok->sep != INV_SEP_BAR &&
			   inv__elixir_is_char(tok->i);
		l->keywords = l->keywords && tok->kind == INV_TOK_TUPLE &&
			      tok->sep != INV_SEP_BAR && tok->count == 2;
		break;
	case INV_TOK_MAP:
		look_at_pair(x, l, tok);
		break;
	default:
		/* A tuple is a pair of a keyword list only if its first element
		 * can be a key. */
		if (!l->n && !is_key(tok))
			not_a_pair(x, l);
		break;
	}
	l->n++;
}

static int look_open(struct printer *x, const struct inv_token *tok)
{
	const struct shape s = { .class = PLAIN };
	const struct level l = {
		.shape = (uint32_t)(x->shapes.len / sizeof(s)),
		.kind = tok->kind,
		.chars = true,
		.keywords = true,
	};

	inv_buf_put(&x->shapes, &s, sizeof(s));
	return x->shapes.error ? x->shapes.error : push(x, &l);
}

static void look_close(struct printer *x)
{
	const struct level *l = innermost(x);
	struct shape *s = shape_at(x, l->shape);

	if (l->kind == INV_TOK_MAP)
		s->class = !l->keywords || !l->n ? PLAIN :
			   s->name		 ? STRUCT :
						   KEYWORDS;
	else if (l->kind == INV_TOK_LIST && l->n)
		s->class = l->chars ? CHARS : l->keywords ? KEYWORDS : PLAIN;
	pop(x);
}

/* Reads the container whose first token was just read, up to its END, and finds
 * the shapes of this container and of all containers inside it. */
static int look(struct printer *x, const struct inv_token *first)
{
	struct inv_token tok = *first;
	int rc = look_open(x, first);

	while (!rc && x->c->depth > x->outside) {
		rc = inv_cursor_next(x->c, &tok);
		if (rc)
			break;
		if (tok.kind == INV_TOK_END) {
			look_close(x);
			continue;
		}
		look_at(x, &tok);
		if (inv__print_is_open(&tok))
			rc = look_open(x, &tok);
	}
	x->levels.len = 0;
	return rc;
}

/* The state of the cursor after it read the first token of a container. */
struct place {
	struct inv_cursor_frame frame;
	struct inv_dict_function function;
	const uint8_t *p;
	uint32_t depth;
	uint8_t pending;
	bool with_args;
};

static struct place place_of(const struct inv_cursor *c)
{
	return (struct place){
		.frame = c->stack[c->depth - 1],
		.function = c->function,
		.p = c->p,
		.depth = c->depth,
		.pending = c->pending,
		.with_args = c->with_args,
	};
}

static void go_back(struct inv_cursor *c, const struct place *to)
{
	c->p = to->p;
	c->depth = to->depth;
	c->stack[to->depth - 1] = to->frame;
	c->pending = to->pending;
	c->with_args = to->with_args;
	c->function = to->function;
	c->error = 0;
}

/* Reads the container and finds its shape, as look() does, and then sets the
 * cursor back to the place after the container's first token. */
static int look_ahead(struct printer *x, const struct inv_token *first)
{
	const struct place at = place_of(x->c);
	int rc = look(x, first);

	go_back(x->c, &at);
	return rc == INV_ENOMEM ? rc : 0;
}

/* --- printing ------------------------------------------------------------- */

static void put_id(struct printer *x, const struct inv_token *tok,
		   const char *what)
{
	inv_buf_puts(x->out, what);
	inv_buf_u64(x->out, tok->node);
	for (unsigned i = 0; i < (tok->kind == INV_TOK_PID  ? 2u :
				  tok->kind == INV_TOK_PORT ? 1u :
							      tok->n_ids);
	     i++) {
		inv_buf_putc(x->out, '.');
		inv_buf_u64(x->out, tok->id[i]);
	}
	inv_buf_putc(x->out, '>');
}

static void put_fun(struct inv_buf *out, const uint8_t *module, size_t len)
{
	inv_buf_puts(out, " in ");
	inv__elixir_atom(module, len, out);
	inv_buf_putc(out, '>');
}

/* Prints the VM's text of a fun: #Fun<m.1.2> as #Function<1.2 in :m>, fun m:f/1
 * as &:m.f/1, and any other text unchanged. */
static void put_text(struct printer *x, const struct inv_token *tok)
{
	const uint8_t *p = tok->bytes + 5, *end = tok->bytes + tok->len - 1;
	const uint8_t *at = end;

	if (tok->len > 6 && !memcmp(tok->bytes, "#Fun<", 5) && *end == '>') {
		for (int dots = 0; at > p && dots < 2; dots += *at == '.') {
			at--;
			if (*at != '.' && (*at < '0' || *at > '9'))
				break;
		}
		if (at > p && *at == '.') {
			inv_buf_puts(x->out, "#Function<");
			inv_buf_put(x->out, at + 1, (size_t)(end - at - 1));
			put_fun(x->out, p, (size_t)(at - p));
			return;
		}
	}
	if (tok->len > 4 && !memcmp(tok->bytes, "fun ", 4)) {
		size_t len = x->out->len;

		inv_buf_putc(x->out, '&');
		if (inv_term_print_translated((const char *)tok->bytes + 4,
					      tok->len - 4, x->out))
			return;
		x->out->len = len;
	}
	inv__print_text(tok->bytes, tok->len, x->out, x->o);
}

static void put_hole(struct inv_buf *out, const struct inv_token *tok)
{
	if (tok->cut == INV_CUT_MAP) {
		inv_buf_puts(out, "%{");
		inv__print_cut(tok->cut, tok->left, out);
		inv_buf_putc(out, '}');
		return;
	}
	inv__print_hole(tok->cut, tok->left, out);
}

/* Prints a token that neither opens nor closes a container. */
static void put_scalar(struct printer *x, const struct inv_token *tok)
{
	struct inv_buf *out = x->out;

	switch (tok->kind) {
	case INV_TOK_ATOM:
		inv__elixir_atom(tok->bytes, tok->len, out);
		return;
	case INV_TOK_PID:
		put_id(x, tok, "#PID<");
		return;
	case INV_TOK_PORT:
		put_id(x, tok, "#Port<");
		return;
	case INV_TOK_REF:
		put_id(x, tok, "#Reference<");
		return;
	case INV_TOK_BINARY:
		inv__elixir_binary(tok, out);
		return;
	case INV_TOK_STRING:
		inv__elixir_charlist(tok, out);
		return;
	case INV_TOK_EXPORT:
		inv_buf_putc(out, '&');
		inv__elixir_atom(tok->bytes, tok->len, out);
		inv_buf_putc(out, '.');
		inv__elixir_function(tok->bytes2, tok->len2, out);
		inv_buf_putc(out, '/');
		inv_buf_u64(out, tok->count);
		return;
	case INV_TOK_FUN:
		inv_buf_puts(out, "#Function<");
		inv_buf_i64(out, (int64_t)tok->id[0]);
		inv_buf_putc(out, '.');
		inv_buf_i64(out, (int64_t)tok->id[1]);
		put_fun(out, tok->bytes, tok->len);
		return;
	case INV_TOK_TEXT:
		put_text(x, tok);
		return;
	case INV_TOK_HOLE:
		put_hole(out, tok);
		return;
	default:
		inv__print_token(tok, false, out, x->o);
		return;
	}
}

/* Prints the elements of a list of characters, and reads its END. */
static int put_chars(struct printer *x)
{
	struct inv_token tok;
	uint32_t ch = 0;
	bool any = false;
	int rc;

	inv_buf_puts(x->out, "~c\"");
	while (!(rc = inv_cursor_next(x->c, &tok)) && tok.kind == INV_TOK_INT) {
		if (any)
			inv__elixir_char(ch, (uint32_t)tok.i, x->out);
		ch = (uint32_t)tok.i;
		any = true;
	}
	if (any)
		inv__elixir_char(ch, 0, x->out);
	inv_buf_putc(x->out, '"');
	if (!rc && tok.kind == INV_TOK_CUT) {
		inv__print_cut(tok.cut, tok.left, x->out);
		rc = inv_cursor_next(x->c, &tok);
	}
	return rc;
}

/* Skips the rest of the container that was just opened, and the entries of
 * x->shapes for the containers inside it. */
static int skip(struct printer *x)
{
	uint32_t depth = x->c->depth - 1;
	struct inv_token tok;
	int rc = 0;

	while (!rc && x->c->depth > depth) {
		rc = inv_cursor_next(x->c, &tok);
		x->next += !rc && inv__print_is_open(&tok);
	}
	return rc;
}

static const char *opening(const struct inv_token *tok)
{
	return tok->kind == INV_TOK_MAP	  ? "%{" :
	       tok->kind == INV_TOK_TUPLE ? "{" :
					    "[";
}

static const char *closing(unsigned kind)
{
	return kind == INV_TOK_LIST ? "]" : "}";
}

/* Returns true if tok opens a tuple that is a pair of a keyword list. */
static bool is_bare(const struct printer *x, const struct inv_token *tok)
{
	const struct level *l = innermost(x);

	return l && tok->kind == INV_TOK_TUPLE && l->kind == INV_TOK_LIST &&
	       shape_at(x, l->shape)->class == KEYWORDS;
}

/* If the struct that was just opened is a range, a date or a time, prints it as
 * 1..9 or ~D[2026-11-25], reads its END, and returns true. */
static bool put_sigil(struct printer *x, const struct shape *s)
{
	const struct place at = place_of(x->c);
	uint32_t inside;

	if (!inv__elixir_sigil(x->c, s->name, s->len, &inside, x->out)) {
		go_back(x->c, &at);
		return false;
	}
	x->next += inside;
	return true;
}

static int put_open(struct printer *x, const struct inv_token *tok)
{
	const struct shape *s = shape_at(x, x->next);
	const struct level l = {
		.shape = x->next++,
		.kind = tok->kind,
		.bare = is_bare(x, tok),
	};

	if (s->class == CHARS)
		return put_chars(x);
	if (l.bare)
		return push(x, &l);
	if (s->class == STRUCT && put_sigil(x, s))
		return 0;
	if (s->class == STRUCT) {
		inv_buf_putc(x->out, '%');
		inv__elixir_atom(s->name, s->len, x->out);
		inv_buf_putc(x->out, '{');
	} else {
		inv_buf_puts(x->out, opening(tok));
	}
	if (x->o->depth && x->c->depth - x->outside > x->o->depth) {
		inv_buf_puts(x->out, "...");
		inv_buf_puts(x->out, closing(tok->kind));
		return skip(x);
	}
	return push(x, &l);
}

static void put_close(struct printer *x)
{
	struct level *l = innermost(x);

	if (!l->bare)
		inv_buf_puts(x->out, closing(l->kind));
	pop(x);
}

/* Prints the separator before tok, the next element of the container l. */
static void put_before(struct printer *x, const struct level *l,
		       const struct inv_token *tok)
{
	if (tok->sep == INV_SEP_BAR)
		inv_buf_puts(x->out, " | ");
	else if (l->kind == INV_TOK_MAP && l->n % 2)
		inv_buf_puts(x->out, shape_at(x, l->shape)->class == PLAIN ?
					     " => " :
					     "");
	else if (l->n && !l->bare)
		inv_buf_puts(x->out, ", ");
}

/* Call it after the key of a struct's pair was read into *tok. If the key is
 * __struct__ or __exception__, reads the pair's value, too, and sets *hidden to
 * true: the caller must not print this pair. For other keys, *tok is not
 * changed. */
static int hide_pair(struct printer *x, struct inv_token *tok, bool *hidden)
{
	int rc;

	*hidden = inv_token_is(tok, "__struct__") ||
		  inv_token_is(tok, "__exception__");
	if (!*hidden)
		return 0;
	rc = inv_cursor_next(x->c, tok);
	if (rc)
		return rc;
	if (inv__print_is_open(tok)) {
		x->next++;
		return skip(x);
	}
	return 0;
}

/* Prints the next element, or the end, of the innermost container. */
static int put_next(struct printer *x, struct inv_token *tok)
{
	struct level *l = innermost(x);
	const struct shape *s = shape_at(x, l->shape);
	bool hidden = false;
	bool key;
	int rc = 0;

	if (tok->kind == INV_TOK_END) {
		put_close(x);
		return 0;
	}
	key = l->kind == INV_TOK_MAP && l->n % 2 == 0;
	if (key && s->class == STRUCT)
		rc = hide_pair(x, tok, &hidden);
	if (rc || hidden)
		return rc;
	put_before(x, l, tok);
	l->n++;
	if ((key && s->class != PLAIN && tok->kind == INV_TOK_ATOM) ||
	    (l->bare && l->n == 1 && tok->kind == INV_TOK_ATOM))
		inv__elixir_key(tok->bytes, tok->len, x->out);
	else if (inv__print_is_open(tok))
		rc = put_open(x, tok);
	else
		put_scalar(x, tok);
	return rc;
}

int inv__print_elixir(struct inv_cursor *c, const struct inv_token *first,
		      struct inv_buf *out, const struct inv_print_opts *o)
{
	struct printer x = { .c = c, .out = out, .o = o };
	struct inv_token tok;
	int rc;

	if (!inv__print_is_open(first)) {
		put_scalar(&x, first);
		return out->error;
	}
	x.outside = c->depth - 1;
	rc = look_ahead(&x, first);
	if (!rc)
		rc = put_open(&x, first);
	while (!rc && c->depth > x.outside) {
		rc = inv_cursor_next(c, &tok);
		if (!rc)
			rc = put_next(&x, &tok);
	}
	inv_buf_release(&x.shapes);
	inv_buf_release(&x.levels);
	return rc ? rc : out->error;
}
