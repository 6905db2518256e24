#!/bin/sh
# Runs the tests of the engines with the oldest versions of DuckDB, Spark's client, Arrow, pandas and NumPy that
# pyproject.toml allows, Spark's client on pysail.
# They live in .venv-oldest. Options go to pytest. Then the wheel is installed with the oldest version of everything that
# it needs, into .venv-oldest-wheel, and answers a question in an empty folder.
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
"$venv/bin/python" -m pytest -q -n 0 \
    tests/engines/test_duckdb.py tests/engines/test_odd_rows.py tests/engines/test_spark.py "$@"

venv=.venv-oldest-wheel
create_environment
# All lower bounds of the extras that a researcher installs.
sed -n '/^analysis = \[/,/^\]/s/.*"\([a-z-]*\)>=\([0-9.]*\)".*/\1==\2/p' pyproject.toml > "$venv/pins.txt"
oldest matplotlib >> "$venv/pins.txt"
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
"$base" -m build --wheel --no-isolation --outdir "$wheels" . >/dev/null
install -r "$venv/pins.txt" "$(ls "$wheels"/*.whl)[analysis,plot]"
say "the wheel with $(tr '\n' ' ' < "$venv/pins.txt")"
python=$PWD/$venv/bin/python
cd "$wheels"
"$python" -c '
import sottovoce as sv
m = sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=1)
message = sv.Client.from_spec(m.spec(), limit=1).report("yes")
assert m.tally([message]).n == 1 and sv.audit(m).ok
estimate = m.estimate(m.tally(m.privatize(["yes"] * 700 + ["no"] * 300, seed=1)))
low, high = estimate.ci()
assert low[0] < 0.7 < high[0]
assert len(estimate.to_frame()) == 2 and estimate.plot()
'
"$python" -m sottovoce plan mean --low 0 --high 14 --epsilon 1 --participants 3000 >/dev/null
"$python" -m sottovoce plan --help >/dev/null
say "the wheel answers with the oldest versions"
