/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_OPENSSL_H
#define INV_NODE_OPENSSL_H

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "base/err.h"

/*
 * The functions of OpenSSL, which is loaded when TLS is first needed. So a
 * command that needs no TLS starts faster, and runs on machines without
 * OpenSSL.
 */
#define INV_OPENSSL(F)                            \
	F(ERR_clear_error)                        \
	F(ERR_peek_last_error)                    \
	F(ERR_reason_error_string)                \
	F(SSL_CTX_add_custom_ext)                 \
	F(SSL_CTX_check_private_key)              \
	F(SSL_CTX_ctrl)                           \
	F(SSL_CTX_free)                           \
	F(SSL_CTX_load_verify_locations)          \
	F(SSL_CTX_new)                            \
	F(SSL_CTX_set_default_passwd_cb)          \
	F(SSL_CTX_set_default_passwd_cb_userdata) \
	F(SSL_CTX_set_default_verify_paths)       \
	F(SSL_CTX_set_options)                    \
	F(SSL_CTX_set_verify)                     \
	F(SSL_CTX_set_verify_depth)               \
	F(SSL_CTX_use_PrivateKey_file)            \
	F(SSL_CTX_use_certificate_chain_file)     \
	F(SSL_connect)                            \
	F(SSL_ctrl)                               \
	F(SSL_free)                               \
	F(SSL_get0_param)                         \
	F(SSL_get_error)                          \
	F(SSL_get_verify_result)                  \
	F(SSL_new)                                \
	F(SSL_pending)                            \
	F(SSL_read)                               \
	F(SSL_set_fd)                             \
	F(SSL_shutdown)                           \
	F(SSL_write)                              \
	F(TLS_client_method)                      \
	F(X509_VERIFY_PARAM_set1_host)            \
	F(X509_VERIFY_PARAM_set1_ip_asc)          \
	F(X509_verify_cert_error_string)

struct inv_openssl {
#define INV_OPENSSL_FIELD(name) __typeof__(name) *name;
	INV_OPENSSL(INV_OPENSSL_FIELD)
#undef INV_OPENSSL_FIELD
};

/* Returns the functions, or NULL if this machine does not have OpenSSL 3. */
const struct inv_openssl *inv_openssl(struct inv_err *err);

#endif
