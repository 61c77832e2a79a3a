# The few words every set-up script shares. Sourced, never run.
#
# A step says in one line what it does, and only when there is something to do:
# on a machine that has everything, `make` stays silent and fast.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# What set-up found out is kept here; deleting it only costs the time to look again.
setup_dir="$root/target/setup"
mkdir -p "$setup_dir"

step() { printf '\033[1m→ %s\033[0m\n' "$*" >&2; }
warn() { printf '! %s\n' "$*" >&2; }
fail() {
    printf '✗ %s\n' "$*" >&2
    exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# Runs a command with the rights that installing takes.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif have sudo; then
        sudo "$@"
    else
        fail "needs root for: $* — run it yourself, or run make as root once"
    fi
}

# apt_install WHAT PACKAGE…: says why, refreshes the package lists, installs.
apt_install() {
    local what=$1
    shift
    have apt-get || fail "$what is missing and this machine has no apt-get: install it by your own package manager ($*), then run make again"
    [ "$(id -u)" -eq 0 ] || have sudo || fail "$what is missing and there are no rights to install it: as root, apt-get install $*"
    step "installing $what: $*"
    as_root env DEBIAN_FRONTEND=noninteractive sh -c '
        apt-get -qq update || echo "! the package lists could not be refreshed" >&2
        exec apt-get -qq install -y --no-install-recommends "$@" >/dev/null' apt "$@" \
        || fail "apt-get could not install $*"
}

# at_least VERSION MINIMUM: compares dotted versions.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n1)" = "$2" ]; }

# up_to_date STAMP TEXT: true when STAMP already says TEXT.
up_to_date() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }

hash_of() { sha256sum "$@" | sha256sum | cut -d' ' -f1; }
