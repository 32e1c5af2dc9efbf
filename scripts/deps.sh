#!/usr/bin/env bash
# Gets everything that building Timelake needs, and does nothing where it is already there:
#   1. Debian packages: compiler, cmake, ninja, compression libraries, cmocka, python3-venv (by apt when root,
#      else the line to run is printed); Go only when there is no `go`, because DuckDB comes as a Go module.
#   2. C sources of nanoarrow and yyjson from their PyPI source packages, checked by SHA-256   -> .deps/nanoarrow, .deps/yyjson
#   3. DuckDB's static libraries and duckdb.h from a Go module, checked by its h1 hash          -> .deps/duckdb
#   4. duckdb_extension.h of the same version from DuckDB's PyPI source package                 -> .deps/duckdb-extension
# `scripts/deps.sh dev` adds clang and clang-format. Nothing outside of .deps and the clients' own caches is touched.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

DUCKDB_MODULE=github.com/duckdb/duckdb-go-bindings/lib/linux-amd64
DUCKDB_VERSION=v0.10506.0 # DuckDB 1.5.6
DUCKDB_SUM='h1:yy2TUU+YWxiBiOQryYseUl0AcUzoFFYRmmrCGijUxiU='
LAYOUT=1 # raise when what is unpacked, or where, changes

debian_packages() {
    local want=(build-essential cmake ninja-build pkg-config libzstd-dev liblz4-dev libsnappy-dev libbrotli-dev zlib1g-dev
        libcmocka-dev python3 python3-venv)
    command -v go >/dev/null || want+=(golang-go ca-certificates)
    [ "${1:-}" = dev ] && want+=(clang-14 libclang-rt-14-dev clang-format-14)
    apt_need "${want[@]}"
}

# The folder of a source package is .deps/NAME, but for DuckDB's headers: .deps/duckdb is the libraries.
source_dir() { [ "$1" = duckdb ] && echo "$DEPS/duckdb-extension" || echo "$DEPS/$1"; }

# source_stamp NAME: what the unpacked folder of NAME was made from (the line of sources.txt, and the layout).
source_stamp() { echo "$(grep "^$1==" "$ROOT/scripts/sources.txt") layout=$LAYOUT"; }
source_ready() { [ "$(cat "$(source_dir "$1")/.stamp" 2>/dev/null || true)" = "$(source_stamp "$1")" ]; }

# source_fetch NAME: downloads the source package and prints its path.
source_fetch() {
    local dir=$DEPS/download/$1
    rm -rf "$dir" && mkdir -p "$dir"
    fetch_sdist "$(grep "^$1==" "$ROOT/scripts/sources.txt")" "$dir" || die "could not download the source package of $1"
}

# source_place NAME: moves the finished folder .deps/NAME.new to where it belongs.
source_place() {
    local dir
    dir=$(source_dir "$1")
    source_stamp "$1" >"$DEPS/$1.new/.stamp"
    rm -rf "$dir" && mv "$DEPS/$1.new" "$dir"
    rm -rf "$DEPS/download/$1"
}

get_nanoarrow() {
    source_ready nanoarrow && return 0
    say "fetching nanoarrow"
    local new=$DEPS/nanoarrow.new tmp=$DEPS/nanoarrow.tmp tgz
    tgz=$(source_fetch nanoarrow)
    rm -rf "$new" "$tmp" && mkdir -p "$new" "$tmp"
    tar -xzf "$tgz" -C "$tmp" --strip-components=1
    mv "$tmp/subprojects/arrow-nanoarrow/src/nanoarrow" "$new/nanoarrow"
    mv "$tmp"/subprojects/flatcc-* "$new/flatcc"
    rm -rf "$tmp" && source_place nanoarrow
}

get_yyjson() {
    source_ready yyjson && return 0
    say "fetching yyjson"
    local new=$DEPS/yyjson.new tgz
    tgz=$(source_fetch yyjson)
    rm -rf "$new" && mkdir -p "$new"
    tar -xzf "$tgz" -C "$new" --strip-components=2 --wildcards '*/yyjson/yyjson.c' '*/yyjson/yyjson.h'
    source_place yyjson
}

get_duckdb_extension() {
    source_ready duckdb && return 0
    say "fetching duckdb_extension.h (DuckDB's source package, 18 MB)"
    local new=$DEPS/duckdb.new tgz
    tgz=$(source_fetch duckdb)
    rm -rf "$new" && mkdir -p "$new"
    tar -xzf "$tgz" -C "$new" --strip-components=5 --wildcards '*/external/duckdb/src/include/duckdb.h' \
        '*/external/duckdb/src/include/duckdb_extension.h'
    cmp -s "$new/duckdb.h" "$DEPS/duckdb/duckdb.h" || die "the source package's duckdb.h is not the one of the libraries"
    source_place duckdb
}

get_duckdb() {
    local stamp="$DUCKDB_MODULE $DUCKDB_VERSION $DUCKDB_SUM" answer dir
    [ "$(cat "$DEPS/duckdb.stamp" 2>/dev/null || true)" = "$stamp" ] && [ -f "$DEPS/duckdb/duckdb.h" ] &&
        [ -f "$DEPS/duckdb/libduckdb_static.a" ] && return 0
    case $(uname -sm) in
    "Linux x86_64") ;;
    *) die "DuckDB's static libraries are pinned for Linux x86_64 only, this is $(uname -sm)" ;;
    esac
    say "fetching DuckDB's static libraries (Go module, 32 MB)"
    mkdir -p "$DEPS/empty" # so that no go.mod around us takes part
    answer=$(cd "$DEPS/empty" && GOFLAGS=-mod=mod go mod download -json "$DUCKDB_MODULE@$DUCKDB_VERSION") ||
        die "could not download $DUCKDB_MODULE@$DUCKDB_VERSION: $answer"
    grep -qF "\"Sum\": \"$DUCKDB_SUM\"" <<<"$answer" || die "$DUCKDB_MODULE@$DUCKDB_VERSION has another hash than the pinned $DUCKDB_SUM"
    dir=$(sed -n 's/^[[:space:]]*"Dir": "\(.*\)",\{0,1\}$/\1/p' <<<"$answer")
    [ -f "$dir/duckdb.h" ] || die "no duckdb.h in the module's folder \"$dir\""
    ln -sfn "$dir" "$DEPS/duckdb"
    echo "$stamp" >"$DEPS/duckdb.stamp"
}

main() {
    case ${1:-} in
    "" | dev) ;;
    *) die "usage: scripts/deps.sh [dev]" ;;
    esac
    lock_deps
    debian_packages "${1:-}"
    get_nanoarrow
    get_yyjson
    get_duckdb
    get_duckdb_extension
}

main "$@"
