"""Compaction: after `timelake maintain` every engine sees each row once, and the rows are those from before; Timelake 0.7.0 and
this one compact each other's tables."""
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import harness
import lakes

KEY = ["machine", "time"]
VALUES = ["temperature", "vibration", "pressure", "current", "status"]


def load(command, lake, folder, *options):
    tl = harness.Command(command, lake)
    batches = sorted(folder.glob("batch-*.parquet"))
    tl.ok("create", "readings", "--from", batches[0], "--time-column", "time", "--series-key", "machine")
    said = tl("append", "readings", *batches, "--rows-per-commit", "0", *options, timeout=900)
    assert said.rc == 0, said.err
    return tl


@pytest.fixture(scope="module")
def compacted(command, iiot_small, tmp_path_factory):
    tl = load(command, tmp_path_factory.mktemp("compact"), iiot_small, "--no-maintain")
    before = tl.info("readings")
    said = tl.ok("maintain", "readings")
    return tl, before, said


@pytest.fixture(scope="module")
def expected(iiot_small):
    return pq.read_table(iiot_small / "expected.parquet")


def current_snapshot(tl, name="readings"):
    metadata = json.loads(lakes.metadata_file(tl.table_dir(name)).read_text())
    return next(s for s in metadata["snapshots"] if s["snapshot-id"] == metadata["current-snapshot-id"])


def test_small_files_become_one_a_partition(compacted, expected):
    tl, before, said = compacted
    after = tl.info("readings")
    assert "compacted" in said
    assert before["rows"] > expected.num_rows == after["rows"]
    assert after["files"] == len(after["partitions"]) < before["files"]
    summary = current_snapshot(tl)["summary"]
    assert summary["operation"] == "replace" and summary["total-records"] == str(expected.num_rows)
    again = tl.ok("maintain", "readings")
    assert tl.info("readings")["version"] == after["version"], again


@pytest.mark.parametrize("engine", ["pyiceberg", "duckdb", "polars"])
def test_engines_see_each_row_once(compacted, expected, engine):
    tl, _, _ = compacted
    lakes.same(getattr(lakes, engine)(tl.table_dir("readings")), expected, key=KEY, columns=KEY + VALUES)


def test_ours_sees_the_same_rows_with_and_without_dedup(compacted, expected):
    tl, _, _ = compacted
    lakes.same(lakes.c_api(tl.lake, "readings"), expected, key=KEY, columns=KEY + VALUES)
    lakes.same(lakes.c_api(tl.lake, "readings", "copies"), expected, key=KEY, columns=KEY + VALUES)
    lakes.same(lakes.c_api(tl.lake, "readings", "strategy=merge"), expected, key=KEY, columns=KEY + VALUES)
    newest = lakes.newest(expected, ["machine"], "time")
    lakes.same(lakes.read_latest(tl, "readings"), newest, key=["machine"], columns=KEY + VALUES)


def test_spark_sees_each_row_once(spark, compacted, expected):
    tl, _, _ = compacted
    lakes.same(lakes.spark(spark, tl.table_dir("readings")), expected, key=KEY, columns=KEY + VALUES)


@pytest.mark.parametrize("strategy", ["auto", "keys-first", "merge"])
def test_strategies_read_the_same_rows(command, iiot_small, expected, tmp_path, strategy):
    tl = load(command, tmp_path, iiot_small, "--no-maintain")
    rows = lakes.c_api(tl.lake, "readings", f"strategy={strategy}")
    lakes.same(rows, expected, key=KEY, columns=KEY + VALUES)
    tl.ok("alter", "readings", "--set", f"read-dedup-strategy={strategy}")
    rows = lakes.c_api(tl.lake, "readings", "columns=temperature,machine", "series=machine=machine-01")
    machine = expected.filter(pa.compute.equal(expected["machine"], "machine-01"))
    assert rows.num_rows == machine.num_rows
    assert lakes.fingerprint(rows, ["temperature", "machine"]) == lakes.fingerprint(machine, ["temperature", "machine"])


def test_appends_compact_by_themselves(command, iiot_small, expected, tmp_path):
    tl = load(command, tmp_path, iiot_small)
    lakes.same(lakes.c_api(tl.lake, "readings"), expected, key=KEY, columns=KEY + VALUES)
    info = tl.info("readings")
    assert info["files"] < len(list(iiot_small.glob("batch-*.parquet")))
    operations = {s["operation"] for s in info["snapshots"]}
    assert operations <= {"append", "replace"}


def test_the_peer_goes_on_with_a_compacted_table_and_we_with_its(command, peer, iiot_small, expected, tmp_path):
    batches = sorted(iiot_small.glob("batch-*.parquet"))
    tl = harness.Command(command, tmp_path)
    tl.ok("create", "readings", "--from", batches[0], "--time-column", "time", "--series-key", "machine")
    parts = [batches[i::4] for i in range(4)] if len(batches) < 4 else [batches[i * len(batches) // 4:(i + 1) * len(batches) // 4] for i in range(4)]

    def by_peer(files, maintain):
        peer("""
t = timelake.Lake(args['lake']).table('readings')
for f in args['files']:
    t.append(pa.parquet.read_table(f) if hasattr(pa, 'parquet') else __import__('pyarrow.parquet').parquet.read_table(f), maintain=False)
if args['maintain']:
    t.maintain()
""", lake=str(tl.lake), files=[str(f) for f in files], maintain=maintain)

    tl.ok("append", "readings", *parts[0], "--rows-per-commit", "0", "--no-maintain")
    by_peer(parts[1], False)
    tl.ok("maintain", "readings")
    by_peer(parts[2], True)
    tl.ok("append", "readings", *parts[3], "--rows-per-commit", "0", "--no-maintain")
    tl.ok("maintain", "readings")
    lakes.same(lakes.c_api(tl.lake, "readings"), expected, key=KEY, columns=KEY + VALUES)
    lakes.same(lakes.pyiceberg(tl.table_dir("readings")), expected, key=KEY, columns=KEY + VALUES)
    views = lakes.peer_views(peer, tl.lake, "readings")
    lakes.same(views.clean, expected, key=KEY, columns=KEY + VALUES)
    lakes.same(views.raw, expected, key=KEY, columns=KEY + VALUES)
    lakes.same(views.latest, lakes.newest(expected, ["machine"], "time"), key=["machine"], columns=KEY + VALUES)


def test_row_groups_that_are_taken_over_are_read_by_everybody(command, peer, tmp_path):
    """Files of one device each: their row groups do not interleave, so they are copied as they are."""
    import numpy as np
    rng = np.random.default_rng(7)
    tl = harness.Command(command, tmp_path / "lake")
    parts = []
    for k in range(6):
        n = 5000
        rows = pa.table({
            "device": pa.array([f"d-{k}"] * n),
            "time": pa.array(1767225600_000000 + np.arange(n) * 1_000_000, pa.timestamp("us", "UTC")),
            "v": pa.array(rng.normal(size=n).round(2)),
            "note": pa.array([None if i % 7 else f"note {i % 40}" for i in range(n)]),
            "list": pa.array([[i, i + 1][:i % 3] for i in range(n)]),
        })
        parts.append(rows)
        pq.write_table(rows, tmp_path / f"{k}.parquet")
    tl.ok("create", "readings", "--from", tmp_path / "0.parquet", "--time-column", "time", "--series-key", "device",
          "--prop", "timelake.row-group-rows=2000")
    tl.ok("append", "readings", *[tmp_path / f"{k}.parquet" for k in (3, 1, 5, 0, 4, 2)], "--rows-per-commit", "0", "--no-maintain")
    tl.ok("maintain", "readings")
    info = tl.info("readings")
    assert info["files"] == 1
    expected = pa.concat_tables(parts)
    for read in (lakes.pyiceberg, lakes.duckdb, lakes.polars):
        lakes.same(read(tl.table_dir("readings")), expected, key=["device", "time"], columns=["device", "time", "v", "note", "list"])
    lakes.same(lakes.peer(peer, tl.lake, "readings"), expected, key=["device", "time"], columns=["device", "time", "v", "note", "list"])
    lakes.same(lakes.c_api(tl.lake, "readings"), expected, key=["device", "time"], columns=["device", "time", "v", "note", "list"])
    [live] = live_files(tl)
    file = pq.ParquetFile(live)
    assert file.metadata.num_row_groups >= 6 and file.metadata.num_rows == expected.num_rows
    lakes.same(file.read(), expected, key=["device", "time"], columns=["device", "time", "v", "note", "list"])


def live_files(tl):
    """The live data files, by pyiceberg."""
    from pyiceberg.table import StaticTable
    table = StaticTable.from_metadata(f"file://{lakes.metadata_file(tl.table_dir('readings'))}")
    return [task.file.file_path.removeprefix("file://") for task in table.scan().plan_files()]


# ---- in full ----------------------------------------------------------------------------------------------------------

@pytest.mark.slow
def test_the_whole_lake(command, iiot, tmp_path):
    tl = load(command, tmp_path, iiot, "--no-maintain")
    rows = pq.read_table(iiot / "expected.parquet")
    truth = lakes.fingerprint(rows, KEY + VALUES)
    merged = lakes.c_api(tl.lake, "readings", "strategy=merge")
    assert merged.num_rows == rows.num_rows and lakes.fingerprint(merged, KEY + VALUES) == truth
    tl.ok("maintain", "readings")
    info = tl.info("readings")
    assert info["files"] == len(info["partitions"]) == 9 and info["rows"] == rows.num_rows
    for read in (lakes.duckdb(tl.table_dir("readings")), lakes.c_api(tl.lake, "readings"), lakes.pyiceberg(tl.table_dir("readings"))):
        assert read.num_rows == rows.num_rows
        assert lakes.fingerprint(read, KEY + VALUES) == truth
