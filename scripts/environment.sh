# An environment beside .venv, for packages that must not share it; to be sourced after lib.sh, not run.
# shellcheck shell=sh
# The caller sets `venv`, its folder, and then says:
#   if ! environment_is_current FILE...; then create_environment; install ...; environment_is_complete; fi

# The development environment's interpreter, so that both environments run the same Python.
base=.venv/bin/python
[ -x "$base" ] || base=${PYTHON:-python3}

uv=$(command -v uv || true)
if [ -z "$uv" ] && [ -x .venv/bin/uv ]; then uv=.venv/bin/uv; fi

# environment_is_current FILE...: whether it was completed after the last change of these files.
environment_is_current() {
    [ -f "$venv/.installed" ] &&
        [ -z "$(find constraints.txt pyproject.toml scripts/environment.sh "$@" -newer "$venv/.installed" 2>/dev/null)" ]
}

create_environment() {
    "$base" -m venv --clear "$venv" >/dev/null 2>&1 ||
        { [ -n "$uv" ] && "$uv" venv --quiet --clear --seed --python "$base" "$venv"; } ||
        die "could not create $venv"
    # It ignores itself, wherever it is created.
    echo '*' > "$venv/.gitignore"
}

# As in setup-venv.sh: pip is asked where uv finds no packages.
install() {
    if [ -n "$uv" ]; then
        UV_NATIVE_TLS=1 UV_SYSTEM_CERTS=1 "$uv" pip install --quiet --python "$venv/bin/python" "$@" && return
        say "uv could not install; trying pip"
    fi
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
}

# remaining_constraints PINS: constraints.txt without the packages that PINS names, which win.
remaining_constraints() {
    awk -F '==' 'function norm(s) { s = tolower(s); gsub(/[-_.]+/, "-", s); return s }
        /^[ \t]*(#|$)/ { next }
        NR == FNR { taken[norm($1)] = 1; next }
        !(norm($1) in taken)' "$1" constraints.txt
}

environment_is_complete() { touch "$venv/.installed"; }
