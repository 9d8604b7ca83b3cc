/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies a log of one file as if other nodes had written it, for
 * test/ct/inviso_many_nodes_SUITE.erl.
 *
 *	log_copies IN DIR N
 *
 * The name of IN's node begins with `n000'. The logs DIR/n000.log, n001.log, ... of
 * N nodes, at most 1000, differ in this name and in the tracer's id.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "abi/log.h"

#define NAME 4u /* bytes of n000 */

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

/* Replaces this node's name, in the original and in an earlier copy. */
static void rename_node(uint8_t *p, size_t n, const uint8_t *node, size_t len,
			const char *name)
{
	for (size_t i = 0; i + len <= n; i++)
		if (p[i] == 'n' && is_digit(p[i + 1]) && is_digit(p[i + 2]) &&
		    is_digit(p[i + 3]) &&
		    !memcmp(p + i + NAME, node + NAME, len - NAME))
			memcpy(p + i, name, NAME);
}

static void make_head(uint8_t *log, const uint8_t *node, size_t len,
		      unsigned number, const char *name)
{
	struct inv_log_head head;
	uint64_t sum;

	memcpy(&head, log, sizeof(head));
	head.uuid[0] = (uint8_t)number;
	head.uuid[1] = (uint8_t)(number >> 8);
	memcpy(log, &head, sizeof(head));
	rename_node(log + sizeof(head), head.head_len - sizeof(head) - 8, node,
		    len, name);
	sum = XXH64(log, head.head_len - 8, 0);
	memcpy(log + head.head_len - 8, &sum, 8);
}

static void make_packets(uint8_t *p, const uint8_t *end, const uint8_t *node,
			 size_t len, const char *name)
{
	while (p < end) {
		struct inv_log_packet h;
		uint8_t *body;

		memcpy(&h, p, sizeof(h));
		if (h.sync != INV_LOG_SYNC || h.codec != INV_CODEC_NONE)
			exit(3);
		body = p + h.head_len;
		if (h.type == INV_LOG_EVENTS) {
			rename_node(body, h.body_len, node, len, name);
			h.body_sum = XXH64(body, h.body_len, 0);
			h.head_sum = XXH64(
				&h, offsetof(struct inv_log_packet, head_sum),
				0);
			memcpy(p, &h, sizeof(h));
		}
		p = body + h.body_len;
	}
}

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

static void write_file(const char *dir, const char *name, const uint8_t *p,
		       size_t n)
{
	char path[4096];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s.log", dir, name);
	f = fopen(path, "wb");
	if (!f || fwrite(p, 1, n, f) != n || fclose(f))
		exit(1);
}

int main(int argc, char **argv)
{
	struct inv_log_head head;
	uint8_t node[256];
	uint16_t len;
	uint8_t *log;
	size_t n;
	unsigned nodes;

	if (argc != 4)
		return 2;
	nodes = (unsigned)strtoul(argv[3], NULL, 10);
	log = read_file(argv[1], &n);
	if (n < sizeof(head) + 2)
		return 3;
	memcpy(&head, log, sizeof(head));
	memcpy(&len, log + sizeof(head), 2);
	if (len < NAME || len > sizeof(node) || sizeof(head) + 2 + len > n)
		return 3;
	memcpy(node, log + sizeof(head) + 2, len);
	if (memcmp(node, "n000", NAME) != 0 || nodes > 1000)
		return 2;
	for (unsigned i = 0; i < nodes; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "n%03u", i);
		make_head(log, node, len, i, name);
		make_packets(log + head.head_len, log + n, node, len, name);
		write_file(argv[2], name, log, n);
	}
	free(log);
	return 0;
}
