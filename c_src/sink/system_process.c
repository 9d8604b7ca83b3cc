/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/system_process.h"

#include <stdlib.h>
#include <string.h>

/* Sorted in the order of strcmp. */
static const char *const names[] = {
	"alarm_handler",
	"application_controller",
	"auth",
	"code_server",
	"erl_epmd",
	"erl_prim_loader",
	"erl_signal_server",
	"erts_code_purger",
	"erts_dirty_process_signal_handler",
	"erts_dirty_process_signal_handler_high",
	"erts_dirty_process_signal_handler_max",
	"erts_literal_area_collector",
	"erts_trace_cleaner",
	"file_server_2",
	"global_group",
	"global_group_check",
	"global_name_server",
	"inet_db",
	"init",
	"kernel_refc",
	"kernel_safe_sup",
	"kernel_sup",
	"logger",
	"logger_handler_watcher",
	"logger_olp",
	"logger_proxy",
	"logger_std_h_default",
	"logger_sup",
	"net_kernel",
	"net_sup",
	"release_handler",
	"rex",
	"sasl_safe_sup",
	"sasl_sup",
	"socket_registry",
	"standard_error",
	"standard_error_sup",
	"timer_server",
	"user",
	"user_drv",
	"user_drv_reader",
	"user_drv_writer",
};

struct key {
	const char *text;
	size_t len;
};

static int compare(const void *a, const void *b)
{
	const struct key *k = a;
	const char *name = *(const char *const *)b;
	int rc = strncmp(k->text, name, k->len);

	return rc ? rc : -(name[k->len] != 0);
}

bool inv_system_process(const char *name, size_t len)
{
	const struct key k = { name, len };

	/* A name in a log can have any bytes, even 0. */
	if (!len || memchr(name, 0, len))
		return false;
	return bsearch(&k, names, sizeof(names) / sizeof(*names),
		       sizeof(*names), compare) != NULL;
}
