/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_CLI_CMD_H
#define INV_CLI_CMD_H

/*
 * A command: one file cmd_<name>.c, one entry here, one line in main.c.
 */
enum inv_exit {
	INV_EXIT_DONE = 0,
	INV_EXIT_FAILED = 1,
	INV_EXIT_USAGE = 2,
	INV_EXIT_UNREACHABLE = 3, /* a node */
	INV_EXIT_REFUSED = 4,	  /* by cookie or owner */
	INV_EXIT_NOTHING = 5,	  /* matched */
	INV_EXIT_PROTECTED = 6,	  /* stopped by a protection */
	INV_EXIT_LOST = 7,	  /* done, but events were lost */
};

struct inv_cmd {
	const char *name;
	const char *summary;
	/* argv[0] is "inviso NAME", for messages; returns enum inv_exit. */
	int (*exec)(int argc, char **argv);
};

extern const struct inv_cmd inv_cmd_autostart;
extern const struct inv_cmd inv_cmd_case;
extern const struct inv_cmd inv_cmd_fetch;
extern const struct inv_cmd inv_cmd_merge;
extern const struct inv_cmd inv_cmd_ms;
extern const struct inv_cmd inv_cmd_record;
extern const struct inv_cmd inv_cmd_recover;
extern const struct inv_cmd inv_cmd_status;
extern const struct inv_cmd inv_cmd_stop;
extern const struct inv_cmd inv_cmd_trace;

#endif
