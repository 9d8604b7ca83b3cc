#!/bin/sh
# Installs the packages of npm with which tests check outputs, in build/npm, if
# npm exists and its registry can be reached. Tests that need a package are
# skipped without it.
set -eu
cd "$(dirname "$0")/.."

# speedscope: the schema of its file format; ajv checks JSON against a schema
packages='speedscope@1 ajv@8'

command -v npm >/dev/null || exit 0
[ "$(cat build/npm/packages 2>/dev/null)" != "$packages" ] || exit 0
mkdir -p build/npm
# shellcheck disable=SC2086  # a list of words
if timeout 60 npm install --prefix build/npm --silent --no-audit --no-fund \
	--ignore-scripts --fetch-retries 1 --fetch-timeout 20000 \
	$packages </dev/null >/dev/null 2>&1; then
	echo "$packages" >build/npm/packages
else
	echo 'npm.sh: the registry of npm cannot be reached; some tests are skipped' >&2
fi
