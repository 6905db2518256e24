#!/bin/sh
# Builds the browser client into src/sottovoce/service/static, or into the folder that is named.
set -eu
cd "$(dirname "$0")/../clients/web"
# The versions and hashes are those of the lock file. `npm ci` would also ask for packages of other platforms, which not
# every registry has.
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    npm install --no-save --no-audit --no-fund --silent
fi
folder=${1:-../../src/sottovoce/service/static}
rm -f "$folder"/sottovoce*.js
node build.mjs "$folder"
