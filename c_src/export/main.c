/* SPDX-License-Identifier: Apache-2.0 */
/* The helper program for libcurl: `inviso export'. */
#include <curl/curl.h>
#include <stddef.h>

#include "cli/program.h"
#include "export/cmd_export.h"

static const struct inv_cmd *const commands[] = {
	&inv_cmd_export,
	NULL,
};

int main(int argc, char **argv)
{
	int status;

	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return INV_EXIT_FAILED;
	status = inv_program_run(commands, argc, argv);
	curl_global_cleanup();
	return status;
}
