/* SPDX-License-Identifier: Apache-2.0 */
#include "node/openssl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct inv_openssl functions;
static const char *missing = "libssl.so.3";

/* Loads OpenSSL and finds its functions. The pointers from dlsym are copied as
 * bytes, because C cannot cast a pointer to an object into a pointer to a
 * function. */
static void load(void)
{
	void *lib = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
	void *f;

	if (!lib)
		return;
#define LOAD(name)               \
	f = dlsym(lib, #name);   \
	if (!f) {                \
		missing = #name; \
		return;          \
	}                        \
	memcpy(&functions.name, &f, sizeof(functions.name));
	INV_OPENSSL(LOAD)
#undef LOAD
	missing = NULL;
}

const struct inv_openssl *inv_openssl(struct inv_err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, load);
	if (!missing)
		return &functions;
	inv_err_set(err, INV_EIO,
		    "TLS needs OpenSSL 3 on this machine (package libssl3): "
		    "there is no %s",
		    missing);
	return NULL;
}
