#!/bin/sh
# Measures our package beside its peers in one run; options go to `python -m benchmarks.peers`.
# The peers live in .venv-peers: their old dependencies must not reach the development environment.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh

venv=.venv-peers
pins=benchmarks/peers-requirements.txt
stamp=$venv/.installed

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

# constraints.txt without the packages that the peers pin: there the peers win.
remaining_constraints() {
    awk -F '==' 'function norm(s) { s = tolower(s); gsub(/[-_.]+/, "-", s); return s }
        /^[ \t]*(#|$)/ { next }
        NR == FNR { taken[norm($1)] = 1; next }
        !(norm($1) in taken)' "$pins" constraints.txt
}

current() {
    [ -f "$stamp" ] && [ -z "$(find "$pins" constraints.txt pyproject.toml "$0" -newer "$stamp" 2>/dev/null)" ]
}

if ! current; then
    say "installing the peers into $venv (once)"
    create_venv || die "could not create $venv"
    # The environment ignores itself, wherever it is created.
    echo '*' > "$venv/.gitignore"
    [ ! -f constraints.txt ] || remaining_constraints > "$venv/constraints.txt"
    [ -f "$venv/constraints.txt" ] || : > "$venv/constraints.txt"
    install --constraint "$venv/constraints.txt" -r "$pins"
    install --constraint "$venv/constraints.txt" --constraint "$pins" hatchling editables
    install --constraint "$venv/constraints.txt" --constraint "$pins" --no-build-isolation \
        --editable '.[analysis]'
    touch "$stamp"
fi

exec "$venv/bin/python" -m benchmarks.peers "$@"
