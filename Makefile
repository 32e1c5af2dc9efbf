# Front door of the build; the work is done by scripts/deps.sh, CMake and pytest. `make help` lists the targets.
# JOBS=n sets how many compilers run at once (default: the number of cores).
JOBS ?= $(shell nproc)
NINJA = ninja -j $(JOBS)
PYTEST = .deps/venv/bin/python -m pytest
PYTEST_ARGS ?=
SOAK_ARGS ?=

.DEFAULT_GOAL := build
.PHONY: build help deps dev-deps test-deps debug asan clang test unit e2e bench bench-parquet bench-append bench-tables bench-upsert bench-deletes bench-maintain bench-read bench-older bench-stream soak quickstart format format-check clean distclean

build: build/build.ninja ## fetch what is missing and build everything; the command is build/timelake
	@$(NINJA) -C build

help: ## this list
	@echo "make [target]   (JOBS=n: compilers at once, PYTEST_ARGS='-k name': which end-to-end tests)"
	@sed -n 's/^\([a-z][a-z0-9-]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | sort | awk -F'\t' '{printf "  %-14s %s\n", $$1, $$2}'

deps: ## fetch what the build needs (scripts/deps.sh)
	@scripts/deps.sh

dev-deps: ## the same and clang, clang-format
	@scripts/deps.sh dev

test-deps: deps ## fetch what the end-to-end tests need: peers in Python, Spark (scripts/test-deps.sh)
	@scripts/test-deps.sh

build/build.ninja: deps
	@test -f $@ || cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release

build-debug/build.ninja: deps
	@test -f $@ || cmake -S . -B build-debug -G Ninja -DCMAKE_BUILD_TYPE=Debug

build-asan/build.ninja: deps
	@test -f $@ || cmake -S . -B build-asan -G Ninja -DTL_SANITIZE=ON

debug: build-debug/build.ninja ## unoptimised build in build-debug
	@$(NINJA) -C build-debug

asan: build-asan/build.ninja ## build with address and undefined-behaviour sanitizers in build-asan
	@$(NINJA) -C build-asan

clang: dev-deps ## the same with clang 14, to see its warnings (build-clang)
	@test -f build-clang/build.ninja || CC=clang-14 CXX=g++ cmake -S . -B build-clang -G Ninja -DTL_SANITIZE=ON -DTL_CLI=OFF
	@$(NINJA) -C build-clang
	@$(NINJA) -C build-clang unit_tests benches

test: unit e2e ## everything: unit tests under the sanitizers, then the end-to-end tests

unit: build-asan/build.ninja ## unit tests, under the sanitizers
	@$(NINJA) -C build-asan unit_tests
	@ctest --test-dir build-asan --output-on-failure --no-tests=error -j $(JOBS)

e2e: build test-deps ## end-to-end tests of the release build against the peers
	@$(PYTEST) tests $(PYTEST_ARGS)

bench: bench-parquet bench-append bench-tables bench-maintain bench-read bench-older ## all benchmarks: ours and the peers in one run, ratios against the bars (TL_RUNS=5)

bench-parquet: build test-deps ## the Parquet core against Arrow C++
	@$(NINJA) -C build benches
	@.deps/venv/bin/python bench/parquet.py

bench-append: build test-deps ## appends against Timelake 0.7.0
	@$(NINJA) -C build benches
	@.deps/venv/bin/python bench/append.py

bench-tables: build test-deps ## commits and one-row appends to large and odd tables
	@$(NINJA) -C build benches
	@.deps/venv/bin/python bench/tables.py

bench-stream: build ## 100 million rows in one append with memory-limit 512 MiB (minutes; not part of `make bench`)
	@$(NINJA) -C build benches
	@.deps/venv/bin/python bench/stream.py

bench-upsert: build test-deps ## policy upsert: what it costs writers and readers (not part of `make bench`)
	@.deps/venv/bin/python bench/upsert.py

bench-deletes: build test-deps ## what live delete files cost readers: the measure behind max-delete-files (not part of `make bench`)
	@.deps/venv/bin/python bench/delete_files.py

soak: build test-deps ## not a part of test: 16 appenders, 2 compactors, an expirer for 5 minutes, then the same with kill -9 (SOAK_ARGS)
	@.deps/venv/bin/python tests/soak.py $(SOAK_ARGS)
	@.deps/venv/bin/python tests/soak.py --kill $(SOAK_ARGS)

bench-older: build test-deps ## finding older copies in un-compacted tables
	@$(NINJA) -C build benches
	@.deps/venv/bin/python bench/older.py

bench-maintain: build test-deps ## compaction against Timelake 0.7.0, inline maintenance, bytes rewritten over time
	@$(NINJA) -C build benches
	@.deps/venv/bin/python bench/maintain.py

bench-read: build test-deps ## reading with dedup: the extension and the command against DuckDB and Timelake 0.7.0
	@.deps/venv/bin/python bench/read.py

quickstart: build ## a lake in ./quickstart-lake with real data, and SQL over it
	@scripts/quickstart.sh

format: dev-deps ## format our C code in place
	@git ls-files '*.c' '*.h' | xargs -r clang-format-14 -i

format-check: dev-deps ## fail where the C code is not formatted
	@git ls-files '*.c' '*.h' | xargs -r clang-format-14 --dry-run -Werror

clean: ## remove what was built
	@rm -rf build build-debug build-asan build-clang

distclean: clean ## and what was fetched, and the quickstart's lake
	@rm -rf .deps quickstart-lake
