/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/etf_text.h"
#include "node/tls.h"
#include "term/tree_text.h"

#define FILE_MAX 65536
#define WORDS_MAX 65536

/* --- values --------------------------------------------------------------- */

/* Copies the text of a string or binary. Returns false if the term is neither,
 * or the text contains a byte 0 or is too long. */
static bool text_of(inv_word t, char *out, size_t size)
{
	const inv_word *bits = inv_box_of(t, INV_BOX_BITS);
	size_t n = 0;

	if (bits) {
		n = inv_box_n(bits) / 8;
		if (inv_box_n(bits) % 8 || bits[2] || n >= size)
			return false;
		memcpy(out, inv_box_ptr(bits, 1), n);
		out[n] = '\0';
		return n > 0 && strlen(out) == n;
	}
	for (; inv_is_cons(t); t = inv_cons(t)[1]) {
		int64_t c;

		if (!inv_word_i64(inv_cons(t)[0], &c) || c < 1 || c > 255 ||
		    n + 1 >= size)
			return false;
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return t == INV_NIL && n > 0;
}

/* Reads a pair {Key, Value}, whose key is an atom. */
static bool pair_of(inv_word t, inv_word *key, inv_word *value)
{
	const inv_word *b = inv_box_of(t, INV_BOX_TUPLE);

	if (!b || inv_box_n(b) != 2 || !inv_box_of(b[1], INV_BOX_ATOM))
		return false;
	*key = b[1];
	*value = b[2];
	return true;
}

static void name_of(inv_word atom, char *out, size_t size)
{
	const inv_word *b = inv_box_of(atom, INV_BOX_ATOM);

	inv_plain_text(out, size, inv_box_ptr(b, 1), inv_box_n(b));
}

/* Returns true if a pair before the cell `at' of the list has the same key. A
 * file that repeats a key is refused: Erlang would use the first pair, but
 * people expect the last pair. */
static bool is_repeated(inv_word list, inv_word at, inv_word key)
{
	const inv_word *k = inv_box_of(key, INV_BOX_ATOM);
	inv_word other;
	inv_word value;

	for (; list != at; list = inv_cons(list)[1]) {
		const inv_word *b;

		if (!pair_of(inv_cons(list)[0], &other, &value))
			continue;
		b = inv_box_of(other, INV_BOX_ATOM);
		if (inv_box_n(b) == inv_box_n(k) &&
		    memcmp(inv_box_ptr(b, 1), inv_box_ptr(k, 1),
			   inv_box_n(k)) == 0)
			return true;
	}
	return false;
}

static int repeated(inv_word key, struct inv_err *err)
{
	char name[64];

	name_of(key, name, sizeof(name));
	return inv_err_set(err, INV_EINVAL, "it has %s twice", name);
}

static bool is_one_of(inv_word key, const char *const *names)
{
	for (; *names; names++)
		if (inv_word_is(key, *names))
			return true;
	return false;
}

/* --- options -------------------------------------------------------------- */

/* Options that are ignored. Some have no effect on a client. Others restrict
 * what client and node may agree on; the node has its own options for that. */
static const char *const without_effect[] = {
	"ciphers",
	"client_renegotiation",
	"eccs",
	"fail_if_no_peer_cert",
	"handshake_timeout",
	"hibernate_after",
	"honor_cipher_order",
	"honor_ecc_order",
	"key_update_at",
	"ktls",
	"log_alert",
	"log_level",
	"protocol",
	"reuse_session",
	"reuse_sessions",
	"secure_renegotiate",
	"session_tickets",
	"signature_algs",
	"signature_algs_cert",
	"supported_groups",
	NULL,
};

static int bad_value(inv_word key, const char *needs, struct inv_err *err)
{
	char name[64];

	name_of(key, name, sizeof(name));
	return inv_err_set(err, INV_EINVAL, "the value of %s is not %s", name,
			   needs);
}

static int set_path(char *out, inv_word key, inv_word value,
		    struct inv_err *err)
{
	return text_of(value, out, INV_TLS_PATH_MAX) ?
		       0 :
		       bad_value(key, "the path of a file", err);
}

static int set_verify(struct inv_tls_opts *o, inv_word key, inv_word value,
		      struct inv_err *err)
{
	o->verify = inv_word_is(value, "verify_peer");
	o->verify_said = true;
	if (!o->verify && !inv_word_is(value, "verify_none"))
		return bad_value(key, "verify_peer or verify_none", err);
	return 0;
}

static int set_versions(struct inv_tls_opts *o, inv_word key, inv_word list,
			struct inv_err *err)
{
	o->tls12 = o->tls13 = false;
	for (; inv_is_cons(list); list = inv_cons(list)[1]) {
		o->tls12 |= inv_word_is(inv_cons(list)[0], "tlsv1.2");
		o->tls13 |= inv_word_is(inv_cons(list)[0], "tlsv1.3");
	}
	if (list != INV_NIL || (!o->tls12 && !o->tls13))
		return bad_value(key, "a list with 'tlsv1.2' or 'tlsv1.3'",
				 err);
	return 0;
}

static int set_depth(struct inv_tls_opts *o, inv_word key, inv_word value,
		     struct inv_err *err)
{
	int64_t i;

	if (!inv_word_i64(value, &i) || i < 0 || i > 255)
		return bad_value(key, "a number from 0 to 255", err);
	o->depth = (int)i;
	return 0;
}

static int set(struct inv_tls_opts *o, inv_word key, inv_word value,
	       struct inv_err *err)
{
	char name[64];

	if (inv_word_is(key, "certfile"))
		return set_path(o->cert, key, value, err);
	if (inv_word_is(key, "keyfile"))
		return set_path(o->key, key, value, err);
	if (inv_word_is(key, "cacertfile"))
		return set_path(o->ca, key, value, err);
	if (inv_word_is(key, "password"))
		return text_of(value, o->password, sizeof(o->password)) ?
			       0 :
			       bad_value(key, "a string", err);
	if (inv_word_is(key, "verify"))
		return set_verify(o, key, value, err);
	if (inv_word_is(key, "versions"))
		return set_versions(o, key, value, err);
	if (inv_word_is(key, "depth"))
		return set_depth(o, key, value, err);
	if (is_one_of(key, without_effect))
		return 0;
	name_of(key, name, sizeof(name));
	return inv_err_set(err, INV_EINVAL,
			   "its client option %s is not supported; give "
			   "--tls-cert, --tls-key and --tls-ca instead of the "
			   "file, or a file without it",
			   name);
}

static int set_all(struct inv_tls_opts *o, inv_word list, struct inv_err *err)
{
	inv_word begin = list;
	inv_word key;
	inv_word value;

	for (; inv_is_cons(list); list = inv_cons(list)[1]) {
		int r;

		if (!pair_of(inv_cons(list)[0], &key, &value))
			return inv_err_set(err, INV_EINVAL,
					   "a client option is not a pair "
					   "{Key, Value}");
		r = is_repeated(begin, list, key) ? repeated(key, err) :
						    set(o, key, value, err);
		if (r < 0)
			return r;
	}
	return list == INV_NIL ? 0 :
				 inv_err_set(err, INV_EINVAL,
					     "the client options are not a "
					     "list");
}

/* --- the file ------------------------------------------------------------- */

static int sections(struct inv_tls_opts *o, inv_word list, struct inv_err *err)
{
	inv_word begin = list;
	inv_word key;
	inv_word value;
	char name[64];
	int r = 0;

	for (; r == 0 && inv_is_cons(list); list = inv_cons(list)[1]) {
		if (!pair_of(inv_cons(list)[0], &key, &value))
			return inv_err_set(err, INV_EINVAL,
					   "it is not a list of {server, "
					   "Options} and {client, Options}");
		if (is_repeated(begin, list, key))
			return repeated(key, err);
		if (inv_word_is(key, "client")) {
			r = set_all(o, value, err);
		} else if (!inv_word_is(key, "server")) {
			name_of(key, name, sizeof(name));
			return inv_err_set(err, INV_EINVAL,
					   "%s is neither server nor client",
					   name);
		}
	}
	if (r == 0 && list != INV_NIL)
		r = inv_err_set(err, INV_EINVAL,
				"it is not a list of {server, Options} and "
				"{client, Options}");
	return r;
}

int inv_tls_optfile_parse(struct inv_tls_opts *o, const char *text,
			  struct inv_err *err)
{
	inv_word *words = malloc(WORDS_MAX * sizeof(*words));
	struct inv_heap h = { .w = words, .cap = WORDS_MAX };
	inv_word list;
	int r;

	if (!words)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	/* If the file has no value of `verify', the default of OTP 25
	 * applies. */
	o->verify = false;
	r = inv_tree_parse(&h, text, &list, err);
	if (r == 0)
		r = sections(o, list, err);
	else if (err)
		err->code = INV_EINVAL;
	explicit_bzero(words, h.used * sizeof(*words));
	free(words);
	return r < 0 ? INV_EINVAL : 0;
}

static int read_file(const char *file, char *text, struct inv_err *err)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t n = 0;
	ssize_t r = fd < 0 ? -1 : 0;

	while (fd >= 0 && n < FILE_MAX &&
	       (r = read(fd, text + n, FILE_MAX - n)) > 0)
		n += (size_t)r;
	if (r < 0)
		inv_err_sys(err, errno, "--tls-optfile %s", file);
	if (fd >= 0)
		close(fd);
	text[n] = '\0';
	if (r < 0)
		return INV_EIO;
	if (n == FILE_MAX || strlen(text) != n)
		return inv_err_set(err, INV_EINVAL,
				   "--tls-optfile %s: this is not a text of at "
				   "most %d bytes",
				   file, FILE_MAX);
	return 0;
}

int inv_tls_optfile(struct inv_tls_opts *o, const char *file,
		    struct inv_err *err)
{
	char *text = malloc(FILE_MAX + 1);
	int r;

	if (!text)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	r = read_file(file, text, err);
	if (r == 0) {
		r = inv_tls_optfile_parse(o, text, err);
		if (r < 0)
			inv_err_ctx(err, "--tls-optfile %s", file);
	}
	explicit_bzero(text, FILE_MAX);
	free(text);
	return r;
}
