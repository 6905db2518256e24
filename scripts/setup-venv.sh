#!/bin/sh
# Creates .venv with every extra and the development tools, at the versions of constraints.txt.
# `make` calls it only when pyproject.toml, constraints.txt or this file changed.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh

# Prints the first interpreter that really starts and is new enough (a version manager's shim may exist
# and still refuse to run).
find_python() {
    for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
        [ -n "$candidate" ] || continue
        "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || continue
        "$candidate" -c 'import sys; print(sys.executable)'
        return 0
    done
    return 1
}

create_venv() {
    python=$(find_python) ||
        die "no Python 3.11 or newer was found; install one, or name it: make PYTHON=/path/to/python3.11"
    # Debian ships Python without ensurepip, and then the standard venv module cannot work.
    if ! "$python" -c 'import ensurepip' >/dev/null 2>&1; then
        if command -v uv >/dev/null 2>&1; then
            uv venv --quiet --clear --seed --python "$python" .venv
            return
        fi
        package="python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
        apt_install "$package" || die "Python lacks its venv module; run: sudo apt-get install $package"
    fi
    "$python" -m venv --clear .venv
}

# uv knows the machine's certificates only when told; pip's own settings it never reads, so where uv
# finds no packages pip is asked.
install() {
    if [ -n "$uv" ]; then
        UV_NATIVE_TLS=1 UV_SYSTEM_CERTS=1 "$uv" pip install --quiet --python .venv/bin/python \
            --constraint constraints.txt "$@" && return
        say "uv could not install; trying pip"
        uv=""
    fi
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt "$@"
}

.venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || create_venv

uv=$(command -v uv || true)
if [ -z "$uv" ]; then
    [ -x .venv/bin/uv ] || .venv/bin/python -m pip install --quiet --disable-pip-version-check \
        --constraint constraints.txt uv >/dev/null 2>&1 || true
    if [ -x .venv/bin/uv ]; then uv=.venv/bin/uv; fi
fi

say "installing into .venv with ${uv:-pip} (once; about two gigabytes)"
# The build back-ends first, pinned (the Spark client comes as source); then the package without build isolation,
# which would fetch others.
install hatchling editables setuptools wheel
install --no-build-isolation --editable '.[all,dev]'
# Reproductions and coverage studies, a package beside the first; its one dependency is installed already.
install --no-build-isolation --no-deps --editable ./experiments
