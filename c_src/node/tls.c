/* SPDX-License-Identifier: Apache-2.0 */
#include "node/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node/etf_text.h"
#include "node/openssl.h"

struct inv_tls {
	const struct inv_openssl *o;
	struct inv_tls_opts opts;
	SSL_CTX *ctx;
};

struct inv_tls_link {
	const struct inv_openssl *o;
	const struct inv_tls *tls;
	SSL *ssl;
	struct inv_err why; /* why TLS failed to send or receive, after the
			       handshake; code 0: it did not fail */
	char host[256];
	bool shaken;
};

void inv_tls_opts_init(struct inv_tls_opts *o)
{
	memset(o, 0, sizeof(*o));
	o->verify = true;
	o->depth = -1;
	o->tls12 = o->tls13 = true;
}

/* --- the client ----------------------------------------------------------- */

/* Sets err to the reason why a file cannot be used. If the file cannot be read,
 * the text is that of errno, because OpenSSL's own text depends on its
 * version. */
static int no_file(const struct inv_openssl *o, const char *what,
		   const char *file, struct inv_err *err)
{
	unsigned long e = o->ERR_peek_last_error();
	const char *reason = o->ERR_reason_error_string(e);

	if (file[0] && access(file, R_OK) < 0)
		reason = strerrordesc_np(errno);
	return inv_err_set(err, INV_EINVAL, "TLS: cannot use %s %s: %s", what,
			   file, reason ? reason : "unknown error");
}

/* Gives OpenSSL the password of the key. Without this function, OpenSSL would
 * ask the user for it at the terminal. */
static int give_password(char *out, int size, int writing, void *arg)
{
	const struct inv_tls_opts *opts = arg;
	size_t n = strlen(opts->password);

	(void)writing;
	if (n > (size_t)size)
		return -1;
	memcpy(out, opts->password, n);
	return (int)n;
}

static int use_files(struct inv_tls *t, struct inv_err *err)
{
	const struct inv_openssl *o = t->o;
	const struct inv_tls_opts *opts = &t->opts;
	const char *key = opts->key[0] ? opts->key : opts->cert;

	o->ERR_clear_error();
	if (opts->cert[0] &&
	    o->SSL_CTX_use_certificate_chain_file(t->ctx, opts->cert) != 1)
		return no_file(o, "certificate", opts->cert, err);
	if (opts->cert[0] &&
	    o->SSL_CTX_use_PrivateKey_file(t->ctx, key, SSL_FILETYPE_PEM) != 1)
		return no_file(o, "key", key, err);
	if (opts->cert[0] && o->SSL_CTX_check_private_key(t->ctx) != 1)
		return inv_err_set(err, INV_EINVAL,
				   "TLS: the key %s does not belong to the "
				   "certificate %s",
				   key, opts->cert);
	if (!opts->verify)
		return 0;
	if (opts->ca[0] ? o->SSL_CTX_load_verify_locations(t->ctx, opts->ca,
							   NULL) != 1 :
			  o->SSL_CTX_set_default_verify_paths(t->ctx) != 1)
		return no_file(o, "the certificates of CAs in", opts->ca, err);
	return 0;
}

/*
 * A node without TLS reads the first two bytes of TLS, 22 and 3, as the length
 * of a message, and waits 7 seconds for these 5635 bytes. So the command makes
 * its first message longer, with an extension. Then such a node sees at once
 * that the message does not contain a node name, and closes the connection.
 * Servers must ignore an extension with this number (RFC 8701).
 */
#define LONG_EXTENSION 0x5a5a
#define LONG_ENOUGH (22 << 8 | 3)

// NOLINTNEXTLINE(readability-function-size): OpenSSL's type
static int add_long(SSL *ssl, unsigned type, unsigned context,
		    const unsigned char **out, size_t *len, X509 *cert,
		    size_t chain, int *alert, void *arg)
{
	static const unsigned char zeros[LONG_ENOUGH];

	(void)ssl;
	(void)type;
	(void)context;
	(void)cert;
	(void)chain;
	(void)alert;
	(void)arg;
	*out = zeros;
	*len = sizeof(zeros);
	return 1;
}

struct inv_tls *inv_tls_new(const struct inv_tls_opts *opts,
			    struct inv_err *err)
{
	const struct inv_openssl *o = inv_openssl(err);
	struct inv_tls *t = o ? calloc(1, sizeof(*t)) : NULL;
	long low = opts->tls12 ? TLS1_2_VERSION : TLS1_3_VERSION;
	long high = opts->tls13 ? TLS1_3_VERSION : TLS1_2_VERSION;

	if (!o)
		return NULL;
	if (t) {
		t->o = o;
		t->opts = *opts;
		t->ctx = o->SSL_CTX_new(o->TLS_client_method());
	}
	if (!t || !t->ctx) {
		inv_err_set(err, INV_ENOMEM, "no memory");
		inv_tls_free(t);
		return NULL;
	}
	o->SSL_CTX_ctrl(t->ctx, SSL_CTRL_SET_MIN_PROTO_VERSION, low, NULL);
	o->SSL_CTX_ctrl(t->ctx, SSL_CTRL_SET_MAX_PROTO_VERSION, high, NULL);
	o->SSL_CTX_ctrl(t->ctx, SSL_CTRL_MODE,
			SSL_MODE_ENABLE_PARTIAL_WRITE |
				SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER,
			NULL);
	/* In the mode SSL_MODE_AUTO_RETRY, SSL_read would not return while a
	 * node sends only TLS messages without data. */
	o->SSL_CTX_ctrl(t->ctx, SSL_CTRL_CLEAR_MODE, SSL_MODE_AUTO_RETRY, NULL);
	/* A node that is killed does not send close_notify, the TLS message
	 * that ends a connection. The end of the stream without this message is
	 * no error. */
	o->SSL_CTX_set_options(t->ctx, SSL_OP_IGNORE_UNEXPECTED_EOF |
					       SSL_OP_NO_RENEGOTIATION);
	o->SSL_CTX_add_custom_ext(t->ctx, LONG_EXTENSION, SSL_EXT_CLIENT_HELLO,
				  add_long, NULL, NULL, NULL, NULL);
	o->SSL_CTX_set_default_passwd_cb(t->ctx, give_password);
	o->SSL_CTX_set_default_passwd_cb_userdata(t->ctx, &t->opts);
	o->SSL_CTX_set_verify(
		t->ctx, opts->verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
	if (opts->depth >= 0)
		o->SSL_CTX_set_verify_depth(t->ctx, opts->depth);
	if (use_files(t, err) < 0) {
		inv_tls_free(t);
		return NULL;
	}
	explicit_bzero(t->opts.password, sizeof(t->opts.password));
	return t;
}

void inv_tls_free(struct inv_tls *t)
{
	if (!t)
		return;
	t->o->SSL_CTX_free(t->ctx);
	explicit_bzero(&t->opts, sizeof(t->opts));
	free(t);
}

/* --- errors --------------------------------------------------------------- */

/* Sets err to a message that says why the node's certificate is refused. */
static int bad_certificate(const struct inv_tls_link *l, long result,
			   struct inv_err *err)
{
	const struct inv_tls_opts *opts = &l->tls->opts;

	switch (result) {
	case X509_V_ERR_CERT_HAS_EXPIRED:
		return inv_err_set(err, INV_EREFUSED,
				   "TLS: the node's certificate, or that of "
				   "its CA, has expired");
	case X509_V_ERR_CERT_NOT_YET_VALID:
		return inv_err_set(err, INV_EREFUSED,
				   "TLS: the node's certificate is not valid "
				   "yet; is this machine's clock right?");
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH:
		return inv_err_set(err, INV_EREFUSED,
				   "TLS: the node's certificate is for another "
				   "host than '%s', which is the host in the "
				   "node's name, or the name of --dns",
				   l->host);
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
	case X509_V_ERR_CERT_SIGNATURE_FAILURE:
		if (!opts->ca[0])
			return inv_err_set(err, INV_EREFUSED,
					   "TLS: no CA of this machine has "
					   "signed the node's certificate; "
					   "give the node's CA with --tls-ca");
		return inv_err_set(err, INV_EREFUSED,
				   "TLS: no CA in %s has signed the node's "
				   "certificate",
				   opts->ca);
	default:
		return inv_err_set(err, INV_EREFUSED,
				   "TLS: the node's certificate is refused: %s",
				   l->o->X509_verify_cert_error_string(result));
	}
}

/* Sets err to a message about the alert with which the node has ended the
 * connection. */
static int alerted(const struct inv_tls_link *l, int alert, const char *reason,
		   struct inv_err *err)
{
	bool none = !l->tls->opts.cert[0];

	switch (alert) {
	case SSL_AD_HANDSHAKE_FAILURE:
	case SSL_AD_CERTIFICATE_REQUIRED:
	case SSL_AD_BAD_CERTIFICATE:
		if (none)
			return inv_err_set(err, INV_EREFUSED,
					   "TLS: the node refuses the "
					   "connection (%s): it may require a "
					   "certificate of its clients "
					   "(--tls-cert, --tls-key)",
					   reason);
		break;
	case SSL_AD_PROTOCOL_VERSION:
		return inv_err_set(err, INV_EREFUSED,
				   "TLS: the node speaks another version of "
				   "TLS (%s)",
				   reason);
	case SSL_AD_UNKNOWN_CA:
	case SSL_AD_CERTIFICATE_EXPIRED:
	case SSL_AD_CERTIFICATE_REVOKED:
	case SSL_AD_CERTIFICATE_UNKNOWN:
	case SSL_AD_UNSUPPORTED_CERTIFICATE:
		return inv_err_set(err, INV_EREFUSED,
				   "TLS: the node refuses the certificate of "
				   "--tls-cert (%s)",
				   reason);
	default:
		break;
	}
	return inv_err_set(err, INV_EREFUSED,
			   "TLS: the node refuses the connection: %s", reason);
}

static int broken(struct inv_tls_link *l, struct inv_err *err)
{
	long result = l->o->SSL_get_verify_result(l->ssl);
	unsigned long e = l->o->ERR_peek_last_error();
	const char *reason = l->o->ERR_reason_error_string(e);
	int code = ERR_GET_REASON(e);

	if (!reason)
		reason = "unknown error";
	if (code == SSL_R_CERTIFICATE_VERIFY_FAILED)
		return bad_certificate(l, result, err);
	if (code > SSL_AD_REASON_OFFSET)
		return alerted(l, code - SSL_AD_REASON_OFFSET, reason, err);
	if (code == SSL_R_WRONG_VERSION_NUMBER && !l->shaken)
		return inv_err_set(
			err, INV_EUNREACHABLE,
			"the node does not speak TLS: leave out the "
			"options --tls-..., or name it with --plain");
	return inv_err_set(err, INV_EUNREACHABLE, "TLS: %s", reason);
}

/* --- a connection --------------------------------------------------------- */

struct inv_tls_link *inv_tls_link_new(struct inv_tls *t, int fd,
				      const char *host, struct inv_err *err)
{
	const struct inv_openssl *o = t->o;
	struct inv_tls_link *l = calloc(1, sizeof(*l));
	struct in6_addr ip;
	bool is_ip = inet_pton(AF_INET, host, &ip) == 1 ||
		     inet_pton(AF_INET6, host, &ip) == 1;
	char name[256];
	int r;

	snprintf(name, sizeof(name), "%s", host);
	if (l) {
		l->o = o;
		l->tls = t;
		snprintf(l->host, sizeof(l->host), "%s", host);
		l->ssl = o->SSL_new(t->ctx);
	}
	if (!l || !l->ssl || o->SSL_set_fd(l->ssl, fd) != 1) {
		inv_tls_link_free(l);
		inv_err_set(err, INV_ENOMEM, "no memory");
		return NULL;
	}
	r = is_ip ? o->X509_VERIFY_PARAM_set1_ip_asc(o->SSL_get0_param(l->ssl),
						     host) :
		    o->X509_VERIFY_PARAM_set1_host(o->SSL_get0_param(l->ssl),
						   host, 0);
	if (r == 1 && !is_ip)
		r = (int)o->SSL_ctrl(l->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME,
				     TLSEXT_NAMETYPE_host_name, name);
	if (r != 1) {
		inv_tls_link_free(l);
		inv_err_set(err, INV_EINVAL,
			    "TLS: '%s' cannot be the host of a certificate",
			    host);
		return NULL;
	}
	return l;
}

void inv_tls_link_free(struct inv_tls_link *l)
{
	if (!l)
		return;
	if (l->ssl)
		l->o->SSL_free(l->ssl);
	free(l);
}

/*
 * Each thread has one queue for the errors of OpenSSL. So this function empties
 * the queue before it calls OpenSSL.
 */
int inv_tls_shake(struct inv_tls_link *l, short *events, struct inv_err *err)
{
	int r;

	l->o->ERR_clear_error();
	errno = 0;
	r = l->o->SSL_connect(l->ssl);
	if (r == 1) {
		l->shaken = true;
		return 0;
	}
	switch (l->o->SSL_get_error(l->ssl, r)) {
	case SSL_ERROR_WANT_READ:
		*events = POLLIN;
		return INV_END;
	case SSL_ERROR_WANT_WRITE:
		*events = POLLOUT;
		return INV_END;
	case SSL_ERROR_SSL:
		return broken(l, err);
	default:
		return inv_err_set(err, INV_EUNREACHABLE,
				   "the node closed the connection during the "
				   "handshake of TLS: if its distribution does "
				   "not use TLS, leave out the options "
				   "--tls-..., or name it with --plain");
	}
}

/* Handles the result r of SSL_read or SSL_write. */
static int done(struct inv_tls_link *l, int r, size_t *n, int *sys)
{
	if (r > 0) {
		*n = (size_t)r;
		return 0;
	}
	switch (l->o->SSL_get_error(l->ssl, r)) {
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return INV_END;
	case SSL_ERROR_ZERO_RETURN:
		*n = 0;
		return 0;
	case SSL_ERROR_SSL:
		if (!l->why.code)
			broken(l, &l->why);
		*sys = EPROTO;
		return INV_EIO;
	default:
		*sys = errno ? errno : ECONNRESET;
		return INV_EIO;
	}
}

static int at_most(size_t n)
{
	return n > INT_MAX ? INT_MAX : (int)n;
}

int inv_tls_send(struct inv_tls_link *l, const void *bytes, size_t *n, int *sys)
{
	l->o->ERR_clear_error();
	errno = 0;
	return done(l, l->o->SSL_write(l->ssl, bytes, at_most(*n)), n, sys);
}

int inv_tls_recv(struct inv_tls_link *l, void *bytes, size_t *n, int *sys)
{
	l->o->ERR_clear_error();
	errno = 0;
	return done(l, l->o->SSL_read(l->ssl, bytes, at_most(*n)), n, sys);
}

bool inv_tls_has_bytes(const struct inv_tls_link *l)
{
	return l->o->SSL_pending(l->ssl) > 0;
}

bool inv_tls_why(const struct inv_tls_link *l, struct inv_err *err)
{
	if (l->why.code && err)
		*err = l->why;
	return l->why.code != 0;
}

void inv_tls_finish(struct inv_tls_link *l)
{
	l->o->ERR_clear_error();
	(void)l->o->SSL_shutdown(l->ssl);
}
