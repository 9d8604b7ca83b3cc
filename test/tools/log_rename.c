/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies a log of one file as if a node with another name had written it, for
 * test/ct/inviso_hostile_SUITE.erl.
 *
 *	log_rename IN OUT NAME
 *
 * NAME is a file whose bytes are the node's name. The head of the copy contains
 * this name, another id of the tracer, and a valid checksum.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "abi/log.h"

#define MAX (64u * 1024)

static uint8_t *read_file(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	uint8_t *p = NULL;
	long size;

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 ||
	    fseek(f, 0, SEEK_SET))
		exit(1);
	*n = (size_t)size;
	p = malloc(*n + 1);
	if (!p || fread(p, 1, *n, f) != *n)
		exit(1);
	fclose(f);
	return p;
}

int main(int argc, char **argv)
{
	static uint8_t out[2 * MAX];
	struct inv_log_head head;
	uint8_t *log, *name, *w = out + sizeof(head);
	size_t n, len, old, rest;
	uint64_t sum;
	FILE *f;

	if (argc != 4)
		return 2;
	log = read_file(argv[1], &n);
	name = read_file(argv[3], &len);
	if (n < sizeof(head) + 2 || len > MAX - 1)
		return 1;
	memcpy(&head, log, sizeof(head));
	old = log[sizeof(head)] + 256u * log[sizeof(head) + 1];
	rest = head.head_len - sizeof(head) - 2 - old - 8;
	*w++ = (uint8_t)len;
	*w++ = (uint8_t)(len >> 8);
	memcpy(w, name, len);
	memcpy(w + len, log + sizeof(head) + 2 + old, rest);
	w += len + rest;
	sum = XXH64(name, len, head.created_ns);
	memcpy(head.uuid, &sum, sizeof(sum));
	n -= head.head_len;
	log += head.head_len;
	head.head_len = (uint32_t)(w - out + 8);
	memcpy(out, &head, sizeof(head));
	sum = XXH64(out, head.head_len - 8, 0);
	memcpy(w, &sum, sizeof(sum));
	f = fopen(argv[2], "wb");
	if (!f || fwrite(out, 1, head.head_len, f) != head.head_len ||
	    fwrite(log, 1, n, f) != n || fclose(f))
		return 1;
	return 0;
}
