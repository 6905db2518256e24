# Shared by the scripts in this folder; to be sourced, not run.
# shellcheck shell=sh

say() { printf 'sottovoce: %s\n' "$*" >&2; }

die() { say "$*"; exit 1; }

in_ci() { [ "${CI:-}" = "true" ]; }

# The prefix that makes a command run as root: nothing for root itself, sudo where it asks no password.
# Fails when this user has no such right.
root_prefix() {
    if [ "$(id -u)" -eq 0 ]; then
        echo ""
    elif command -v sudo >/dev/null 2>&1 && sudo -n true >/dev/null 2>&1; then
        echo "sudo -n"
    else
        return 1
    fi
}

# apt_install PACKAGE...: fails without rights, without apt, or when the packages cannot be had.
apt_install() {
    command -v apt-get >/dev/null 2>&1 || return 1
    apt_prefix=$(root_prefix) || return 1
    apt_run="$apt_prefix env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300"
    # A fresh machine has no package lists, an old one has stale ones; a current one needs no refresh.
    # shellcheck disable=SC2086  # the prefix is several words on purpose
    $apt_run install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 ||
        { $apt_run update -qq && $apt_run install -y -qq --no-install-recommends "$@"; } >&2
}
