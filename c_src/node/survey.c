/* SPDX-License-Identifier: Apache-2.0 */
#include "node/survey.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/ask.h"
#include "node/payload.h"

/*
 * What is asked, in this order, and how the answer is read.  Only functions of
 * preloaded modules and of `file', which every node has loaded.
 */
enum question {
	ASK_RELEASE,
	ASK_VERSION,
	ASK_ARCH,
	ASK_WORDSIZE,
	ASK_OS,
	ASK_NIF,
	ASK_NODES,
	ASK_MAPS,
};

static void ask_info(struct inv_ask *ask, struct inv_conn *c, const char *item,
		     int ms)
{
	struct inv_ei e;

	inv_ei_init(&e);
	inv_ei_list(&e, 1);
	inv_ei_atom(&e, item);
	inv_ei_nil(&e);
	inv_ask_rex(ask, c, "erlang", "system_info", &e, ms);
}

static void ask_wordsize(struct inv_ask *ask, struct inv_conn *c, int ms)
{
	struct inv_ei e;

	inv_ei_init(&e);
	inv_ei_list(&e, 1);
	inv_ei_tuple(&e, 2);
	inv_ei_atom(&e, "wordsize");
	inv_ei_atom(&e, "external");
	inv_ei_nil(&e);
	inv_ask_rex(ask, c, "erlang", "system_info", &e, ms);
}

static void ask_os(struct inv_ask *ask, struct inv_conn *c, int ms)
{
	struct inv_ei e;

	inv_ei_init(&e);
	inv_ei_nil(&e);
	inv_ask_rex(ask, c, "os", "type", &e, ms);
}

static void ask_nodes(struct inv_ask *ask, struct inv_conn *c, int ms)
{
	struct inv_ei e;

	inv_ei_init(&e);
	inv_ei_list(&e, 1);
	inv_ei_atom(&e, "connected");
	inv_ei_nil(&e);
	inv_ask_rex(ask, c, "erlang", "nodes", &e, ms);
}

static void ask_maps(struct inv_ask *ask, struct inv_conn *c, int ms)
{
	struct inv_ei e;

	inv_ei_init(&e);
	inv_ei_list(&e, 1);
	inv_ei_text(&e, "/proc/self/maps");
	inv_ei_nil(&e);
	inv_ask_rex(ask, c, "file", "read_file", &e, ms);
}

void inv_survey_ask(struct inv_ask *asks, struct inv_conn *c, int ms)
{
	ask_info(&asks[ASK_RELEASE], c, "otp_release", ms);
	ask_info(&asks[ASK_VERSION], c, "version", ms);
	ask_info(&asks[ASK_ARCH], c, "system_architecture", ms);
	ask_wordsize(&asks[ASK_WORDSIZE], c, ms);
	ask_os(&asks[ASK_OS], c, ms);
	ask_info(&asks[ASK_NIF], c, "nif_version", ms);
	ask_nodes(&asks[ASK_NODES], c, ms);
	ask_maps(&asks[ASK_MAPS], c, ms);
}

/* --- answers ---------------------------------------------------------------- */

static int got_text(const struct inv_ask *ask, char *buf, size_t size,
		    struct inv_err *err)
{
	struct inv_decode d;
	int r = inv_ask_answer(ask, &d, err);

	if (r < 0)
		return r;
	if (inv_decode_text(&d, buf, size) == 0 && buf[0])
		return 0;
	inv_decode_init(&d, ask->mail.term, ask->mail.len);
	/* a failure is told as what it is */
	return inv_decode_ok(&d, 0, err);
}

/* "25", "27-rc1"; the number that it begins with. */
static unsigned number(const char *text, const char **rest)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	*rest = end;
	return end != text && n < 100000 ? (unsigned)n : 0;
}

static int got_release(const struct inv_ask *ask, struct inv_survey *out,
		       struct inv_err *err)
{
	char text[32];
	const char *rest;
	int r = got_text(ask, text, sizeof(text), err);

	if (r == 0)
		out->otp = number(text, &rest);
	return r; /* R16B: 0, which is too old */
}

static int got_nif_version(const struct inv_ask *ask, struct inv_survey *out,
			   struct inv_err *err)
{
	char text[32];
	const char *rest;
	int r = got_text(ask, text, sizeof(text), err);

	if (r < 0)
		return r;
	out->nif_major = number(text, &rest);
	out->nif_minor = *rest == '.' ? number(rest + 1, &rest) : 0;
	return 0;
}

static int got_wordsize(const struct inv_ask *ask, struct inv_survey *out,
			struct inv_err *err)
{
	struct inv_decode d;
	int64_t bytes;
	int r = inv_ask_answer(ask, &d, err);

	if (r < 0)
		return r;
	if (inv_decode_i64(&d, &bytes) < 0 || bytes < 1 || bytes > 64)
		return inv_decode_strange(&d, err);
	out->bits = (unsigned)bytes * 8;
	return 0;
}

/* {unix,linux} */
static int got_os(const struct inv_ask *ask, struct inv_survey *out,
		  struct inv_err *err)
{
	struct inv_decode d;
	uint32_t arity;
	char family[32];
	int r = inv_ask_answer(ask, &d, err);

	if (r < 0)
		return r;
	if (inv_cursor_tuple(&d.c, &arity) < 0 || arity != 2 ||
	    inv_decode_text(&d, family, sizeof(family)) < 0 ||
	    inv_decode_text(&d, out->os, sizeof(out->os)) < 0)
		return inv_decode_strange(&d, err);
	return 0;
}

/* Commands like this one are connected for a moment, and cannot be traced. */
static bool ours(const char *node)
{
	return strncmp(node, "inviso-", 7) == 0;
}

#define NODES_MAX 4096

static int got_nodes(const struct inv_ask *ask, struct inv_survey *out,
		     struct inv_err *err)
{
	struct inv_texts nodes = { 0 };
	struct inv_decode d;
	int r = inv_ask_answer(ask, &d, err);

	if (r < 0)
		return r;
	r = inv_decode_texts(&d, &nodes, NODES_MAX);
	if (r < 0)
		r = inv_decode_strange(&d, err);
	/* A comma would be two.  One that has no name that we take is not
	 * reached by it, and is no reason to do without the others. */
	for (size_t i = 0; r == 0 && i < nodes.n; i++) {
		if (ours(nodes.v[i]) || strchr(nodes.v[i], ','))
			continue;
		r = inv_node_names_add(&out->others, nodes.v[i], err);
		if (r == INV_EINVAL)
			r = 0;
	}
	inv_texts_release(&nodes);
	return r;
}

/* That it cannot be read says nothing. */
static void got_maps(const struct inv_ask *ask, struct inv_survey *out)
{
	const uint8_t *p;
	struct inv_decode d;
	size_t len;

	if (inv_ask_answer(ask, &d, NULL) == 0 &&
	    inv_decode_ok(&d, 2, NULL) == 0 &&
	    inv_decode_bytes(&d, &p, &len) == 0 && len &&
	    memmem(p, len, "/ld-musl-", 9))
		out->musl = true;
}

/* --- processors -------------------------------------------------------------- */

static const struct {
	const char *arch; /* what system_architecture begins with */
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

int inv_survey_got(const struct inv_ask *asks, struct inv_survey *out,
		   struct inv_err *err)
{
	int r;

	memset(out, 0, sizeof(*out));
	if ((r = got_release(&asks[ASK_RELEASE], out, err)) < 0 ||
	    (r = got_text(&asks[ASK_VERSION], out->version,
			  sizeof(out->version), err)) < 0 ||
	    (r = got_text(&asks[ASK_ARCH], out->arch, sizeof(out->arch), err)) <
		    0 ||
	    (r = got_wordsize(&asks[ASK_WORDSIZE], out, err)) < 0 ||
	    (r = got_os(&asks[ASK_OS], out, err)) < 0 ||
	    (r = got_nif_version(&asks[ASK_NIF], out, err)) < 0 ||
	    (r = got_nodes(&asks[ASK_NODES], out, err)) < 0)
		return r;
	out->machine = machine_of(out->arch);
	out->musl = strstr(out->arch, "musl") != NULL;
	got_maps(&asks[ASK_MAPS], out);
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
