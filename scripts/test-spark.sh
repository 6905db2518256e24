#!/bin/sh
# Runs the tests of the Spark engine on real Spark, classic and through Spark Connect: a master and two workers, each a
# process of its own. Options go to pytest: `-m long` runs a million reports of every statistic.
# They live in .venv-spark, because `pyspark` and `pyspark-client` bring the same package. SPARK_VERSION=4.0.0 tries
# another version than that of the client that `make test` uses, in an environment of its own.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh
version=${SPARK_VERSION:-}
venv=.venv-spark${version:+-$version}
. scripts/environment.sh

command -v java >/dev/null 2>&1 || apt_install openjdk-17-jre-headless || apt_install default-jre-headless ||
    die "Spark needs Java; run: sudo apt-get install openjdk-17-jre-headless"

if ! environment_is_current "$0"; then
    say "installing Spark into $venv (once; about 500 megabytes)"
    create_environment
    [ -n "$version" ] || version=$(sed -n 's/^pyspark-client==//p' constraints.txt)
    install --constraint constraints.txt hatchling editables setuptools wheel pytest pytest-xdist hypothesis
    install --constraint constraints.txt --no-build-isolation "pyspark[connect]==$version"
    install --constraint constraints.txt --no-build-isolation --editable '.[analysis,duckdb]'
    environment_is_complete
fi

exec "$venv/bin/python" -m scripts.spark_cluster "$@"
