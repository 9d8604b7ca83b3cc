/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_CMD_H
#define INV_CLI_CMD_H

/* For each command there is a file cmd_<name>.c, an entry below, and a line in
 * main.c. */
enum inv_exit {
	INV_EXIT_DONE = 0,
	INV_EXIT_FAILED = 1,
	INV_EXIT_USAGE = 2,
	INV_EXIT_UNREACHABLE = 3, /* a node cannot be reached */
	INV_EXIT_REFUSED = 4,	  /* a node refused, for example because of a
				     wrong cookie */
	INV_EXIT_NOTHING = 5,	  /* nothing matched */
	INV_EXIT_PROTECTED = 6,	  /* a session stopped to protect the node */
	INV_EXIT_LOST = 7,	  /* done, but events were lost */
};

struct inv_cmd {
	const char *name;
	const char *summary;
	/* The name of the helper program that contains the command; then exec
	 * is NULL. If helper is NULL, this program contains the command. */
	const char *helper;
	/* argv[0] is "inviso NAME", for messages; returns enum inv_exit. */
	int (*exec)(int argc, char **argv);
};

/* Summaries of commands that are in helper programs. Both inviso and the helper
 * program show them in their lists of commands. */
#define INV_CMD_SQL_SUMMARY "ask logs or a database questions in SQL"
#define INV_CMD_EXPORT_SUMMARY \
	"send calls and requests as spans to OpenTelemetry's collectors"

/* The summary of `inviso top', which is in the helper program inviso_top. */
#define INV_CMD_TOP_SUMMARY "watch busy processes and functions on a screen"

extern const struct inv_cmd inv_cmd_autostart;
extern const struct inv_cmd inv_cmd_case;
extern const struct inv_cmd inv_cmd_count;
extern const struct inv_cmd inv_cmd_hist;
extern const struct inv_cmd inv_cmd_fetch;
extern const struct inv_cmd inv_cmd_flame;
extern const struct inv_cmd inv_cmd_merge;
extern const struct inv_cmd inv_cmd_ms;
extern const struct inv_cmd inv_cmd_record;
extern const struct inv_cmd inv_cmd_recover;
extern const struct inv_cmd inv_cmd_report;
extern const struct inv_cmd inv_cmd_seq;
extern const struct inv_cmd inv_cmd_status;
extern const struct inv_cmd inv_cmd_stop;
extern const struct inv_cmd inv_cmd_trace;

#endif
