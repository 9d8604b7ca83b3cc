/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target on files, and on all files in directories. It needs no
 * fuzzer, so tests can repeat a fuzzer's inputs with any compiler. Each input
 * is in memory of exactly its size, so that a sanitizer notices a read after
 * its end.
 *
 *	TARGET_replay FILE-OR-DIRECTORY...
 */
#include <fts.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path, size_t size)
{
	uint8_t *data = malloc(size ? size : 1);
	FILE *f = fopen(path, "rb");
	int bad = !data || !f || fread(data, 1, size, f) != size;

	if (bad) {
		perror(path);
	} else {
		/* Printed before the run, in case the run crashes. */
		printf("%s (%zu bytes)\n", path, size);
		fflush(stdout);
		LLVMFuzzerTestOneInput(data, size);
	}
	if (f)
		fclose(f);
	free(data);
	return bad;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

int main(int argc, char **argv)
{
	FTS *tree;
	FTSENT *e;
	unsigned n = 0;
	int bad = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: %s FILE-OR-DIRECTORY...\n", argv[0]);
		return 2;
	}
	tree = fts_open(argv + 1, FTS_LOGICAL | FTS_NOCHDIR, by_name);
	if (!tree) {
		perror("fts_open");
		return 1;
	}
	while ((e = fts_read(tree)) != NULL) {
		if (e->fts_info == FTS_F) {
			bad |= replay(e->fts_path,
				      (size_t)e->fts_statp->st_size);
			n++;
		} else if (e->fts_info == FTS_ERR || e->fts_info == FTS_NS ||
			   e->fts_info == FTS_DNR) {
			fprintf(stderr, "%s: %s\n", e->fts_path,
				strerror(e->fts_errno));
			bad = 1;
		}
	}
	fts_close(tree);
	printf("%u inputs\n", n);
	return bad || n == 0;
}
