/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_NODE_GAUGE_H
#define INV_NODE_GAUGE_H

#include <ei.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "node/gather.h"

/*
 * Requests to gauges: processes that measure their nodes for `inviso top'
 * (abi/control.h, section 7). As in node/session.h, inv_…_ask sends a
 * request, and inv_…_got decodes the answer.
 */
struct inv_gauge {
	struct inv_conn *conn;
	erlang_pid pid;
};

/* A process that is among the first ones in the order by mailbox, by memory or
 * by speed. Texts have no control characters. */
struct inv_gauge_row {
	char pid[40];
	char name[256];	   /* "": unknown */
	char kind[16];	   /* of `name': registered, label, function, none */
	char status[24];   /* waiting, running, runnable, ... */
	char current[256]; /* "gen_server:loop/7" */
	int64_t mailbox;
	int64_t memory; /* bytes; -1: not read, for example because the mailbox
			   is long */
	int64_t speed;	/* reductions in a second; -1: unknown */
	int64_t reductions;
};

struct inv_gauged {
	int64_t now_ns; /* Erlang monotonic time */
	int64_t uptime_ms, schedulers, run_queue;
	int64_t processes, process_limit, ports;
	int64_t reductions; /* of all processes since the start of the VM */
	/* The gauge's scanner looks at a slice of the node's processes in each
	 * tick of its timer. These are the data of its last tick. */
	int64_t age_ms;	  /* how old the data are; -1: there are none yet */
	int64_t listed;	  /* how many processes there were */
	int64_t looked;	  /* at how many of them the scanner looked */
	int64_t round_ms; /* how long it takes to look at all processes once;
			     -1: unknown */
	int64_t cost_ppm; /* the tick's share of the time of all schedulers, in
			     millionths */
	/* Memory in bytes; -1: unknown. */
	int64_t total, in_processes, binary, ets, code, atoms;
	struct inv_gauge_row *rows; /* from malloc */
	size_t n_rows;
};

/* Starts a gauge. `guard' is the guard in struct inv_attach. The gauge reports
 * the first `top' processes by mailbox, by memory and by speed. `every_ms' is
 * the interval at which the caller will call inv_gauge_ask. */
void inv_gauge_start_ask(struct inv_ask *ask, struct inv_conn *c,
			 const erlang_pid *guard, int64_t top, int64_t every_ms,
			 int ms);
int inv_gauge_start_got(const struct inv_ask *ask, struct inv_gauge *out,
			struct inv_err *err);

void inv_gauge_ask(struct inv_ask *ask, const struct inv_gauge *g, int ms);
/* The caller releases `out', even if the result is an error. */
int inv_gauge_got(const struct inv_ask *ask, struct inv_gauged *out,
		  struct inv_err *err);
void inv_gauged_release(struct inv_gauged *out);

/* Ends a gauge. inv_session_ok_got decodes the answer. */
void inv_gauge_stop_ask(struct inv_ask *ask, const struct inv_gauge *g, int ms);

#endif
