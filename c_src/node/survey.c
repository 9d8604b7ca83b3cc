/* SPDX-License-Identifier: Apache-2.0 */
#include "node/survey.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "node/ask.h"
#include "node/payload.h"

void inv_survey_ask(struct inv_ask *ask, struct inv_conn *c, int ms)
{
	struct inv_blob args = inv_payload_survey();
	struct inv_buf e = { 0 };

	inv_buf_put(&e, args.data, args.len);
	inv_ask_rex(ask, c, "erl_eval", "expr", &e, ms);
}

/* --- the answer ----------------------------------------------------------- */

/*
 * Returns true if the node name is that of an inviso command, which cannot be
 * traced.
 */
static bool ours(const char *node)
{
	return strncmp(node, "inviso-", 7) == 0;
}

#define ELEMENTS 7 /* how many elements the answer has */
#define NODES_MAX 4096

/*
 * Adds the nodes that are connected with the surveyed node. Skips names with a
 * comma, and names that the parser refuses: no real node has such a name.
 */
static int add_others(struct inv_survey *out, const struct inv_texts *nodes)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < nodes->n; i++) {
		if (ours(nodes->v[i]) || strchr(nodes->v[i], ','))
			continue;
		r = inv_node_names_add_peer(&out->others, nodes->v[i], NULL);
		if (r == INV_EINVAL)
			r = 0;
	}
	return r;
}

static int decode_nodes(struct inv_decode *d, struct inv_survey *out)
{
	struct inv_texts nodes = { 0 };
	int r = inv_decode_texts(d, &nodes, NODES_MAX);

	if (r == 0)
		r = add_others(out, &nodes);
	inv_texts_release(&nodes);
	return r;
}

/*
 * Decodes the survey. A release is a text such as "25" or "27-rc1". For an old
 * release such as "R16B", out->otp becomes 0, which inv_survey_check refuses.
 */
static int decode(struct inv_decode *d, struct inv_survey *out)
{
	char release[32];
	int64_t bytes = 0;
	bool musl = false;
	int r = inv_decode_text(d, release, sizeof(release));

	if (r == 0)
		r = inv_decode_text(d, out->version, sizeof(out->version));
	if (r == 0)
		r = inv_decode_text(d, out->arch, sizeof(out->arch));
	if (r == 0)
		r = inv_decode_i64(d, &bytes);
	if (r == 0)
		r = inv_decode_text(d, out->os, sizeof(out->os));
	if (r == 0)
		r = decode_nodes(d, out);
	if (r == 0)
		r = inv_decode_bool(d, &musl);
	if (r < 0 || bytes < 1 || bytes > 64)
		return r < 0 ? r : INV_EDAMAGED;
	out->otp = (unsigned)strtoul(release, NULL, 10);
	out->bits = (unsigned)bytes * 8;
	out->musl = musl || strstr(out->arch, "musl");
	return 0;
}

/* --- processors ----------------------------------------------------------- */

static const struct {
	const char *arch; /* prefix of system_architecture */
	unsigned machine, bits;
} machines[] = {
	{ "x86_64", EM_X86_64, 64 },   { "amd64", EM_X86_64, 64 },
	{ "i386", EM_386, 32 },	       { "i486", EM_386, 32 },
	{ "i586", EM_386, 32 },	       { "i686", EM_386, 32 },
	{ "aarch64", EM_AARCH64, 64 }, { "arm64", EM_AARCH64, 64 },
	{ "arm", EM_ARM, 32 },	       { "riscv64", EM_RISCV, 64 },
	{ "powerpc64", EM_PPC64, 64 }, { "ppc64", EM_PPC64, 64 },
	{ "s390x", EM_S390, 64 },      { "loongarch64", 258, 64 },
};
#define N_MACHINES (sizeof(machines) / sizeof(machines[0]))

static unsigned machine_of(const char *arch)
{
	for (size_t i = 0; i < N_MACHINES; i++)
		if (!strncmp(arch, machines[i].arch, strlen(machines[i].arch)))
			return machines[i].machine;
	return 0;
}

static const char *machine_name(unsigned machine)
{
	for (size_t i = 0; i < N_MACHINES; i++)
		if (machines[i].machine == machine)
			return machines[i].arch;
	return "another processor";
}

int inv_survey_got(const struct inv_ask *ask, struct inv_survey *out,
		   struct inv_err *err)
{
	struct inv_decode d;
	uint32_t arity;
	int r;

	memset(out, 0, sizeof(*out));
	r = inv_ask_answer(ask, &d, err);
	if (r < 0)
		return r;
	if (inv_cursor_tuple(&d.c, &arity) < 0 || arity != ELEMENTS) {
		inv_decode_init(&d, d.term, d.len);
		return inv_decode_ok(&d, 0, err);
	}
	if (decode(&d, out) < 0)
		return inv_decode_strange(&d, err);
	out->machine = machine_of(out->arch);
	return 0;
}

void inv_survey_release(struct inv_survey *s)
{
	inv_node_names_release(&s->others);
	memset(s, 0, sizeof(*s));
}

int inv_survey_check(const struct inv_survey *s, bool tracer,
		     struct inv_err *err)
{
	unsigned bits = inv_payload_bits();

	if (s->otp < INV_OTP_MIN)
		return inv_err_set(err, INV_EINVAL,
				   "runs Erlang/OTP %u (emulator %s); %u is "
				   "the oldest that can be traced",
				   s->otp, s->version, INV_OTP_MIN);
	if (!tracer)
		return 0;
	if (strcmp(s->os, "linux") != 0)
		return inv_err_set(err, INV_EINVAL,
				   "runs on %s (%s); only Linux is supported",
				   s->os, s->arch);
	if (s->machine && s->machine != inv_payload_machine())
		return inv_err_set(err, INV_EINVAL,
				   "runs on %s; this command is for %s: use "
				   "one that was built there",
				   s->arch,
				   machine_name(inv_payload_machine()));
	if (s->bits != bits)
		return inv_err_set(err, INV_EINVAL,
				   "is a %u-bit emulator (%s); this command "
				   "is for %u bits",
				   s->bits, s->arch, bits);
	if (s->musl)
		return inv_err_set(err, INV_EINVAL,
				   "runs with musl as its C library (%s), "
				   "which is not supported yet; this command "
				   "is for glibc",
				   s->arch);
	return 0;
}
