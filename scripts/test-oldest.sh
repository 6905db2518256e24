#!/bin/sh
# Runs the tests of the engines with the oldest versions of DuckDB, Spark's client, Arrow, pandas and NumPy that
# pyproject.toml allows, Spark's client on pysail.
# They live in .venv-oldest. Options go to pytest.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
venv=.venv-oldest
. scripts/environment.sh

# oldest PACKAGE: the pin of its lower bound in pyproject.toml.
oldest() { sed -n "s/.*\"$1>=\([0-9.]*\)[\",].*/$1==\1/p" pyproject.toml | head -n 1; }

if ! environment_is_current "$0"; then
    say "installing the oldest versions into $venv (once)"
    create_environment
    for package in duckdb pyspark-client pyarrow pandas numpy; do oldest "$package"; done > "$venv/pins.txt"
    # What else is needed is as old as these pins ask for, so that constraints.txt cannot be kept.
    install -r "$venv/pins.txt" hatchling editables pytest pytest-xdist hypothesis pysail
    install --constraint "$venv/pins.txt" --no-build-isolation --editable '.[analysis,duckdb,spark]'
    environment_is_complete
fi

say "$(tr '\n' ' ' < "$venv/pins.txt")"
exec "$venv/bin/python" -m pytest -q -n 0 \
    tests/engines/test_duckdb.py tests/engines/test_odd_rows.py tests/engines/test_spark.py "$@"
