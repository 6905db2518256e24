#!/bin/sh
# Measures our package beside its peers in one run; options go to `python -m benchmarks.peers`.
# The peers live in .venv-peers: their old dependencies must not reach the development environment.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
venv=.venv-peers
. scripts/environment.sh

pins=benchmarks/peers-requirements.txt

if ! environment_is_current "$pins" "$0"; then
    say "installing the peers into $venv (once)"
    create_environment
    remaining_constraints "$pins" > "$venv/constraints.txt"
    install --constraint "$venv/constraints.txt" -r "$pins"
    install --constraint "$venv/constraints.txt" --constraint "$pins" hatchling editables
    install --constraint "$venv/constraints.txt" --constraint "$pins" --no-build-isolation \
        --editable '.[analysis]'
    environment_is_complete
fi

exec "$venv/bin/python" -m benchmarks.peers "$@"
