// SPDX-License-Identifier: Apache-2.0
// Checks a file with speedscope's own schema: speedscope.cjs NPM FILE
// NPM is the directory that contains node_modules.
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
