// SPDX-License-Identifier: Apache-2.0
// Compares tables in Parquet files, as ClickHouse reads them, with rows in JSON:
//
//	clickhouse.js NPM DIRECTORY ROWS
//
// The arguments are those of parquet.js. With --query the program prints the result
// of a query instead: clickhouse.js NPM --query SQL
const fs = require('fs');
const [, , npm, directory, last] = process.argv;
const { query } = require(npm + '/node_modules/chdb');

function run(sql) {
	return query(sql, 'JSONCompactStringsEachRow').split('\n').filter((l) => l)
		.map((l) => JSON.parse(l));
}

// Times in ns, and 0 or 1, as in SQLite.
function column(name, type) {
	const quoted = '`' + name + '`';
	if (type.includes('DateTime64'))
		return 'toString(toUnixTimestamp64Nano(' + quoted + '))';
	if (type.includes('Bool'))
		return 'toString(toUInt8(' + quoted + '))';
	return 'toString(' + quoted + ')';
}

// A row as a text, in which NULL is not a text.
function row(columns) {
	return 'toJSONString(tuple(' + columns.join(', ') + '))';
}

function source(table) {
	if (fs.existsSync(table + '.parquet'))
		return `file('${table}.parquet', 'Parquet')`;
	return fs.existsSync(table) && `file('${table}/**/*.parquet', 'Parquet')`;
}

function compare(name) {
	const from = source(fs.realpathSync(directory) + '/' + name.replace('.json', ''));
	const columns = from ? run(`DESCRIBE ${from}
		SETTINGS use_hive_partitioning = 0`) : [];
	const found = from ? run('SELECT ' +
		row(columns.map((c) => column(c[0], c[1]))) + ` FROM ${from}
		SETTINGS use_hive_partitioning = 0`).map((r) => r[0]).sort() : [];
	const wanted = fs.readFileSync(last + '/' + name, 'utf8').split('\n')
		.filter((l) => l)
		.map((l) => JSON.stringify(Object.values(JSON.parse(l)))).sort();
	const plain = (t) => t && JSON.stringify(JSON.parse(t));
	for (let i = 0; i < Math.max(found.length, wanted.length); i++)
		found[i] = plain(found[i]);
	found.sort();
	for (let i = 0; i < Math.max(found.length, wanted.length); i++)
		if (found[i] !== wanted[i])
			throw Error(`${name}: ${found[i]}\n  instead of ${wanted[i]}`);
	return wanted.length;
}

if (directory === '--query') {
	for (const r of run(last))
		console.log(r.join());
} else {
	let compared = 0;
	for (const name of fs.readdirSync(last))
		compared += compare(name);
	console.log(compared);
}
