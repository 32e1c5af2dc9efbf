#!/usr/bin/env bash
# Gets what the end-to-end tests need, and does nothing where it is already there:
#   1. Debian packages: a Java runtime and Maven, only when there is no `java` or `mvn`
#   2. .deps/venv: pytest and the readers we test against (tests/requirements.txt, every package hashed)
#   3. .deps/venv-peer: Timelake 0.7.0 (tests/requirements-peer.txt)
#   4. .deps/duckdb-hosts/VERSION: the Pythons of DuckDB that the extension is tested in, checked by SHA-256
#   5. .deps/jars: Iceberg's runtime for Spark 3.5, versions 1.12.0 and 1.10.0, from Maven, checked by SHA-256
#   6. .deps/weather.csv (scripts/sample-data.sh)
# Everything goes into .deps; pip and mvn are used as this machine has them configured.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

JAR=iceberg-spark-runtime-3.5_2.12
JARS=(
    "1.12.0 8dd8c90e54ed1a20f2461309d047a255ee56382eb7c0a46162b27a4936fd86dc"
    "1.10.0 70f9471870b2d456167d703c829f098a446b86bb1379eee338c0efa03a341026"
)

# DuckDB for the extension's tests (CPython 3.11 wheels), oldest and newest and those between that matter.
HOSTS=(
    "1.3.2 45bea70b3e93c6bf766ce2f80fc3876efa94c4ee4de72036417a7bd1e32142fe"
    "1.4.4 4c25d5b0febda02b7944e94fdae95aecf952797afc8cb920f677b46a7c251955"
    "1.5.6 73b108c04c932b36c2fa4e41110cc1c3c8cd510eb49f065f92d050be8e6929fd"
    "2.0.1 eb32b389d99d14cbbec4c110f58237c77eacefc65ef6f737619f413c97a91a77"
)

debian_packages() {
    local want=(python3 python3-venv unzip)
    command -v java >/dev/null || want+=(openjdk-17-jre-headless)
    command -v mvn >/dev/null || want+=(maven)
    apt_need "${want[@]}"
}

# The pinned wheels are CPython 3.11's (Debian 12).
python311() {
    local p
    for p in python3.11 /usr/bin/python3.11 python3; do
        if "$p" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
            command -v "$p"
            return 0
        fi
    done
    die "the tests' pinned packages are for Python 3.11, which is not installed"
}

# venv NAME REQUIREMENTS...: an environment with exactly these files installed in turn; made new when one of them changes.
venv() {
    local name=$1 dir=$DEPS/$1 stamp file
    shift
    stamp=$(cd "$ROOT/tests" && sha256sum "$@")
    [ "$(cat "$dir/.stamp" 2>/dev/null || true)" = "$stamp" ] && return 0
    say "making .deps/$name"
    rm -rf "$dir"
    "$(python311)" -m venv "$dir"
    for file in "$@"; do
        "$dir/bin/pip" install -q --no-deps --no-build-isolation --require-hashes -r "$ROOT/tests/$file" >&2 ||
            die "could not install tests/$file"
    done
    "$dir/bin/pip" check >&2 || die "the pinned packages in tests/ do not fit together"
    echo "$stamp" >"$dir/.stamp"
}

# hosts: .deps/duckdb-hosts/VERSION, to be put on PYTHONPATH of .deps/venv's Python.
hosts() {
    local pin version sum dir
    for pin in "${HOSTS[@]}"; do
        read -r version sum <<<"$pin"
        dir=$DEPS/duckdb-hosts/$version
        [ "$(cat "$dir/.stamp" 2>/dev/null || true)" = "$sum" ] && continue
        say "fetching DuckDB $version for Python (20 MB)"
        rm -rf "$dir" && mkdir -p "$dir"
        echo "duckdb==$version --hash=sha256:$sum" >"$dir/requirement.txt"
        "$DEPS/venv/bin/pip" install -q --no-deps --require-hashes --only-binary :all: --target "$dir" -r "$dir/requirement.txt" >&2 ||
            die "could not install duckdb $version"
        echo "$sum" >"$dir/.stamp"
    done
}

jars() {
    local pin version sum file
    mkdir -p "$DEPS/jars"
    for pin in "${JARS[@]}"; do
        read -r version sum <<<"$pin"
        file=$DEPS/jars/$JAR-$version.jar
        sha256_is "$file" "$sum" && continue
        say "fetching $JAR $version (47 MB)"
        mvn -q -B "-Dmaven.repo.local=$DEPS/m2" dependency:get "-Dartifact=org.apache.iceberg:$JAR:$version" -Dtransitive=false </dev/null >&2 ||
            die "mvn could not fetch $JAR $version"
        cp "$DEPS/m2/org/apache/iceberg/$JAR/$version/$JAR-$version.jar" "$file.new"
        sha256_is "$file.new" "$sum" || die "$JAR $version has another hash than the pinned $sum"
        mv "$file.new" "$file"
    done
}

main() {
    (
        lock_deps
        debian_packages
        venv venv requirements-build.txt requirements.txt
        venv venv-peer requirements-peer.txt
        hosts
        jars
    )
    "$ROOT/scripts/sample-data.sh"
}

main
