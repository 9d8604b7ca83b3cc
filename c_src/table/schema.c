/* SPDX-License-Identifier: Apache-2.0 */
#include "table/schema.h"

#include <stdio.h>

#define COLUMN(id, kind, name) { name, INV_COLUMN_##kind },
static const struct inv_column EVENTS[] = { INV_EVENTS_COLUMNS(COLUMN) };
static const struct inv_column CALLS[] = { INV_CALLS_COLUMNS(COLUMN) };
static const struct inv_column MESSAGES[] = { INV_MESSAGES_COLUMNS(COLUMN) };
static const struct inv_column PROCESSES[] = { INV_PROCESSES_COLUMNS(COLUMN) };
static const struct inv_column COLLECTIONS[] = { INV_COLLECTIONS_COLUMNS(
	COLUMN) };
static const struct inv_column LOSSES[] = { INV_LOSSES_COLUMNS(COLUMN) };
static const struct inv_column NODES[] = { INV_NODES_COLUMNS(COLUMN) };
static const struct inv_column REQUESTS[] = { INV_REQUESTS_COLUMNS(COLUMN) };
static const struct inv_column COUNTS[] = { INV_COUNTS_COLUMNS(COLUMN) };

static const struct inv_column HISTOGRAMS[] = { INV_HISTOGRAMS_COLUMNS(
	COLUMN) };

#define TABLE(id, name) { name, id, INV_##id##_COUNT },
#define CHECK(id, name)                                           \
	_Static_assert(INV_##id##_COUNT <= INV_TABLE_COLUMNS_MAX, \
		       "cells have room for all columns");
INV_TABLES(CHECK)

const struct inv_table inv_tables[INV_TABLE_COUNT] = { INV_TABLES(TABLE) };

unsigned inv_column_parts(const struct inv_column *c)
{
	switch (c->kind) {
	case INV_COLUMN_PROCESS:
		return 3;
	case INV_COLUMN_FUNCTION:
		return 4;
	default:
		return 1;
	}
}

void inv_column_name(const struct inv_column *c, unsigned part,
		     char name[INV_COLUMN_NAME_MAX])
{
	static const char *const process[] = { "node", "pid", "name" };
	static const char *const function[] = { "module", "function", "arity",
						"mfa" };

	if (c->kind == INV_COLUMN_PROCESS)
		snprintf(name, INV_COLUMN_NAME_MAX, "%s%s", c->name,
			 process[part]);
	else
		snprintf(name, INV_COLUMN_NAME_MAX, "%s",
			 c->kind == INV_COLUMN_FUNCTION ? function[part] :
							  c->name);
}
