/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/helper.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"

int inv_helper_path(const char *program, char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash;

	if (n < 0)
		return -1;
	path[n] = 0;
	slash = strrchr(path, '/');
	if (!slash || strlen(program) + 2 > (size_t)(path + PATH_MAX - slash)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(slash + 1, program, strlen(program) + 1);
	return 0;
}

static int failed(const char *helper, const char *command, const char *path)
{
	if (errno == ENOENT)
		fprintf(stderr,
			"inviso %s: needs the program %s, which is not "
			"installed: there is no %s. Build inviso with all "
			"packages of tools/apt-packages (make deps), and "
			"install it again\n",
			command, helper, path);
	else
		fprintf(stderr, "inviso %s: cannot run %s: %s\n", command, path,
			strerror(errno)); /* NOLINT: one thread */
	return INV_EXIT_FAILED;
}

int inv_helper_exec(const char *helper, const char *command, int argc,
		    char **argv)
{
	char **args = calloc((size_t)argc + 2, sizeof(*args));
	char path[PATH_MAX] = "";

	if (!args) {
		fprintf(stderr, "inviso %s: no memory\n", command);
		return INV_EXIT_FAILED;
	}
	/* Messages name the command that the user gave. */
	args[0] = (char *)(uintptr_t) "inviso";
	args[1] = (char *)(uintptr_t)command;
	for (int i = 1; i < argc; i++)
		args[i + 1] = argv[i];
	if (!inv_helper_path(helper, path))
		execv(path, args);
	failed(helper, command, path);
	free(args);
	return INV_EXIT_FAILED;
}
