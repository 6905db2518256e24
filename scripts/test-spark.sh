#!/bin/sh
# Runs the tests of the Spark engine on real Spark: a master and two workers, each a process of its own.
# They live in .venv-spark, because `pyspark` and `pyspark-client` bring the same package.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh

venv=.venv-spark
stamp=$venv/.installed

command -v java >/dev/null 2>&1 || apt_install openjdk-17-jre-headless || apt_install default-jre-headless ||
    die "Spark needs Java; run: sudo apt-get install openjdk-17-jre-headless"

# The development environment's interpreter, so that both environments run the same Python.
base=.venv/bin/python
[ -x "$base" ] || base=${PYTHON:-python3}

uv=$(command -v uv || true)
if [ -z "$uv" ] && [ -x .venv/bin/uv ]; then uv=.venv/bin/uv; fi

create_venv() {
    "$base" -m venv --clear "$venv" >/dev/null 2>&1 && return
    [ -n "$uv" ] || return 1
    "$uv" venv --quiet --clear --seed --python "$base" "$venv"
}

# As in setup-venv.sh: pip is asked where uv finds no packages.
install() {
    if [ -n "$uv" ]; then
        UV_NATIVE_TLS=1 UV_SYSTEM_CERTS=1 "$uv" pip install --quiet --python "$venv/bin/python" "$@" && return
        say "uv could not install; trying pip"
    fi
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
}

current() {
    [ -f "$stamp" ] && [ -z "$(find constraints.txt pyproject.toml "$0" -newer "$stamp" 2>/dev/null)" ]
}

if ! current; then
    say "installing Spark into $venv (once; about 500 megabytes)"
    create_venv || die "could not create $venv"
    # The environment ignores itself, wherever it is created.
    echo '*' > "$venv/.gitignore"
    # The same version as the client that `make test` uses.
    version=$(sed -n 's/^pyspark-client==//p' constraints.txt)
    install --constraint constraints.txt hatchling editables setuptools wheel pytest pytest-xdist hypothesis
    install --constraint constraints.txt --no-build-isolation "pyspark==$version"
    install --constraint constraints.txt --no-build-isolation --editable '.[analysis,duckdb]'
    touch "$stamp"
fi

exec "$venv/bin/python" -m scripts.spark_cluster tests/engines/test_spark.py tests/engines/test_real_spark.py "$@"
