/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INV_PARQUET_PARQUET_H
#define INV_PARQUET_PARQUET_H

#include "sink/sink.h"

/* The format parquet of inviso merge: a directory with a file for each table. */
extern const struct inv_sink_ops inv_sink_parquet;

#endif
