/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/dir_inputs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool inv_is_dir(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static bool ends_with(const char *name, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len > n && !memcmp(name + len - n, end, n);
}

/* Returns true if the name ends with .log, .ti or .log.NUMBER. The number is
 * that of a rotated file. */
static int is_log(const struct dirent *e)
{
	const char *name = e->d_name;
	size_t len = strlen(name);

	while (len > 0 && name[len - 1] >= '0' && name[len - 1] <= '9')
		len--;
	if (len > 0 && name[len] && name[len - 1] == '.')
		len--;
	else
		len = strlen(name);
	return name[0] != '.' && (ends_with(name, len, ".log") ||
				  ends_with(name, strlen(name), ".ti"));
}

static int add(struct inv_inputs *in, const char *dir, const char *name,
	       struct inv_err *err)
{
	char *path;
	int rc;

	/* A path that begins with ./ is not mistaken for NODE=FILE. */
	if (asprintf(&path, "%s%s/%s", strchr(dir, '/') ? "" : "./", dir,
		     name) < 0)
		return inv_err_set(err, INV_ENOMEM, "no memory");
	rc = inv_is_dir(path) ? 0 : inv_inputs_add(in, path, err);
	free(path);
	return rc;
}

int inv_dir_add(struct inv_inputs *in, const char *path, struct inv_err *err)
{
	struct dirent **names;
	int n = scandir(path, &names, is_log, alphasort);
	int rc = 0;

	if (n < 0)
		return inv_err_sys(err, errno, "%s", path);
	for (int i = 0; i < n; i++) {
		if (!rc)
			rc = add(in, path, names[i]->d_name, err);
		free(names[i]);
	}
	free(names);
	return n ? rc :
		   inv_err_set(err, INV_EINVAL,
			       "%s: there is no *.log and no *.ti file in this "
			       "directory",
			       path);
}
