// SPDX-License-Identifier: Apache-2.0
// Compares tables in Parquet files, as DuckDB reads them, with rows in JSON:
//
//	parquet.js NPM DIRECTORY ROWS
//
// DIRECTORY has the files TABLE.parquet or, with --partition, directories TABLE
// with files of the rows of a node and an hour. ROWS has the files TABLE.json, with an
// object on each line, whose values are texts or null. The order of rows is
// ignored. With --query the program prints the rows of a query instead:
// parquet.js NPM --query SQL
const fs = require('fs');
const [, , npm, directory, last] = process.argv;
const { DuckDBInstance } = require(npm + '/node_modules/@duckdb/node-api');

// Times in ns, and 0 or 1, as in SQLite.
function column(name, type) {
	const quoted = '"' + name + '"';
	if (type.startsWith('TIMESTAMP'))
		return 'CAST(epoch_ns(' + quoted + ') AS VARCHAR)';
	if (type === 'BOOLEAN')
		return 'CAST(CAST(' + quoted + ' AS INTEGER) AS VARCHAR)';
	return 'CAST(' + quoted + ' AS VARCHAR)';
}

function sorted(rows) {
	return rows.map((r) => JSON.stringify(r)).sort();
}

// What to read in SQL. A table without rows has no directory.
function source(table) {
	if (fs.existsSync(table + '.parquet'))
		return `'${table}.parquet'`;
	return fs.existsSync(table) &&
		`read_parquet('${table}/**/*.parquet', hive_partitioning = false)`;
}

async function main() {
	const db = await DuckDBInstance.create(':memory:');
	const connection = await db.connect();
	const rows = async (q) => (await connection.runAndReadAll(q)).getRows()
		.map((r) => r.map((v) => v === null ? null : String(v)));

	if (directory === '--query') {
		for (const r of await rows(last))
			console.log(r.join());
		return;
	}
	let compared = 0;
	for (const name of fs.readdirSync(last)) {
		const from = source(directory + '/' + name.replace('.json', ''));
		const columns = from ? await rows(`DESCRIBE SELECT * FROM ${from}`) : [];
		const found = from ? sorted(await rows('SELECT ' +
			columns.map((c) => column(c[0], c[1])).join(', ') +
			` FROM ${from}`)) : [];
		const expected = fs.readFileSync(last + '/' + name, 'utf8').split('\n')
			.filter((l) => l).map((l) => JSON.parse(l));
		for (const o of expected.slice(0, 1))
			if (String(Object.keys(o)) !== String(columns.map((c) => c[0])))
				throw Error(`${name}: other columns`);
		const wanted = sorted(expected.map((o) => Object.values(o)));
		for (let i = 0; i < Math.max(found.length, wanted.length); i++)
			if (found[i] !== wanted[i])
				throw Error(`${name}: ${found[i]}\n  instead of ${wanted[i]}`);
		compared += wanted.length;
	}
	console.log(compared);
}

main().catch((e) => { console.error(e.message || e); process.exit(1); });
