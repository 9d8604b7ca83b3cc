/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies a log of one file as if other nodes had written it at another time,
 * for test/ct/inviso_many_nodes_SUITE.erl.
 *
 *	log_copies IN DIR FIRST LAST BEGIN
 *
 * IN is a log of a node without distribution, such as quiet.log. The copies are
 * the logs DIR/nFIRST@shop.lan-quiet.log to DIR/nLAST@shop.lan-quiet.log, with
 * three digits for each number. They begin BEGIN seconds after the Unix epoch.
 * The copies differ from IN in the node's name, the clocks and the tracer's id.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "abi/log.h"

/* Both names have the same length, so no length in the log changes. */
#define OLD "nonode@nohost"
#define NEW "n%03u@shop.lan"
#define NAME (sizeof(OLD) - 1)

struct copy {
	uint8_t from[NAME + 1]; /* the name to replace */
	uint8_t to[NAME + 1];
	unsigned number;
	uint32_t begin; /* seconds since the Unix epoch */
	uint64_t later; /* ns to add to the clocks */
};

static void rename_node(uint8_t *p, size_t n, const struct copy *c)
{
	for (size_t i = 0; i + NAME <= n; i++)
		if (p[i] == 'n' && !memcmp(p + i, c->from, NAME))
			memcpy(p + i, c->to, NAME);
}

static void make_head(uint8_t *log, struct copy *c)
{
	struct inv_log_head head;
	uint64_t sum;

	memcpy(&head, log, sizeof(head));
	head.uuid[0] = (uint8_t)c->number;
	head.uuid[1] = (uint8_t)(c->number >> 8);
	memcpy(head.uuid + 2, &c->begin, sizeof(c->begin));
	c->later = c->begin * UINT64_C(1000000000) - head.created_ns;
	head.created_ns += c->later;
	memcpy(log, &head, sizeof(head));
	rename_node(log + sizeof(head), head.head_len - sizeof(head) - 8, c);
	sum = XXH64(log, head.head_len - 8, 0);
	memcpy(log + head.head_len - 8, &sum, 8);
}

static void make_anchors(uint8_t *body, size_t n, const struct copy *c)
{
	struct inv_anchor a;

	for (size_t i = 0; i + sizeof(a) <= n; i += sizeof(a)) {
		memcpy(&a, body + i, sizeof(a));
		a.offset += (int64_t)c->later;
		a.real += (int64_t)c->later;
		memcpy(body + i, &a, sizeof(a));
	}
}

static void make_packets(uint8_t *p, const uint8_t *end, const struct copy *c)
{
	while (p < end) {
		struct inv_log_packet h;
		uint8_t *body;

		memcpy(&h, p, sizeof(h));
		if (h.sync != INV_LOG_SYNC || h.codec != INV_CODEC_NONE)
			exit(3);
		body = p + h.head_len;
		if (h.type == INV_LOG_EVENTS)
			rename_node(body, h.body_len, c);
		else if (h.type == INV_LOG_ANCHORS)
			make_anchors(body, h.body_len, c);
		h.body_sum = XXH64(body, h.body_len, 0);
		h.head_sum =
			XXH64(&h, offsetof(struct inv_log_packet, head_sum), 0);
		memcpy(p, &h, sizeof(h));
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

static void write_file(const char *dir, const struct copy *c, const char *in,
		       const uint8_t *p, size_t n)
{
	const char *slash = strrchr(in, '/');
	char path[4096];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s-%s", dir, (const char *)c->to,
		       slash ? slash + 1 : in);
	f = fopen(path, "wb");
	if (!f || fwrite(p, 1, n, f) != n || fclose(f))
		exit(1);
}

int main(int argc, char **argv)
{
	struct copy c = { .from = OLD };
	struct inv_log_head head;
	unsigned last;
	uint8_t *log;
	size_t n;

	if (argc != 6)
		return 2;
	c.number = (unsigned)strtoul(argv[3], NULL, 10);
	last = (unsigned)strtoul(argv[4], NULL, 10);
	c.begin = (uint32_t)strtoul(argv[5], NULL, 10);
	log = read_file(argv[1], &n);
	if (n < sizeof(head))
		return 3;
	memcpy(&head, log, sizeof(head));
	if (head.head_len > n || last > 999)
		return 3;
	for (; c.number <= last; c.number++) {
		(void)snprintf((char *)c.to, sizeof(c.to), NEW, c.number);
		make_head(log, &c);
		make_packets(log + head.head_len, log + n, &c);
		write_file(argv[2], &c, argv[1], log, n);
		memcpy(c.from, c.to, sizeof(c.from));
	}
	free(log);
	return 0;
}
