/* SPDX-License-Identifier: Apache-2.0 */

/* inviso ms: explains a match spec and runs it. */

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/cmd.h"
#include "cli/record_files.h"
#include "match/explain.h"
#include "match/match.h"
#include "match/selector.h"
#include "match/seq_label.h"
#include "term/tree_print.h"
#include "term/tree_text.h"

/* Words of memory for the terms of the command line and for a result. */
#define HEAP_WORDS (UINT64_C(1) << 20)
#define RELEASE_FIRST 25
#define RELEASE_LAST 29
#define ARGS_MAX 255

struct ms {
	/* the options */
	const char *spec;
	const char *term;
	const char *file;
	unsigned otp;
	enum inv_match_event event;
	struct inv_records records;
	bool code;
	bool json;
	/* the state of the running command */
	const char *name;
	bool selected; /* SPEC is a selector */
	struct inv_selector selector;
	inv_word made; /* the match spec that was made from the selector */
	struct inv_heap heap;
	struct inv_buf text; /* the contents of the file of --file */
	struct inv_buf out;
	struct inv_match match;
	struct inv_match_run *run;
	struct inv_err err;
};

/* --- output --------------------------------------------------------------- */

/* Writes the lines of a text as an array of strings. */
static void json_lines(struct inv_json *j, const char *key,
		       const struct inv_buf *text)
{
	const char *p = (const char *)text->data, *end = p + text->len, *eol;

	inv_json_open(j, key, '[');
	for (; p < end; p = eol + 1) {
		eol = memchr(p, '\n', (size_t)(end - p));
		if (!eol)
			break;
		inv_json_bytes(j, NULL, p, (size_t)(eol - p));
	}
	inv_json_close(j, ']');
}

/* Writes the errors of a spec. otp: the first release that accepts the spec, or
 * 0. */
static void json_errors(struct ms *m, const struct inv_diag *d, unsigned otp)
{
	struct inv_json j = { .out = &m->out };

	inv_json_open(&j, NULL, '{');
	inv_json_bool(&j, "ok", false);
	inv_json_open(&j, "errors", '[');
	if (!d)
		inv_json_text(&j, NULL, m->err.text);
	for (; d; d = d->next)
		inv_json_text(&j, NULL, d->text);
	inv_json_close(&j, ']');
	if (otp)
		inv_json_uint(&j, "right_from", otp);
	inv_json_close(&j, '}');
	inv_json_line(&j);
}

static int failed(struct ms *m)
{
	if (m->json)
		json_errors(m, NULL, 0);
	else
		fprintf(stderr, "%s: %s\n", m->name, m->err.text);
	return INV_EXIT_FAILED;
}

/*
 * Returns the first release after m->otp that accepts the spec, or 0 if no
 * later release accepts it.
 */
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

	if (m->json) {
		json_errors(m, d, otp);
		return INV_EXIT_FAILED;
	}
	for (; d; d = d->next)
		fprintf(stderr, "%s: %s\n", m->name, d->text);
	if (otp)
		fprintf(stderr,
			"%s: OTP %u accepts it; this is the answer of OTP %u\n",
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
		return "a value that only the node knows is added to the event";
	if (!m->run->matched)
		return "no clause matches: no event";
	if (inv_word_is(m->run->result, "true"))
		return "the event is traced unchanged";
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
		inv_buf_printf(&m->out,
			       "return_trace: its return%s is traced\n",
			       m->run->flags & INV_MATCH_EXCEPTION_TRACE ?
				       "" :
				       ", but no exception that ends it,");
	if (m->run->flags & INV_MATCH_EXCEPTION_TRACE)
		inv_buf_puts(&m->out, "exception_trace: its return, or the "
				      "exception that ends it, is traced\n");
}

static void result_json(struct ms *m)
{
	struct inv_json j = { .out = &m->out };
	size_t begin;

	inv_json_open(&j, NULL, '{');
	inv_json_bool(&j, "ok", true);
	inv_json_bool(&j, "matched", m->run->matched);
	if (m->run->matched)
		inv_json_uint(&j, "clause", m->run->clause + 1);
	begin = inv_json_begin(&j, "result");
	put_term(m, m->run->result);
	inv_json_end(&j, begin);
	inv_json_open(&j, "flags", '[');
	if (m->run->flags & INV_MATCH_RETURN_TRACE)
		inv_json_text(&j, NULL, "return_trace");
	if (m->run->flags & INV_MATCH_EXCEPTION_TRACE)
		inv_json_text(&j, NULL, "exception_trace");
	inv_json_close(&j, ']');
	inv_json_close(&j, '}');
	inv_json_line(&j);
}

static const char *word_of(const struct inv_selector *s)
{
	return s->kind == INV_SELECT_SEND ? "send" : "receive";
}

static void put_name(struct ms *m, struct inv_buf *out, bool wild, inv_word t)
{
	const struct inv_print_opts o = { .style = INV_PRINT_W, .otp = m->otp };
	const inv_word *b = inv_box_of(t, INV_BOX_ATOM);

	if (wild && b)
		inv_buf_put(out, inv_box_ptr(b, 1), inv_box_n(b));
	else
		inv_tree_print(t, out, &o);
}

/* Appends the function or kind of event that a selector selects: m:f/2, or
 * send. */
static void put_selected(struct ms *m, struct inv_buf *out)
{
	const struct inv_selector *s = &m->selector;

	if (s->kind != INV_SELECT_CALL) {
		inv_buf_puts(out, word_of(s));
		return;
	}
	put_name(m, out, s->wild_module, s->module);
	inv_buf_putc(out, ':');
	put_name(m, out, s->wild_function, s->function);
	if (s->arity >= 0)
		inv_buf_printf(out, "/%d", s->arity);
}

static void put_made(struct ms *m, struct inv_buf *out)
{
	const struct inv_print_opts o = { .style = INV_PRINT_W, .otp = m->otp };

	inv_tree_print(m->made, out, &o);
}

/* Prints the function or kind of event that a selector selects, and its match
 * spec. */
static void selected_text(struct ms *m)
{
	if (!m->selected)
		return;
	inv_buf_puts(&m->out, "traces: ");
	put_selected(m, &m->out);
	inv_buf_puts(&m->out, "\nspec:   ");
	put_made(m, &m->out);
	inv_buf_putc(&m->out, '\n');
}

static void selected_json(struct ms *m, struct inv_json *j)
{
	size_t begin;

	if (!m->selected)
		return;
	begin = inv_json_begin(j, "traces");
	put_selected(m, &m->out);
	inv_json_end(j, begin);
	begin = inv_json_begin(j, "spec");
	put_made(m, &m->out);
	inv_json_end(j, begin);
}

static void explain_json(struct ms *m, const struct inv_buf *text,
			 const struct inv_buf *code)
{
	struct inv_json j = { .out = &m->out };

	inv_json_open(&j, NULL, '{');
	inv_json_bool(&j, "ok", true);
	selected_json(m, &j);
	json_lines(&j, "explained", text);
	if (m->code)
		json_lines(&j, "code", code);
	inv_json_close(&j, '}');
	inv_json_line(&j);
}

/* Prints the explanation of the spec, and with --code the compiled program. */
static int explain(struct ms *m)
{
	struct inv_buf text = { 0 }, code = { 0 };
	int rc;

	inv_match_explain(&m->match.spec, m->otp, &text);
	if (m->code)
		inv_match_disassemble(&m->match.prog, &code);
	if (m->json) {
		explain_json(m, &text, &code);
	} else {
		selected_text(m);
		inv_buf_put(&m->out, text.data, text.len);
		inv_buf_put(&m->out, code.data, code.len);
	}
	rc = text.error ? text.error : code.error;
	inv_buf_release(&text);
	inv_buf_release(&code);
	return rc;
}

/*
 * Warns about a bug that all VMs have. If the head of a clause is [] and the
 * clause uses '$_', the VM writes outside of its allocated memory when a call
 * matches the clause.
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

/* Warns if the spec sets a label that can crash a node (match/seq_label.h). */
static void warn_of_label(const struct ms *m)
{
	unsigned clause = inv_seq_label_unsafe(&m->match.spec);

	if (clause)
		fprintf(stderr,
			"%s: warning: clause %u sets a label that is not an "
			"atom or an integer of less than 60 bits: a node may "
			"crash or hang; inviso refuses this\n",
			m->name, clause);
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

/* Parses SPEC: a match spec, or a selector. */
static int parse_spec(struct ms *m, inv_word *spec)
{
	int rc;

	if (m->spec[strspn(m->spec, " \t\r\n%")] == '[')
		return parse_term(m, "SPEC", m->spec, spec);
	rc = inv_selector_parse(&m->heap, m->spec, &m->records, &m->selector,
				&m->err);
	if (!rc)
		rc = inv_selector_spec(&m->heap, &m->selector, spec, &m->event,
				       &m->err);
	m->selected = !rc;
	m->made = *spec;
	return rc ? inv_err_ctx(&m->err, "SPEC") : 0;
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
		return inv_err_set(
			&m->err, INV_EINVAL,
			"the term is not a list of arguments, such as "
			"[1,[a,b]]");
	m->run->heap = &m->heap;
	m->run->world = &world;
	m->run->steps = INV_MATCH_STEPS;
	rc = inv_match_run(&m->match.prog, m->run, args, n);
	if (rc == INV_EUNKNOWN)
		return inv_err_set(&m->err, rc,
				   "the result depends on the process that "
				   "makes the call: use "
				   "erlang:match_spec_test/3 on a node");
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
	inv_word spec = 0, term = 0;
	int rc = m->file ? read_file(m) : 0;

	if (!rc)
		rc = parse_spec(m, &spec);
	if (!rc && m->term)
		rc = parse_term(m, "TERM", m->term, &term);
	if (rc)
		return failed(m);
	rc = inv_match_make(&m->match, spec, m->otp, m->event, &m->err);
	if (rc == INV_EINVAL)
		return is_wrong(m, spec);
	if (!rc) {
		warn_of_crash(m);
		warn_of_label(m);
	}
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
	OPT_RECORDS,
};

static const struct argp_option options[] = {
	{ "release", OPT_RELEASE, "N", 0,
	  "compile as OTP N does, 25 to 29 (29)", 0 },
	{ "event", OPT_EVENT, "EVENT", 0,
	  "compile for call (default), send or receive; some actions are for "
	  "calls only",
	  0 },
	{ "file", 'f', "FILE", 0,
	  "read SPEC from FILE, or from standard input "
	  "if FILE is -",
	  0 },
	{ "records", OPT_RECORDS, "FILE", 0,
	  "FILE, a .hrl, .erl or .beam file, defines the records in SPEC; can "
	  "be repeated",
	  0 },
	{ "code", 'd', NULL, 0, "also print the compiled program", 0 },
	{ "json", 'j', NULL, 0, "print JSON", 0 },
	{ 0 },
};

static const char doc[] =
	"Compiles a match spec for tracing and explains it. With TERM, also "
	"runs it."
	"\v"
	"SPEC is a list of clauses {Head, Conditions, Body}, as "
	"erlang:trace_pattern/3 takes it, or what `inviso trace' takes: a call, "
	"send or receive with patterns and a guard. For such a SPEC the match "
	"spec is printed, too. TERM is the list of arguments of a "
	"call, [To,Message] of a send, or [Node,From,Message] of a receive. "
	"Errors and results are those of erlang:match_spec_test/3. Nothing is "
	"traced, and no node is needed.\n"
	"\n"
	"Examples:\n"
	"  inviso ms \"[{['\\$1',b],[{'>','\\$1',1}],[{return_trace}]}]\"\n"
	"  inviso ms \"[{['\\$1'],[],[{message,{hd,'\\$1'}}]}]\" '[[a,b]]'\n"
	"  inviso ms 'shop:order(N, _) when N > 9 -> return' '[10, x]'\n"
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
	struct inv_err err = { 0 };

	switch (key) {
	case OPT_RELEASE:
		set_release(m, arg, state);
		return 0;
	case OPT_EVENT:
		set_event(m, arg, state);
		return 0;
	case OPT_RECORDS:
		if (inv_record_file_load(&m->records, arg, &err))
			argp_error(state, "%s", err.text);
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
			argp_error(state, "give a SPEC or --file, not both");
		if (m->file && m->spec)
			m->term = m->spec; /* with --file, the only argument
					      is TERM, not SPEC */
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
	inv_records_release(&m.records);
	inv_heap_free(&m.heap);
	inv_buf_release(&m.text);
	inv_buf_release(&m.out);
	free(m.run);
	return status;
}

const struct inv_cmd inv_cmd_ms = {
	.name = "ms",
	.summary = "explain a match spec, and run it",
	.exec = ms,
};
