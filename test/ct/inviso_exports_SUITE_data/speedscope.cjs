// SPDX-License-Identifier: Apache-2.0
// Checks a file with the schema that speedscope has: speedscope.cjs NPM FILE
const fs = require('fs');
const [, , npm, file] = process.argv;
const Ajv = require(npm + '/node_modules/ajv');
const schema = JSON.parse(fs.readFileSync(
	npm + '/node_modules/speedscope/dist/release/file-format-schema.json'));
const check = new (Ajv.default || Ajv)({ strict: false }).compile(schema);
if (!check(JSON.parse(fs.readFileSync(file)))) {
	console.log(check.errors);
	process.exit(1);
}
