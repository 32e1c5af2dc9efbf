"""Policy upsert: after the appends of all IIoT batches, and before any compaction, every engine reads exactly the last write
of each (machine, time): with position deletes, and with deletion vectors. Racing writers of the same keys leave one row."""
import collections
import datetime
import importlib.util
import json
import os
import random
import subprocess

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import harness
import lakes

KEY = ["machine", "time"]
VALUES = ["temperature", "vibration", "pressure", "current", "status"]
FORMS = ["position", "dv"]


class Loaded:
    """A lake whose table `readings` has the policy, with one batch folder in it, a commit a file."""

    def __init__(self, command, lake, folder, form):
        self.tl = harness.Command(command, lake)
        self.batches = sorted(folder.glob("batch-*.parquet"))
        self.tl.ok("create", "readings", "--from", self.batches[0], "--time-column", "time", "--series-key", "machine",
                   "--policy", "upsert", "--prop", f"delete-format={form}")
        said = self.tl("upsert", "readings", *self.batches, "--rows-per-commit", "0", "--no-maintain", timeout=900)
        assert said.rc == 0, said.err
        self.dir = self.tl.table_dir("readings")
        self.expected = pq.read_table(folder / "expected.parquet")
        self.wanted = lakes.fingerprint(self.expected, KEY + VALUES)

    def check(self, rows):
        assert rows.num_rows == self.expected.num_rows
        assert lakes.fingerprint(rows, KEY + VALUES) == self.wanted


@pytest.fixture(scope="module", params=FORMS)
def small(request, command, iiot_small, tmp_path_factory):
    return Loaded(command, tmp_path_factory.mktemp("upsert-small"), iiot_small, request.param)


@pytest.fixture(scope="module", params=FORMS)
def full(request, command, iiot, tmp_path_factory):
    return Loaded(command, tmp_path_factory.mktemp("upsert"), iiot, request.param)


def current_snapshot(table_dir):
    metadata = json.loads(lakes.metadata_file(table_dir).read_text())
    [snapshot] = [s for s in metadata["snapshots"] if s["snapshot-id"] == metadata["current-snapshot-id"]]
    return metadata, snapshot


def local(uri):
    return uri.removeprefix("file://")


def delete_files(table_dir):
    """The live delete files, from manifests as any Avro reader sees them."""
    _, snapshot = current_snapshot(table_dir)
    found = []
    with open(local(snapshot["manifest-list"]), "rb") as f:
        manifests = [m for m in fastavro.reader(f) if m["content"] == 1]
    for manifest in manifests:
        with open(local(manifest["manifest_path"]), "rb") as f:
            found += [e["data_file"] for e in fastavro.reader(f) if e["status"] != 2]
    return found


def check_delete_files(table_dir, at_most, most_bytes):
    files = delete_files(table_dir)
    targets = collections.Counter(f["referenced_data_file"] for f in files)
    assert set(targets.values()) <= {1}, "one live delete file per data file"
    for f in files:  # readers that do not look at the field look at the bounds
        lower = {b["key"]: b["value"] for b in f["lower_bounds"]}
        upper = {b["key"]: b["value"] for b in f["upper_bounds"]}
        assert lower[2147483546] == upper[2147483546] == f["referenced_data_file"].encode()
    assert len(files) <= at_most
    assert sum(f["content_size_in_bytes"] or f["file_size_in_bytes"] for f in files) <= most_bytes
    _, snapshot = current_snapshot(table_dir)
    assert snapshot["summary"]["total-delete-files"] == str(len(files))
    assert snapshot["summary"]["total-position-deletes"] == str(sum(f["record_count"] for f in files))


def native_polars(table_dir):
    """polars' own reader, no other: it fails where it would fall back to pyiceberg's."""
    os.environ["POLARS_ICEBERG_PLANNER"] = "pyiceberg"
    import polars
    return polars.scan_iceberg(f"file://{lakes.metadata_file(table_dir)}", reader_override="native").collect().to_arrow()


ENGINES = {"pyiceberg": lakes.pyiceberg, "duckdb": lakes.duckdb, "polars": native_polars}


# ---- in small -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("engine", ENGINES)
def test_small_engines_read_the_last_writes(small, engine):
    small.check(ENGINES[engine](small.dir))


def test_small_spark_reads_the_last_writes(spark, small):
    small.check(lakes.spark(spark, small.dir))


def test_small_we_read_the_last_writes(small):
    rows = small.tl.sql("select * from readings")
    lakes.same(rows, small.expected, key=KEY, columns=KEY + VALUES)
    newest = lakes.newest(small.expected, ["machine"], "time")
    lakes.same(lakes.read_latest(small.tl, "readings"), newest, key=["machine"], columns=KEY + VALUES)


def test_small_delete_files_are_few_and_small(small):
    check_delete_files(small.dir, at_most=60, most_bytes=90_000)


def test_small_the_table_says_what_it_is(small):
    metadata, snapshot = current_snapshot(small.dir)
    assert metadata["properties"]["timelake.format-version"] == "0.4.0"
    vectors = metadata["properties"]["timelake.delete-format"] == "dv"
    assert metadata["format-version"] == (3 if vectors else 2)
    assert snapshot["summary"]["timelake.one-copy"] == "true"
    if vectors:
        assert snapshot["first-row-id"] + snapshot["added-rows"] == metadata["next-row-id"]


def test_small_the_peer_refuses_the_table_and_reads_no_row(peer, small):
    for call in (lambda: lakes.peer(peer, small.tl.lake, "readings"),
                 lambda: lakes.peer(peer, small.tl.lake, "readings", dedup=False),
                 lambda: peer.latest(small.tl.lake, "readings")):
        with pytest.raises(harness.PeerError, match="(?i)upgrade"):
            call()


def test_small_compaction_applies_the_deletes(command, iiot_small, tmp_path):
    for form in FORMS:
        loaded = Loaded(command, tmp_path / form, iiot_small, form)
        loaded.tl.ok("maintain", "readings")
        loaded.check(lakes.pyiceberg(loaded.dir))
        _, snapshot = current_snapshot(loaded.dir)
        assert int(snapshot["summary"]["total-delete-files"]) < 10
        assert snapshot["summary"]["timelake.one-copy"] == "true"
        rows = pq.read_table(loaded.batches[0])
        loaded.tl.ok("append", "readings", loaded.batches[0])  # all of them were there: replaced once more
        seen = lakes.duckdb(loaded.dir)
        assert seen.num_rows == loaded.expected.num_rows and rows.num_rows > 0


# ---- in full ----------------------------------------------------------------------------------------------------------

@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_engine_reads_exactly_the_expected(full, engine):
    assert full.expected.num_rows == 7_776_000
    full.check(ENGINES[engine](full.dir))


@pytest.mark.slow
def test_spark_reads_exactly_the_expected(spark, full, tmp_path):
    full.check(lakes.spark_large(spark, full.dir, tmp_path / "rows"))


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("chdb") is None, reason="chdb takes 500 MB: install it to test ClickHouse")
def test_clickhouse_reads_exactly_the_expected(full, tmp_path, monkeypatch):
    import chdb
    monkeypatch.chdir(full.dir.parent)  # it reads only what is below
    query = f"select * from icebergLocal('{full.dir}')"
    if full.tl.info("readings")["format_version"] == "V3":
        with pytest.raises(Exception, match="Position deletes"):
            chdb.query(query + " format Null")
        return
    chdb.query(f"{query} into outfile '{tmp_path}/rows.parquet' format Parquet settings output_format_parquet_string_as_string=1")
    rows = pq.read_table(tmp_path / "rows.parquet")
    full.check(rows.cast(pa.schema([full.expected.schema.field(n) if n in full.expected.column_names else rows.field(n)
                                    for n in rows.column_names])))


@pytest.mark.slow
def test_delete_files_are_few_and_small(full):
    check_delete_files(full.dir, at_most=244, most_bytes=350_000)


@pytest.mark.slow
def test_we_read_exactly_the_expected(full):
    rows = lakes.c_api(full.tl.lake, "readings")
    full.check(rows)
    full.check(lakes.c_api(full.tl.lake, "readings", "copies"))


# ---- the policy on the command line ---------------------------------------------------------------------------------

SCHEMA = pa.schema([("k", pa.string()), ("time", pa.timestamp("us", "UTC")), ("v", pa.int64()),
                    pa.field("_ingest_ts", pa.timestamp("us", "UTC"))])
BEGIN = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


def rows_of(rows):
    """(key, minute, value, insertion second) -> a table."""
    return pa.table({"k": [r[0] for r in rows],
                     "time": [BEGIN + datetime.timedelta(minutes=r[1]) for r in rows],
                     "v": [r[2] for r in rows],
                     "_ingest_ts": [BEGIN + datetime.timedelta(days=1, seconds=r[3]) for r in rows]}, schema=SCHEMA)


def seen_by_engines(tl, name="r"):
    """{(key, minute): value} as pyiceberg and DuckDB see it; a key seen twice fails."""
    views = []
    for rows in (lakes.pyiceberg(tl.table_dir(name)), lakes.duckdb(tl.table_dir(name))):
        view = {(r["k"], int((r["time"] - BEGIN).total_seconds() // 60)): r["v"] for r in rows.to_pylist()}
        assert len(view) == rows.num_rows, "a key is there twice"
        views.append(view)
    assert views[0] == views[1]
    return views[0]


def create(tl, *args):
    tl.create("r", SCHEMA, "--time-column", "time", "--series-key", "k", *args)


@pytest.mark.parametrize("form", FORMS)
def test_a_late_row_that_is_older_by_its_insertion_time_is_the_one_that_goes(tl, form):
    create(tl, "--policy", "upsert", "--prop", f"delete-format={form}")
    tl.append("r", rows_of([("a", 1, 1, 10), ("a", 2, 2, 10), (None, 1, 3, 10)]))
    tl.append("r", rows_of([("a", 1, 4, 5), ("a", 2, 5, 15), (None, 1, 6, 20), ("b", 7, 7, 1)]))
    assert seen_by_engines(tl) == {("a", 1): 1, ("a", 2): 5, (None, 1): 6, ("b", 7): 7}


@pytest.mark.parametrize("form", FORMS)
def test_switching_on_cleans_what_is_there_and_switching_back_leaves_it_clean(tl, form):
    create(tl)
    first = [("a", m, m, 1) for m in range(20)]
    second = [("a", m, 100 + m, 2) for m in range(0, 20, 2)] + [("b", 1, 1, 1)]
    tl.append("r", rows_of(first), "--no-maintain")
    tl.append("r", rows_of(second), "--no-maintain")
    assert lakes.pyiceberg(tl.table_dir("r")).num_rows == 31
    assert "write-policy append" in tl.fails("upsert", "r", "-", "--format", "csv")
    wanted = {(r[0], r[1]): r[2] for r in first + second}
    said = tl.ok("alter", "r", "--set", "write-policy=upsert", "--set", f"delete-format={form}")
    assert "settings changed" in said
    assert seen_by_engines(tl) == wanted
    assert tl.sql("select count(*) as n from r").to_pylist() == [{"n": 21}]
    assert "already" not in tl.ok("alter", "r", "--set", "write-policy=append")
    assert seen_by_engines(tl) == wanted
    tl.append("r", rows_of([("a", 1, 7, 3)]), "--no-maintain")
    assert lakes.pyiceberg(tl.table_dir("r")).num_rows == 22  # copies again, for those that do not look
    assert tl.sql("select v from r where k = 'a' and time = timestamptz '2026-01-01 00:01:00+00'").to_pylist() == [{"v": 7}]


def test_tables_without_keys_and_wrong_values_are_refused(tl):
    with harness.ipc_file(SCHEMA.empty_table()) as path:
        assert "needs keys" in tl.fails("create", "p", "--from", path, "--policy", "upsert")
        tl.fails("create", "p", "--from", path, "--policy", "merge", rc=2)
    create(tl, "--no-dedup")
    assert "needs keys" in tl.fails("alter", "r", "--set", "write-policy=upsert")
    tl.ok("drop", "r", "--yes")
    create(tl, "--policy", "upsert", "--prop", "delete-format=dv")
    assert "cannot go back" in tl.fails("alter", "r", "--set", "delete-format=position")
    assert "none of append,upsert" in tl.fails("alter", "r", "--set", "write-policy=replace")


def test_a_pipe_upserts_too(tl):
    create(tl, "--policy", "upsert")
    lines = [{"k": "a", "time": f"2026-01-01T00:{m:02}:00Z", "v": m, "_ingest_ts": "2026-01-02T00:00:00Z"} for m in range(30)]
    again = [{**l, "v": l["v"] + 100, "_ingest_ts": "2026-01-02T00:00:01Z"} for l in lines[::3]]
    for part in (lines, again):
        tl.ok("upsert", "r", "-", "--format", "ndjson", "--commit-every", "10s",
              stdin="".join(json.dumps(line) + "\n" for line in part))
    assert seen_by_engines(tl) == {("a", m): m + (100 if m % 3 == 0 else 0) for m in range(30)}


def test_the_help_names_the_policy(tl):
    assert "write-policy" in tl.ok("help", "upsert")
    assert "--policy" in tl.ok("help", "create")


@pytest.mark.parametrize("form", FORMS)
def test_racing_writers_of_the_same_keys_leave_one_row_each(tl, tmp_path, form):
    """Eight processes write the same keys with skewed clocks, and one compacts: the greatest insertion time wins."""
    create(tl, "--policy", "upsert", "--prop", f"delete-format={form}")
    seed = random.randrange(2**32)
    print("seed", seed)
    dice = random.Random(seed)
    best, writers = {}, []
    for w in range(8):
        path = tmp_path / f"{w}.arrow"
        with pa.ipc.new_file(path, SCHEMA) as f:
            for commit in range(6):
                rows = []
                for m in dice.sample(range(40), 12):
                    ingest = dice.randrange(10000) * 100 + w * 10 + commit  # no two commits have the same
                    key = dice.choice(["a", "b", None])
                    if any(r[0] == key and r[1] == m for r in rows):
                        continue
                    rows.append((key, m, w * 1000 + commit, ingest))
                    if best.get((key, m), (-1, 0))[0] < ingest:
                        best[(key, m)] = (ingest, w * 1000 + commit)
                f.write_table(rows_of(rows))
        writers.append(path)
    running = [tl.start("upsert", "r", p, "--rows-per-commit", "8") for p in writers]
    while any(p.poll() is None for p in running):
        subprocess.run(tl.argv("maintain", "r"), env=tl.env, capture_output=True, timeout=300)
    for p in running:
        _, err = p.communicate(timeout=300)
        assert p.returncode == 0, err.decode()
    wanted = {key: value for key, (_, value) in best.items()}
    assert seen_by_engines(tl) == wanted
    assert tl.sql("select count(*) as n from r").to_pylist() == [{"n": len(wanted)}]
    assert tl("check", "r").rc == 0
