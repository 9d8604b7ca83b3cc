/* SPDX-License-Identifier: Apache-2.0 */

/* inviso ms: what a match spec says, and what it answers. */

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/cmd.h"
#include "match/explain.h"
#include "match/match.h"
#include "sink/jsontext.h"
#include "term/tree_print.h"
#include "term/tree_text.h"

/* Words for the terms of the command line, and for a result. */
#define HEAP_WORDS (UINT64_C(1) << 20)
#define RELEASE_FIRST 25
#define RELEASE_LAST 29
#define ARGS_MAX 255

struct ms {
	/* options */
	const char *spec;
	const char *term;
	const char *file;
	unsigned otp;
	enum inv_match_event event;
	bool code;
	bool json;
	/* at work */
	const char *name;
	struct inv_heap heap;
	struct inv_buf text; /* of the file */
	struct inv_buf out;
	struct inv_match match;
	struct inv_match_run *run;
	struct inv_err err;
};

/* --- what is printed ------------------------------------------------------ */

/* Appends a JSON string of what is in `from`. */
static void json_bytes(struct inv_buf *out, const void *from, size_t len)
{
	struct inv_buf scratch = { 0 };
	size_t at;

	inv_buf_putc(out, '"');
	at = out->len;
	inv_buf_put(out, from, len);
	inv_json_escape(out, at, &scratch);
	inv_buf_putc(out, '"');
	inv_buf_release(&scratch);
}

/* The lines of a text, as JSON strings. */
static void json_lines(struct inv_buf *out, const struct inv_buf *text)
{
	const char *p = (const char *)text->data, *end = p + text->len, *eol;
	const char *sep = "[";

	for (; p < end; p = eol + 1, sep = ",") {
		eol = memchr(p, '\n', (size_t)(end - p));
		if (!eol)
			break;
		inv_buf_puts(out, sep);
		json_bytes(out, p, (size_t)(eol - p));
	}
	inv_buf_puts(out, *sep == '[' ? "[]" : "]");
}

static int failed(struct ms *m)
{
	if (m->json) {
		inv_buf_puts(&m->out, "{\"ok\":false,\"errors\":[");
		json_bytes(&m->out, m->err.text, strlen(m->err.text));
		inv_buf_puts(&m->out, "]}\n");
	} else {
		fprintf(stderr, "%s: %s\n", m->name, m->err.text);
	}
	return INV_EXIT_FAILED;
}

/* The first later release in which the spec is right, 0: there is none. */
static unsigned right_from(struct ms *m, inv_word spec)
{
	for (unsigned otp = m->otp + 1; otp <= RELEASE_LAST; otp++) {
		struct inv_match match;
		int rc = inv_match_make(&match, spec, otp, m->event, NULL);

		inv_match_release(&match);
		if (!rc)
			return otp;
	}
	return 0;
}

static int is_wrong(struct ms *m, inv_word spec)
{
	const struct inv_diag *d = m->match.spec.diags.first;
	unsigned otp = right_from(m, spec);
	const char *sep = "";

	if (m->json) {
		inv_buf_puts(&m->out, "{\"ok\":false,\"errors\":[");
		for (; d; d = d->next, sep = ",") {
			inv_buf_puts(&m->out, sep);
			json_bytes(&m->out, d->text, strlen(d->text));
		}
		inv_buf_putc(&m->out, ']');
		if (otp)
			inv_buf_printf(&m->out, ",\"right_from\":%u", otp);
		inv_buf_puts(&m->out, "}\n");
		return INV_EXIT_FAILED;
	}
	for (; d; d = d->next)
		fprintf(stderr, "%s: %s\n", m->name, d->text);
	if (otp)
		fprintf(stderr,
			"%s: OTP %u takes it; this is OTP %u's answer\n",
			m->name, otp, m->otp);
	return INV_EXIT_FAILED;
}

static int put_term(struct ms *m, inv_word t)
{
	struct inv_print_opts o = { .style = INV_PRINT_P, .otp = m->otp };

	return inv_tree_print(t, &m->out, &o);
}

static const char *meaning(struct ms *m)
{
	if (inv_box_of(m->run->result, INV_BOX_HOLE))
		return "what only the node knows is added to the event";
	if (!m->run->matched)
		return "no clause matches: there is no event";
	if (inv_word_is(m->run->result, "true"))
		return "the event is traced as it is";
	if (inv_word_is(m->run->result, "false"))
		return "there is no event";
	return "is added to the event";
}

static void result_text(struct ms *m)
{
	if (m->run->matched)
		inv_buf_printf(&m->out, "clause %u matches\n",
			       m->run->clause + 1);
	inv_buf_puts(&m->out, "result: ");
	put_term(m, m->run->result);
	inv_buf_printf(&m->out, "  (%s)\n", meaning(m));
	if (m->run->flags & INV_MATCH_RETURN_TRACE)
		inv_buf_puts(&m->out, "return_trace: its return is traced\n");
	if (m->run->flags & INV_MATCH_EXCEPTION_TRACE)
		inv_buf_puts(&m->out, "exception_trace: its return, or the "
				      "exception that ends it, is traced\n");
}

static void result_json(struct ms *m)
{
	struct inv_buf scratch = { 0 };
	const char *sep = "";
	size_t at;

	inv_buf_printf(&m->out, "{\"ok\":true,\"matched\":%s",
		       m->run->matched ? "true" : "false");
	if (m->run->matched)
		inv_buf_printf(&m->out, ",\"clause\":%u", m->run->clause + 1);
	inv_buf_puts(&m->out, ",\"result\":\"");
	at = m->out.len;
	put_term(m, m->run->result);
	inv_json_escape(&m->out, at, &scratch);
	inv_buf_puts(&m->out, "\",\"flags\":[");
	if (m->run->flags & INV_MATCH_RETURN_TRACE) {
		inv_buf_puts(&m->out, "\"return_trace\"");
		sep = ",";
	}
	if (m->run->flags & INV_MATCH_EXCEPTION_TRACE)
		inv_buf_printf(&m->out, "%s\"exception_trace\"", sep);
	inv_buf_puts(&m->out, "]}\n");
	inv_buf_release(&scratch);
}

/* What the spec says, and its code if that is asked for. */
static int explain(struct ms *m)
{
	struct inv_buf text = { 0 }, code = { 0 };
	int rc;

	inv_match_explain(&m->match.spec, m->otp, &text);
	if (m->code)
		inv_match_disassemble(&m->match.prog, &code);
	if (m->json) {
		inv_buf_puts(&m->out, "{\"ok\":true,\"explained\":");
		json_lines(&m->out, &text);
		if (m->code) {
			inv_buf_puts(&m->out, ",\"code\":");
			json_lines(&m->out, &code);
		}
		inv_buf_puts(&m->out, "}\n");
	} else {
		inv_buf_put(&m->out, text.data, text.len);
		inv_buf_put(&m->out, code.data, code.len);
	}
	rc = text.error ? text.error : code.error;
	inv_buf_release(&text);
	inv_buf_release(&code);
	return rc;
}

/*
 * All VMs write before the list's memory, when there are no arguments to put
 * there.
 */
static void warn_of_crash(const struct ms *m)
{
	const struct inv_match_prog *p = &m->match.prog;
	bool no_args = false;
	unsigned clause = 0;

	for (uint32_t pc = 0; pc < p->n_code; pc++) {
		enum inv_match_op op = inv_instr_op(p->code[pc]);

		if (op == INV_OP_CLAUSE)
			clause++;
		if (op == INV_OP_CLAUSE || op == INV_OP_ARITY)
			no_args = op == INV_OP_ARITY &&
				  inv_instr_a(p->code[pc]) == 0;
		if (op == INV_OP_ARGS && no_args) {
			fprintf(stderr,
				"%s: warning: clause %u has '$_' and no "
				"arguments: a node may crash\n",
				m->name, clause);
			return;
		}
	}
}

/* --- the work ------------------------------------------------------------- */

static int read_file(struct ms *m)
{
	FILE *f = strcmp(m->file, "-") ? fopen(m->file, "re") : stdin;
	size_t n = 1;
	uint8_t *w;
	int rc;

	if (!f)
		return inv_err_sys(&m->err, errno, "open %s", m->file);
	while (n > 0 && m->text.len < 8 * HEAP_WORDS) {
		w = inv_buf_reserve(&m->text, 4096);
		n = w ? fread(w, 1, 4096, f) : 0;
		inv_buf_commit(&m->text, n);
	}
	rc = ferror(f) ? inv_err_sys(&m->err, errno, "read %s", m->file) : 0;
	if (f != stdin)
		fclose(f);
	inv_buf_putc(&m->text, '\0');
	m->spec = (const char *)m->text.data;
	return rc ? rc : m->text.error;
}

static int parse_term(struct ms *m, const char *what, const char *text,
		      inv_word *t)
{
	int rc = inv_tree_parse(&m->heap, text, t, &m->err);

	return rc ? inv_err_ctx(&m->err, "%s", what) : 0;
}

static int run(struct ms *m, inv_word term)
{
	struct inv_match_world world = { .idle = true };
	inv_word args[ARGS_MAX];
	size_t n = 0;
	int rc;

	for (; inv_is_cons(term) && n < ARGS_MAX; term = inv_cons(term)[1])
		args[n++] = inv_cons(term)[0];
	if (term != INV_NIL)
		return inv_err_set(&m->err, INV_EINVAL,
				   "the term is no list of arguments, like "
				   "[1,[a,b]]");
	m->run->heap = &m->heap;
	m->run->world = &world;
	m->run->steps = INV_MATCH_STEPS;
	rc = inv_match_run(&m->match.prog, m->run, args, n);
	if (rc == INV_EUNKNOWN)
		return inv_err_set(&m->err, rc,
				   "the result depends on the process that "
				   "makes the call: on a node "
				   "erlang:match_spec_test/3 tells");
	if (rc)
		return inv_err_set(&m->err, rc,
				   "running it takes more than %u steps or "
				   "%u MiB",
				   INV_MATCH_STEPS,
				   (unsigned)(HEAP_WORDS >> 17));
	if (m->json)
		result_json(m);
	else
		result_text(m);
	return 0;
}

static int work(struct ms *m)
{
	inv_word spec, term = 0;
	int rc = m->file ? read_file(m) : 0;

	if (!rc)
		rc = parse_term(m, "SPEC", m->spec, &spec);
	if (!rc && m->term)
		rc = parse_term(m, "TERM", m->term, &term);
	if (rc)
		return failed(m);
	rc = inv_match_make(&m->match, spec, m->otp, m->event, &m->err);
	if (rc == INV_EINVAL)
		return is_wrong(m, spec);
	if (!rc)
		warn_of_crash(m);
	if (!rc && (!m->term || m->code))
		rc = explain(m);
	if (!rc && m->term)
		rc = run(m, term);
	if (rc)
		return failed(m);
	return m->term && !m->run->matched ? INV_EXIT_NOTHING : INV_EXIT_DONE;
}

/* --- options -------------------------------------------------------------- */

enum {
	OPT_RELEASE = 256,
	OPT_EVENT,
};

static const struct argp_option options[] = {
	{ "release", OPT_RELEASE, "N", 0,
	  "as OTP N has it, 25 to 29; the default is 29", 0 },
	{ "event", OPT_EVENT, "EVENT", 0,
	  "what it is for: call (the default), send or receive; some actions "
	  "are for calls only",
	  0 },
	{ "file", 'f', "FILE", 0, "read SPEC from FILE; -: standard input", 0 },
	{ "code", 'd', NULL, 0, "show the compiled program, too", 0 },
	{ "json", 'j', NULL, 0, "print JSON", 0 },
	{ 0 },
};

static const char doc[] =
	"Compiles a match spec for tracing, says what it does, and runs it over "
	"arguments."
	"\v"
	"SPEC is a list of clauses {Head, Conditions, Body}, as "
	"erlang:trace_pattern/3 takes it. TERM is the list of arguments of a "
	"call; of a send [To,Message]; of a receive [Node,From,Message]. Errors "
	"are those of erlang:match_spec_test/3, to which the answer is the "
	"same. Nothing is traced, and no node is needed.\n"
	"\n"
	"Examples:\n"
	"  inviso ms \"[{['\\$1',b],[{'>','\\$1',1}],[{return_trace}]}]\"\n"
	"  inviso ms \"[{['\\$1'],[],[{message,{hd,'\\$1'}}]}]\" '[[a,b]]'\n"
	"  inviso ms -f spec.txt '[1,2]'\n"
	"\n"
	"Exit status: 0 done, 1 the spec is wrong, 2 usage, 5 no clause "
	"matches.";

static void set_release(struct ms *m, const char *arg,
			const struct argp_state *state)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (*end || n < RELEASE_FIRST || n > RELEASE_LAST)
		argp_error(state, "--release %s: not one of %u to %u", arg,
			   RELEASE_FIRST, RELEASE_LAST);
	m->otp = (unsigned)n;
}

static void set_event(struct ms *m, const char *arg,
		      const struct argp_state *state)
{
	static const char *const events[] = {
		[INV_MATCH_CALL] = "call",
		[INV_MATCH_SEND] = "send",
		[INV_MATCH_RECEIVE] = "receive",
	};

	for (unsigned i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (!strcmp(arg, events[i])) {
			m->event = (enum inv_match_event)i;
			return;
		}
	argp_error(state, "--event %s: not one of call, send and receive", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ms *m = state->input;

	switch (key) {
	case OPT_RELEASE:
		set_release(m, arg, state);
		return 0;
	case OPT_EVENT:
		set_event(m, arg, state);
		return 0;
	case 'f':
		m->file = arg;
		return 0;
	case 'd':
		m->code = true;
		return 0;
	case 'j':
		m->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (!m->spec && !m->file)
			m->spec = arg;
		else if (!m->term)
			m->term = arg;
		else
			argp_error(state, "too many arguments: quote SPEC and "
					  "TERM");
		return 0;
	case ARGP_KEY_END:
		if (m->file && m->spec && m->term)
			argp_error(state, "a SPEC, and one in a file");
		if (m->file && m->spec)
			m->term = m->spec; /* it stood before the option */
		if (!m->spec && !m->file)
			argp_error(state, "which match spec?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "SPEC [TERM]\n-f FILE [TERM]",
	.doc = doc,
};

static int ms(int argc, char **argv)
{
	struct ms m = { .otp = RELEASE_LAST, .name = argv[0] };
	int status;

	if (argp_parse(&argp, argc, argv, 0, NULL, &m))
		return INV_EXIT_USAGE;
	m.run = malloc(sizeof(*m.run));
	if (!m.run || inv_heap_new(&m.heap, HEAP_WORDS)) {
		fprintf(stderr, "%s: no memory\n", argv[0]);
		free(m.run);
		return INV_EXIT_FAILED;
	}
	status = work(&m);
	fwrite(m.out.data, 1, m.out.len, stdout);
	if (fflush(stdout) || ferror(stdout) || m.out.error) {
		fprintf(stderr, "%s: write the result: %s\n", argv[0],
			m.out.error ? "no memory" : strerror(errno));
		status = INV_EXIT_FAILED;
	}
	inv_match_release(&m.match);
	inv_heap_free(&m.heap);
	inv_buf_release(&m.text);
	inv_buf_release(&m.out);
	free(m.run);
	return status;
}

const struct inv_cmd inv_cmd_ms = {
	.name = "ms",
	.summary = "what a match spec says, and what it answers",
	.exec = ms,
};
