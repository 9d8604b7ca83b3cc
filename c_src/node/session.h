/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_SESSION_H
#define INV_NODE_SESSION_H

#include <ei.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/options.h"
#include "abi/ring.h"
#include "base/err.h"
#include "node/gather.h"
#include "node/status.h"

/*
 * Requests to sessions on nodes (abi/control.h, sections 4 to 6).
 *
 * Every request is a pair of functions: inv_…_ask sends the request
 * (node/gather.h), inv_…_got decodes the answer. A _got function returns 0, the
 * ask's error, or INV_EDAMAGED for an invalid answer. If the node answers with
 * an error, the result depends on the error's class: INV_EINVAL (usage),
 * INV_EREFUSED, INV_ENOTHING or INV_EREMOTE. Texts from nodes contain no
 * control characters.
 *
 * `ms' is the time limit for the answer in milliseconds; 0 means 5000.
 */
enum inv_session_mode {
	INV_MODE_LIVE = 0,
	INV_MODE_RECORD,
	INV_MODE_DETACHED,
};

/* A list of texts, borrowed. */
struct inv_strings {
	const char *const *v;
	size_t n;
};

/* Options of a session that begins requests (sequential traces). */
struct inv_session_seq {
	int64_t label;	   /* label of the requests' tokens; the same on all
			      nodes */
	uint64_t requests; /* how many requests may begin; 0: no limit */
	uint64_t one_in;   /* a sample: only one in this many requests begins */
	const char *variable; /* names of variables of the specs, with commas in
			      between; NULL: none */
	struct inv_strings calls;
	bool reset; /* remove all tokens when the session ends */
};

/* Options of a session that counts or times events instead of recording them.
 * `of' and `by' are sent as atoms. */
struct inv_session_count {
	const char *of;	  /* events, times, values */
	const char *by;	  /* function, process, caller, value, result, reason */
	const char *expr; /* the expression of the values, if `of' is values;
			     otherwise NULL */
	const char *key;  /* the expression of the keys, if `by' is value;
			     otherwise NULL */
	int64_t every_ms;
};

/* Rules for the calls of all functions. When a call ends, the node applies the
 * rules, and records only calls that they pick (nif/decide.h). */
struct inv_session_decide {
	bool slow; /* record the calls that take at least min_ns */
	uint64_t min_ns;
	bool failed; /* record the calls that fail */
};

/* Options of a session that samples stacks; it has no specs. */
struct inv_session_sample {
	int64_t hz;
	bool waiting; /* also sample stacks of waiting processes */
	int64_t most; /* at each sampling, take the stacks of at most this many
			 running processes, and of at most this many waiting
			 processes */
};

/* The arguments of inv_session_start_ask; call inv_session_opts_init first. */
struct inv_session_opts {
	const char *name;
	const char *owner;
	const erlang_pid *guard; /* the guard of struct inv_attach */
	enum inv_session_mode mode;
	enum inv_keep keep;
	struct inv_strings specs;
	struct inv_strings procs;
	bool spawned, linked;
	const char *filter;	   /* the filter, as text; NULL: no filter */
	struct inv_strings redact; /* rules (match/redact.h) */
	const char *compress;	   /* name of an atom; NULL: the node's
				      default */
	const char *payload;	   /* name of an atom; NULL: the node's
				      default */
	bool dry_run;
	bool yes; /* also trace if there are many functions, or functions of
		     OTP */
	const struct inv_session_seq *seq;	 /* NULL: an ordinary trace */
	const struct inv_session_count *count;	 /* NULL: events are recorded */
	const struct inv_session_sample *sample; /* NULL: specs are traced */
	struct inv_session_decide decide;
	/*
	 * The values of the options in abi/options.h; INV_UNSET: the node's
	 * default.
	 */
	int64_t number[INV_OPT_COUNT];
};

void inv_session_opts_init(struct inv_session_opts *o);

/*
 * The state of the requests INV_VERB_CLOCK. From these requests the session
 * learns how the node's clock differs from the command's, and notes it in its
 * log (INV_NOTE_CLOCK). Each request contains the times at which the previous
 * request was sent and answered.
 */
struct inv_session_clock {
	uint64_t command; /* the command's number, from inv_session_clock_new */
	uint32_t n;	  /* how many requests were sent so far */
	uint64_t sent_ns; /* when the last request was sent; 0: no request was
			     sent, the last one failed, or the command's clock
			     was set */
	uint64_t answered_ns; /* when the last request was answered */
};

/* A session that runs on a node. */
struct inv_session {
	struct inv_conn *conn;
	erlang_pid pid;
	struct inv_session_clock clock;
};

void inv_session_start_ask(struct inv_ask *ask, struct inv_conn *c,
			   const struct inv_session_opts *o, int ms);
/* The caller releases `status' (node/status.h). `status' may be NULL. */
int inv_session_start_got(const struct inv_ask *ask, struct inv_session *out,
			  struct inv_status *status, struct inv_err *err);

/*
 * Finds a session by its name. The command must have attached before, because
 * the request needs inviso's code on the node.
 */
void inv_session_find_ask(struct inv_ask *ask, struct inv_conn *c,
			  const char *name, int ms);
int inv_session_find_got(const struct inv_ask *ask, struct inv_session *out,
			 struct inv_err *err);

/* Requests without arguments. The comment of each names the function that
 * decodes the answer. */
enum inv_session_verb {
	INV_VERB_ALIVE = 0, /* inv_session_ok_got */
	INV_VERB_STATUS,    /* inv_session_status_got */
	INV_VERB_CLOCK,	    /* inv_session_clock_got; the session notes the
			       times of the request in its log */
	INV_VERB_STOP,	    /* inv_session_status_got */
	INV_VERB_FILES,	    /* inv_session_files_got */
	INV_VERB_COUNTERS,  /* inv_session_counters_got */
	INV_VERB_HOLD,	    /* inv_session_ok_got */
	INV_VERB_BEGIN,	    /* inv_session_ok_got */
	INV_VERB_REMOVE,    /* inv_session_ok_got */
};
void inv_session_ask(struct inv_ask *ask, const struct inv_session *s,
		     enum inv_session_verb verb, int ms);

int inv_session_ok_got(const struct inv_ask *ask, struct inv_err *err);
int inv_session_status_got(const struct inv_ask *ask, struct inv_status *out,
			   struct inv_err *err);
/* Like inv_session_status_got, for the answer to INV_VERB_CLOCK. Also stores
 * the times of this request in s->clock, for the next request. */
int inv_session_clock_got(const struct inv_ask *ask, struct inv_session *s,
			  struct inv_status *out, struct inv_err *err);

/* Returns a random number for a command. A session distinguishes commands by
 * their numbers. */
uint64_t inv_session_clock_new(void);
/* Requests at most max bytes of a live session's log, from offset on. */
void inv_session_follow_ask(struct inv_ask *ask, const struct inv_session *s,
			    uint64_t offset, uint32_t max, int ms);

enum inv_watermark {
	INV_WATERMARK_NONE = 0, /* the node has not said up to which time the
				   log was sent */
	/* All events before `ns', an Erlang monotonic time, were sent. */
	INV_WATERMARK_AT,
	/* The log is complete, and all of it was sent. */
	INV_WATERMARK_EOF,
};

struct inv_followed {
	const uint8_t *bytes; /* bytes of the log; valid until the ask is
				 released */
	size_t len;
	enum inv_watermark watermark;
	int64_t ns;
};
int inv_session_follow_got(const struct inv_ask *ask, struct inv_followed *out,
			   struct inv_status *status, struct inv_err *err);

/* The files of a stopped session. Their names contain no '/' and do not begin
 * with a dot. */
#define INV_SESSION_FILES_MAX 4096
#define INV_SESSION_FILE_NAME_MAX 255
struct inv_session_file {
	char name[INV_SESSION_FILE_NAME_MAX + 1];
	uint64_t size;
};
struct inv_session_files {
	struct inv_session_file *v; /* from malloc */
	size_t n;
};
int inv_session_files_got(const struct inv_ask *ask,
			  struct inv_session_files *out, struct inv_err *err);

void inv_session_read_ask(struct inv_ask *ask, const struct inv_session *s,
			  const char *name, uint64_t offset, uint32_t max,
			  int ms);
/*
 * Sets `*bytes' and `*len' to the part of the file in the answer. The bytes
 * belong to the ask. Returns INV_END at the end of the file.
 */
int inv_session_read_got(const struct inv_ask *ask, const uint8_t **bytes,
			 size_t *len, struct inv_err *err);

/* The counter of one function: how many calls the trace action `count' or
 * `time' has counted, and their time. */
struct inv_counter {
	char *mfa; /* "lists:seq/2", in Erlang's syntax */
	uint64_t calls;
	int64_t ns; /* time of all calls; -1: the calls are not timed */
};
struct inv_counters {
	struct inv_counter *v;
	size_t n;
};
int inv_session_counters_got(const struct inv_ask *ask,
			     struct inv_counters *out, struct inv_err *err);
void inv_counters_release(struct inv_counters *c);

#endif
