/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tls_opts.h"

#include <stdio.h>
#include <string.h>

#include "cli/shell_word.h"

enum {
	OPT_OPTFILE = 0x1100,
	OPT_CERT,
	OPT_KEY,
	OPT_CA,
	OPT_NO_VERIFY,
	OPT_PLAIN,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Nodes that use TLS distribution:", 2 },
	{ "tls-optfile", OPT_OPTFILE, "FILE", 0,
	  "use TLS with the part `client' of FILE, an ssl_dist_optfile", 2 },
	{ "tls-ca", OPT_CA, "FILE", 0,
	  "use TLS; the certificates of nodes must be signed by a CA in FILE "
	  "(default: the CAs of this machine)",
	  2 },
	{ "tls-cert", OPT_CERT, "FILE", 0,
	  "use TLS; FILE is the certificate of this command", 2 },
	{ "tls-key", OPT_KEY, "FILE", 0,
	  "the key of --tls-cert (default: in the file of the certificate)",
	  2 },
	{ "tls-no-verify", OPT_NO_VERIFY, NULL, 0,
	  "use TLS; accept every certificate", 2 },
	{ "plain", OPT_PLAIN, "NODE", 0,
	  "this node does not use TLS; can be repeated, or NODE,NODE", 2 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct inv_tls_args *a = state->input;
	struct inv_err err = { 0 };

	switch (key) {
	case OPT_OPTFILE:
		a->optfile = arg;
		return 0;
	case OPT_CERT:
		a->cert = arg;
		return 0;
	case OPT_KEY:
		a->key = arg;
		return 0;
	case OPT_CA:
		a->ca = arg;
		return 0;
	case OPT_NO_VERIFY:
		a->no_verify = true;
		return 0;
	case OPT_PLAIN:
		if (inv_node_names_add(&a->plain, arg, &err))
			argp_error(state, "--plain %s: %s", arg, err.text);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp inv_tls_argp = { .options = options, .parser = parse };

bool inv_tls_args_given(const struct inv_tls_args *a)
{
	return a->optfile || a->cert || a->ca || a->no_verify;
}

void inv_tls_args_check(const struct inv_tls_args *a, struct argp_state *state)
{
	const char *const paths[] = { a->cert, a->key, a->ca };

	if (a->key && !a->cert)
		argp_error(state, "--tls-key needs --tls-cert");
	if (a->ca && a->no_verify)
		argp_error(state, "--tls-ca or --tls-no-verify, not both");
	if (a->plain.n && !inv_tls_args_given(a))
		argp_error(state, "--plain is for nodes beside those with TLS: "
				  "give an option --tls-..., too");
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (paths[i] &&
		    (!paths[i][0] || strlen(paths[i]) >= INV_TLS_PATH_MAX))
			argp_error(state, "a path of --tls-... is empty or "
					  "too long");
}

static void set(char *out, const char *path)
{
	if (path)
		snprintf(out, INV_TLS_PATH_MAX, "%s", path);
}

struct inv_tls *inv_tls_args_open(const struct inv_tls_args *a,
				  const char **warning, struct inv_err *err)
{
	struct inv_tls_opts o;
	struct inv_tls *tls = NULL;

	*warning = NULL;
	inv_tls_opts_init(&o);
	if (a->optfile && inv_tls_optfile(&o, a->optfile, err) < 0)
		goto done;
	if (a->cert)
		o.key[0] = o.password[0] = '\0';
	set(o.cert, a->cert);
	set(o.key, a->key);
	set(o.ca, a->ca);
	if (a->ca || a->no_verify) {
		o.verify = !a->no_verify;
		o.verify_said = true;
	}
	if (!o.verify && !o.verify_said)
		*warning =
			"warning: the certificates of nodes are not checked, "
			"because --tls-optfile has no {verify, ...} for the "
			"client, which OTP 25 takes as verify_none; give "
			"--tls-ca FILE, or --tls-no-verify if this is "
			"intended";
	tls = inv_tls_new(&o, err);
done:
	explicit_bzero(&o, sizeof(o));
	return tls;
}

static void put(struct inv_buf *out, const char *option, const char *value)
{
	if (!value)
		return;
	inv_buf_printf(out, " %s ", option);
	inv_shell_word_put(out, value);
}

void inv_tls_args_put(const struct inv_tls_args *a, struct inv_buf *out)
{
	put(out, "--tls-optfile", a->optfile);
	put(out, "--tls-ca", a->ca);
	put(out, "--tls-cert", a->cert);
	put(out, "--tls-key", a->key);
	if (a->no_verify)
		inv_buf_puts(out, " --tls-no-verify");
	for (size_t i = 0; i < a->plain.n; i++)
		put(out, "--plain", a->plain.names[i].full);
}

void inv_tls_args_release(struct inv_tls_args *a)
{
	inv_node_names_release(&a->plain);
}
