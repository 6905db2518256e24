#!/bin/sh
# Writes deploy/requirements.txt: what the image of deploy/Containerfile installs, at the versions of constraints.txt,
# with the SHA-256 of every file that the package index has of them. Run it after a change of constraints.txt.
set -eu
cd "$(dirname "$0")/.."
uv=$(command -v uv || echo .venv/bin/uv)
echo hatchling | UV_NATIVE_TLS=1 UV_SYSTEM_CERTS=1 "$uv" pip compile --quiet pyproject.toml - --extra service \
    --constraint constraints.txt --generate-hashes --python-version 3.12 --python-platform linux \
    --no-annotate --no-header --no-emit-index-url --output-file deploy/requirements.txt
