// SPDX-License-Identifier: Apache-2.0
// Runs statements in one session of DuckDB or ClickHouse:
//
//	queries.js NPM duckdb|clickhouse SQL...
//
// Prints a line for each statement: an object with the names of the columns, the
// rows as texts, and the time in ms.
const [, , npm, engine, ...statements] = process.argv;

const open = {
	async duckdb() {
		const { DuckDBInstance } = require(npm + '/node_modules/@duckdb/node-api');
		const connection = await (await DuckDBInstance.create(':memory:')).connect();
		return async (sql) => {
			const result = await connection.runAndReadAll(sql);
			return [result.columnNames(), ...result.getRows()];
		};
	},
	async clickhouse() {
		const { Session } = require(npm + '/node_modules/chdb');
		const session = new Session();
		process.on('exit', () => session.close());
		return async (sql) => session.query(sql, 'JSONCompactStringsEachRowWithNames')
			.split('\n').filter((l) => l).map((l) => JSON.parse(l));
	},
};

async function main() {
	const run = await open[engine]();
	for (const sql of statements) {
		const begin = Date.now();
		const [names, ...rows] = await run(sql)
			.catch((e) => { throw Error(`${e.message || e}\n${sql}`); });
		console.log(JSON.stringify({
			names: names || [],
			rows: rows.map((r) => r.map((v) => v === null ? null : String(v))),
			ms: Date.now() - begin,
		}));
	}
}

main().catch((e) => { console.error(e.message || e); process.exit(1); });
