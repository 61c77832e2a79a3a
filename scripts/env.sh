# The environment every build and test runs in. Sourced, never run; safe to source twice.
#
# One compiler builds the server and the wasm module: island names are hashes
# that both sides must agree on. `scripts/setup-compiler` chose it and wrote it down.

_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ -f "$_root/target/setup/compiler.env" ]; then
    . "$_root/target/setup/compiler.env"
fi

# Where cargo install puts the test runner.
case ":$PATH:" in
*":${CARGO_HOME:-$HOME/.cargo}/bin:"*) ;;
*) export PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin" ;;
esac

# A fresh install of PostgreSQL leaves its programs out of the path.
if ! command -v initdb >/dev/null 2>&1; then
    _postgres_bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n1 || true)
    if [ -n "$_postgres_bin" ]; then
        export PATH="$PATH:$_postgres_bin"
    fi
fi

# Which browser the tests drive.
if [ -z "${CHROMIUM:-}" ]; then
    for _browser in chromium chromium-browser google-chrome-stable google-chrome; do
        if _found=$(command -v "$_browser" 2>/dev/null); then
            export CHROMIUM="$_found"
            break
        fi
    done
fi

# What the tests outside of cargo run against.
export DRAINBOARD_BIN="${DRAINBOARD_BIN:-${CARGO_TARGET_DIR:-$_root/target}/debug/drainboard}"

# Where the Python sample workers find their libraries.
if [ -x "$_root/target/venv/bin/python" ]; then
    export DRAINBOARD_PYTHON="$_root/target/venv/bin/python"
fi
unset _root _postgres_bin _browser _found
