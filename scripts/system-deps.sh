#!/bin/sh
# Installs what some tests drive and pip cannot bring: PostgreSQL, Chromium, Node.js with npm.
# Quick and silent when nothing is missing. Without rights it only names the command, except in CI.
set -eu
cd "$(dirname "$0")/.."
. scripts/lib.sh

have() { command -v "$1" >/dev/null 2>&1; }

# Debian keeps the server's programs off PATH.
have_postgresql() {
    have postgres && return
    for program in /usr/lib/postgresql/*/bin/postgres; do
        [ -x "$program" ] && return
    done
    return 1
}

is_ubuntu() { grep -qs '^ID=ubuntu' /etc/os-release; }

missing=""
have_postgresql || missing="$missing postgresql"
if ! have chromium && ! have chromium-browser && ! have google-chrome; then
    if is_ubuntu; then missing="$missing chromium-browser"; else missing="$missing chromium"; fi
fi
have node || missing="$missing nodejs"
have npm || missing="$missing npm"
[ -n "$missing" ] || exit 0

left=""
if have apt-get && root_prefix >/dev/null; then
    say "installing$missing"
    # One at a time: what one of them lacks on this system must not keep the others away.
    for package in $missing; do
        apt_install "$package" || left="$left $package"
    done
else
    left="$missing"
fi
[ -n "$left" ] || exit 0

if in_ci; then die "could not install$left, and CI leaves no test out"; fi
say "some tests will be skipped; to run them too: sudo apt-get install$left"
