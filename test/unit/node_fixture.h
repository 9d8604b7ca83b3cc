/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_UNIT_NODE_FIXTURE_H
#define INV_UNIT_NODE_FIXTURE_H

/* Nodes to which a test pushes inviso's code. */
#include "node/attach.h"
#include "unit/node_peer.h"

/* Sets path to the file of the library that this program has mapped, or to
 * "" if the program has not mapped it. */
static inline void mapped(const char *name, char *path, size_t size)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];

	path[0] = 0;
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		line[strcspn(line, "\n")] = 0;
		if (strstr(line, name))
			snprintf(path, size, "%s", strchr(line, '/'));
	}
	fclose(maps);
}

/*
 * Sets LD_PRELOAD for nodes to this program's sanitizers. A library that was
 * built with a sanitizer can only be loaded after the sanitizer.
 */
static inline void share_sanitizers(void)
{
	char asan[2048];
	char ubsan[2048];
	char both[4200];

	mapped("/libasan.so", asan, sizeof(asan));
	mapped("/libubsan.so", ubsan, sizeof(ubsan));
	if (!asan[0])
		return;
	snprintf(both, sizeof(both), "%s:%s", asan, ubsan);
	assert_int_equal(setenv("LD_PRELOAD", both, 1), 0);
	assert_int_equal(
		setenv("ASAN_OPTIONS", "detect_leaks=0:handle_segv=0", 1), 0);
}

static inline int fixture_start(void **state)
{
	int r = start_epmd(state);

	share_sanitizers();
	return r;
}

/* Returns the length of the list that m:f(args) returns. */
static inline int list_len(struct inv_conn *c, const char *m, const char *f,
			   const char *args)
{
	struct inv_mail answer;
	struct inv_err err;
	int index = 0;
	int type;
	int n;

	if (call(c, m, f, args, HANG_MS, &answer, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(ei_get_type(answer.term, &index, &type, &n), 0);
	inv_mail_release(&answer);
	return type == ERL_NIL_EXT ? 0 : n;
}

/* Returns true if code:is_loaded(module) does not return false. */
static inline bool is_loaded(struct inv_conn *c, const char *module)
{
	struct inv_mail answer;
	struct inv_err err;
	char args[64];
	int index = 0;
	int b;

	snprintf(args, sizeof(args), "[%s]", module);
	if (call(c, "code", "is_loaded", args, HANG_MS, &answer, &err) < 0)
		fail_msg("%s", err.text);
	b = ei_decode_boolean(answer.term, &index, &b) < 0 || b;
	inv_mail_release(&answer);
	return b;
}

/* Waits until the node has no code of inviso. */
static inline void await_gone(struct inv_conn *c)
{
	unsigned tries = 1200;

	while (is_loaded(c, "inviso_tracer") && --tries)
		usleep(100000);
	assert_int_not_equal(tries, 0);
}

/* Several nodes, to which the command attaches together. */
#define NODES_MAX 3
struct cluster {
	struct inv_inbox *in;
	struct peer p[NODES_MAX];
	struct inv_attach v[NODES_MAX];
	size_t n;
};

static inline void cluster_start(struct cluster *k, const char *name, size_t n)
{
	char full[32];

	memset(k, 0, sizeof(*k));
	k->in = new_inbox();
	k->n = n;
	for (size_t i = 0; i < n; i++) {
		snprintf(full, sizeof(full), "%s%zu", name, i);
		start_peer(&k->p[i], full, NULL);
		k->v[i].conn = open_conn(k->in, k->p[i].name, NULL);
	}
}

static inline void cluster_stop(struct cluster *k)
{
	for (size_t i = 0; i < k->n; i++) {
		inv_conn_close(k->v[i].conn);
		stop_peer(&k->p[i]);
	}
	inv_attach_release(k->v, k->n);
	inv_inbox_free(k->in);
}

/* Attaches to all nodes. A failure ends the test. */
static inline void cluster_attach(struct cluster *k,
				  const struct inv_attach_opts *opts)
{
	static const struct inv_attach_opts usual = { .owner = "the test",
						      .tracer = true,
						      .ms = 20000 };

	inv_attach_all(k->v, k->n, k->in, opts ? opts : &usual, -1);
	for (size_t i = 0; i < k->n; i++)
		if (k->v[i].code < 0)
			fail_msg("%s", k->v[i].err.text);
}

static inline void cluster_leave(struct cluster *k)
{
	inv_leave_all(k->v, k->n, k->in, 20000, -1);
	for (size_t i = 0; i < k->n; i++)
		if (k->v[i].code < 0)
			fail_msg("%s", k->v[i].err.text);
}

#endif
