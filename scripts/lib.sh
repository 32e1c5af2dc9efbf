# Shared by the scripts in this folder; sourced, not run. Callers have done `set -euo pipefail`.
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
DEPS=$ROOT/.deps
mkdir -p "$DEPS"

say() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }
die() { say "$*"; exit 1; }

# Only one of these scripts changes .deps at a time.
lock_deps() {
    exec 9>"$DEPS/.lock"
    flock 9
}

# apt_need PACKAGE...: installs what is missing when root, else prints the line to run and stops.
apt_need() {
    local missing=() p
    if ! command -v dpkg-query >/dev/null; then
        say "not a Debian system: make sure that the equivalents of these are installed: $*"
        return 0
    fi
    for p in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null || true)" = installed ] || missing+=("$p")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    if [ "$(id -u)" -ne 0 ]; then
        die "Debian packages are missing; run this and try again:  sudo apt-get install -y --no-install-recommends ${missing[*]}"
    fi
    say "apt: installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq </dev/null >&2 || say "apt-get update failed; trying with the package lists at hand"
    apt-get install -y -qq --no-install-recommends -o Dpkg::Options::=--force-confold "${missing[@]}" </dev/null >"$DEPS/apt.log" 2>&1 || {
        tail -n 20 "$DEPS/apt.log" >&2
        die "apt-get could not install: ${missing[*]}"
    }
}

# A virtual environment that only fetches (Debian's own pip refuses to install outside of one). Prints its pip.
fetch_pip() {
    [ -x "$DEPS/fetch/bin/pip" ] || python3 -m venv "$DEPS/fetch" >&2
    echo "$DEPS/fetch/bin/pip"
}

# fetch_sdist REQUIREMENT DIR: downloads the source package of "name==version --hash=sha256:..." and prints its path.
fetch_sdist() {
    local pip status=0 file
    pip=$(fetch_pip)
    file=$("$DEPS/fetch/bin/python" "$ROOT/scripts/fetch_sdist.py" "$1" "$2") || status=$?
    if [ $status -eq 3 ]; then
        say "taking pip's slow way (it builds the package's metadata first)"
        echo "$1" >"$2/requirement.txt"
        "$pip" download -q --no-deps --no-binary "${1%%==*}" --require-hashes -r "$2/requirement.txt" -d "$2" >&2 || return 1
        file=$(echo "$2"/*.tar.gz)
    elif [ $status -ne 0 ]; then
        return 1
    fi
    echo "$file"
}

# sha256_is FILE HEX
sha256_is() { [ -f "$1" ] && [ "$(sha256sum "$1" | cut -d' ' -f1)" = "$2" ]; }
