/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/views.h"

#include <stddef.h>

#define TIME(ts) "strftime('%Y-%m-%d %H:%M:%f', " ts " / 1e9, 'unixepoch')"
#define MS(ns) "round((" ns ") / 1e6, 3)"

const struct inv_view_def inv_view_defs[] = {
	{ "slowest_calls", "calls by how long they took",
	  "SELECT " MS("duration_ns") " AS ms, " MS(
		  "self_ns") " AS self_ms, "
			     "mfa, args, outcome, result, " TIME(
				     "ts") " AS time, node, pid, "
					   "name, certain, id FROM calls WHERE duration_ns IS NOT NULL "
					   "ORDER BY duration_ns DESC" },
	{ "failures",
	  "calls that failed: exceptions, errors that were returned, and exits",
	  "SELECT " TIME("ts") " AS time, mfa, args, outcome, result, " MS(
		  "duration_ns") " AS ms, node, pid, name, id FROM calls "
				 "WHERE failed ORDER BY id" },
	{ "failures_by_function", "functions by how many of their calls failed",
	  "SELECT mfa, sum(failed IS 1) AS failures, count(*) AS calls, "
	  "round(100.0 * sum(failed IS 1) / count(*), 2) AS percent, "
	  "max(CASE WHEN failed THEN result END) AS example "
	  "FROM calls GROUP BY mfa HAVING failures ORDER BY failures DESC" },
	{ "unfinished_calls", "calls whose end was not recorded",
	  "SELECT " TIME(
		  "ts") " AS time, mfa, args, depth, node, pid, name, "
			"id FROM calls WHERE duration_ns IS NULL ORDER BY id" },
	{ "time_by_function",
	  "functions by the time that their calls took themselves",
	  "SELECT mfa, count(*) AS calls, count(duration_ns) AS ended, "
	  "sum(failed IS 1) AS failed, " MS("sum(self_ns)") " AS self_ms, " MS("sum(duration_ns)") " AS total_ms, " MS(
		  "avg(duration_ns)") " AS mean_ms, " MS("max(duration_ns)") " AS max_ms "
									     "FROM calls GROUP BY mfa ORDER BY sum(self_ns) DESC" },
	{ "latencies", "quantiles of the times of calls, for each function",
	  "WITH ranked AS (SELECT mfa, duration_ns, row_number() OVER "
	  "(PARTITION BY mfa ORDER BY duration_ns) AS i, count(*) OVER "
	  "(PARTITION BY mfa) AS n FROM calls WHERE duration_ns IS NOT NULL) "
	  "SELECT mfa, n AS ended, " MS("min(duration_ns)") " AS min_ms, " MS("min(CASE WHEN 100 * i >= 50 * n THEN duration_ns END)") " AS p50_ms, " MS("min(CASE WHEN 100 * i >= 90 * n THEN duration_ns END)") " AS p90_ms, " MS(
		  "min(CASE WHEN 100 * i >= 99 * n THEN duration_ns END)") " AS p99_ms, " MS("max(duration_ns)") " AS max_ms "
														 "FROM ranked GROUP BY mfa ORDER BY n DESC" },
	{ "time_by_process",
	  "kinds of processes by what their calls took; processes without a "
	  "name are one kind",
	  "SELECT node, coalesce(name, '(no name)') AS kind, "
	  "count(*) AS processes, sum(events) AS events, sum(calls) AS calls, " MS("sum(self_ns)") " AS self_ms, " MS(
		  "sum(running_ns)") " AS running_ms, " MS("sum(gc_ns)") " AS gc_ms "
									 "FROM processes GROUP BY node, kind ORDER BY sum(self_ns) DESC, "
									 "sum(events) DESC" },
	{ "busiest_mailboxes",
	  "processes by how many messages were sent to them",
	  "SELECT to_node AS node, coalesce(to_name, to_pid) AS process, "
	  "count(DISTINCT to_pid) AS pids, count(*) AS messages, "
	  "count(received_id) AS received, sum(request IS NOT NULL) "
	  "AS of_requests, " MS("avg(wait_ns)") " AS mean_wait_ms, " MS(
		  "max(wait_ns)") " AS max_wait_ms FROM messages "
				  "WHERE coalesce(to_name, to_pid) IS NOT NULL "
				  "GROUP BY node, process ORDER BY messages DESC" },
	{ "slowest_messages", "messages by how long they waited",
	  "SELECT " MS("wait_ns") " AS wait_ms, " TIME(
		  "sent_ts") " AS time, "
			     "from_node, coalesce(from_name, from_pid) AS sender, to_node, "
			     "coalesce(to_name, to_pid) AS receiver, message, matched, request, "
			     "id FROM messages WHERE wait_ns IS NOT NULL "
			     "ORDER BY wait_ns DESC" },
	{ "message_flow",
	  "how many messages kinds of processes sent each other",
	  "SELECT from_node, coalesce(from_name, '(no name)') AS sender, "
	  "to_node, coalesce(to_name, '(no name)') AS receiver, "
	  "count(*) AS messages, sum(request IS NOT NULL) AS of_requests, " MS(
		  "avg(wait_ns)") " AS mean_wait_ms FROM messages "
				  "WHERE sent_ts IS NOT NULL GROUP BY from_node, sender, to_node, "
				  "receiver ORDER BY messages DESC" },
	{ "spawn_storms", "seconds in which processes spawned the most",
	  "SELECT " TIME(
		  "spawned_ts / 1000000000 * 1e9") " AS second, node, "
						   "coalesce(parent_name, parent_pid) AS parent, mfa, "
						   "count(*) AS spawned, count(exited_ts) AS exited, " MS(
							   "avg(exited_ts - spawned_ts)") " AS mean_life_ms "
											  "FROM processes WHERE spawned_ts IS NOT NULL "
											  "GROUP BY spawned_ts / 1000000000, node, parent, mfa "
											  "ORDER BY spawned DESC" },
	{ "abnormal_exits",
	  "processes that exited with another reason than normal",
	  "SELECT " TIME(
		  "exited_ts") " AS time, node, pid, name, reason, mfa, "
			       "events FROM processes WHERE exited_ts IS NOT NULL AND reason NOT IN "
			       "('normal', 'shutdown', ':normal', ':shutdown') "
			       "ORDER BY exited_ts" },
	{ "longest_collections", "garbage collections by how long they took",
	  "SELECT " MS(
		  "duration_ns") " AS ms, major, before_bytes, "
				 "after_bytes, " TIME(
					 "ts") " AS time, node, pid, name, id "
					       "FROM collections ORDER BY duration_ns DESC" },
	{ "slowest_requests", "requests by how long they took",
	  "SELECT " MS(
		  "duration_ns") " AS ms, request, label, events, "
				 "messages, orphans, " TIME(
					 "first_ts") " AS time, node, pid, name "
						     "FROM requests ORDER BY duration_ns DESC" },
	{ "events_by_tag", "how many events of each kind each node has",
	  "SELECT node, tag, count(*) AS events FROM events "
	  "GROUP BY node, tag ORDER BY events DESC" },
	{ "lost_events", "which events were lost, and why",
	  "SELECT node, reason, sum(n) AS lost, count(*) AS places, " TIME("min(ts)") " AS first, " TIME(
		  "max(ts)") " AS last "
			     "FROM losses GROUP BY node, reason ORDER BY lost DESC" },
	{ NULL, NULL, NULL },
};
