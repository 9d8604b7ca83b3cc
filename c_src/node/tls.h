/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_TLS_H
#define INV_NODE_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define INV_TLS_PATH_MAX 1024

/* The settings of a TLS client. */
struct inv_tls_opts {
	char cert[INV_TLS_PATH_MAX]; /* file with the client's certificate;
					"": the client has none */
	char key[INV_TLS_PATH_MAX];  /* file with the client's key; "": the key
					is in the file `cert' */
	char ca[INV_TLS_PATH_MAX];   /* file with the CAs that sign
				      * certificates of nodes; "": the CAs of
				      * this machine */
	char password[256];	     /* password of the key */
	bool verify;		     /* check the certificates of nodes */
	bool verify_said;	     /* true if the options file has a value for
					`verify' */
	bool tls12;		     /* the versions of TLS that are allowed */
	bool tls13;
	int depth; /* the maximum number of other CAs between the CA in `ca'
		    * and the certificate; -1: OpenSSL's default */
};

/* Sets the default settings. */
void inv_tls_opts_init(struct inv_tls_opts *o);

/*
 * Reads the part `client' of an ssl_dist_optfile, as erl does. Returns 0,
 * INV_EIO if the file cannot be read, or INV_EINVAL if it is not valid or has
 * an unknown option.
 */
int inv_tls_optfile(struct inv_tls_opts *o, const char *file,
		    struct inv_err *err);
/* Like inv_tls_optfile; `text' has the contents of the file. */
int inv_tls_optfile_parse(struct inv_tls_opts *o, const char *text,
			  struct inv_err *err);

/*
 * The TLS settings that all connections of the command share. Several threads
 * may use the struct at the same time.
 */
struct inv_tls;

/*
 * Reads the files that the options name. Returns NULL if this fails; err has
 * the reason.
 */
struct inv_tls *inv_tls_new(const struct inv_tls_opts *o, struct inv_err *err);
void inv_tls_free(struct inv_tls *t);

/* A TLS connection. */
struct inv_tls_link;

/*
 * Makes a TLS connection over a connected socket. The node's certificate must
 * be for `host'.
 */
struct inv_tls_link *inv_tls_link_new(struct inv_tls *t, int fd,
				      const char *host, struct inv_err *err);
void inv_tls_link_free(struct inv_tls_link *l);

/*
 * Continues the handshake. Returns 0 when it is complete. INV_END: call it
 * again after the poll(2) events in `*events'. INV_EREFUSED: the node's
 * certificate is refused, or the node has sent an alert, for example because it
 * refuses the command's certificate. INV_EUNREACHABLE: TLS has failed in
 * another way, for example because the node does not speak TLS.
 */
int inv_tls_shake(struct inv_tls_link *l, short *events, struct inv_err *err);

/* Like inv_wire_send and inv_wire_recv. */
int inv_tls_send(struct inv_tls_link *l, const void *bytes, size_t *n,
		 int *sys);
int inv_tls_recv(struct inv_tls_link *l, void *bytes, size_t *n, int *sys);
/* Returns true if received bytes wait in memory, where poll(2) does not see
 * them. */
bool inv_tls_has_bytes(const struct inv_tls_link *l);
/* Returns true if sending or receiving has failed because of TLS, for example
 * because the node has sent an alert. Sets err to the reason. */
bool inv_tls_why(const struct inv_tls_link *l, struct inv_err *err);
/* Tells the node that the connection ends (close_notify). */
void inv_tls_finish(struct inv_tls_link *l);

#endif
