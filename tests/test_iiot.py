"""Nine days of fifty machines, with late and resent rows: 226 batches, one commit a file. The rows read are exactly the last
write of each (machine, time); other engines see exactly what was written."""
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import harness
import lakes

KEY = ["machine", "time"]
VALUES = ["temperature", "vibration", "pressure", "current", "status"]


class Loaded:
    """A lake with one batch folder in it, and what must come out of it."""

    def __init__(self, command, lake, folder):
        self.tl = harness.Command(command, lake)
        self.batches = sorted(folder.glob("batch-*.parquet"))
        self.tl.ok("create", "readings", "--from", self.batches[0], "--time-column", "time", "--series-key", "machine")
        self.said = self.tl("append", "readings", *self.batches, "--rows-per-commit", "0", "--no-maintain", timeout=900)
        assert self.said.rc == 0, self.said.err
        self.dir = self.tl.table_dir("readings")
        self.expected = pq.read_table(folder / "expected.parquet")
        # within one commit the last of equal keys is kept, so that is what the files must hold
        rows = pa.concat_tables([lakes.keep_last(pq.read_table(b), KEY) for b in self.batches])
        self.raw = lakes.fingerprint(rows, KEY + VALUES)
        self.raw_rows = rows.num_rows


@pytest.fixture(scope="module")
def loaded(command, iiot, tmp_path_factory):
    return Loaded(command, tmp_path_factory.mktemp("iiot"), iiot)


@pytest.fixture(scope="module")
def loaded_small(command, iiot_small, tmp_path_factory):
    return Loaded(command, tmp_path_factory.mktemp("iiot-small"), iiot_small)


def rows_read(tl, tmp_path, form):
    out = tmp_path / f"rows.{form}"
    with open(out, "wb") as f:
        run = tl.start("sql", "select * from readings", "--format", form, stdout=f)
        _, err = run.communicate(timeout=600)
    assert run.returncode == 0, err.decode()
    return pq.read_table(out) if form == "parquet" else lakes.read_arrow(out.read_bytes())


def check_rows(loaded, tmp_path, form):
    rows = rows_read(loaded.tl, tmp_path, form)
    assert rows.num_rows == loaded.expected.num_rows
    lakes.same(rows, loaded.expected, key=KEY, columns=KEY + VALUES)
    assert loaded.tl.sql("select count(*) as n from readings").to_pylist() == [{"n": loaded.expected.num_rows}]


def check_latest(loaded):
    newest = lakes.newest(loaded.expected, ["machine"], "time")
    lakes.same(lakes.read_latest(loaded.tl, "readings"), newest, key=["machine"], columns=KEY + VALUES)
    return newest.num_rows


def check_raw(rows, loaded):
    assert rows.num_rows == loaded.raw_rows
    assert lakes.fingerprint(rows, KEY + VALUES) == loaded.raw


# ---- in small: every engine, value by value ------------------------------------------------------------------------

def test_small_rows_are_the_last_writes(loaded_small, tmp_path):
    check_rows(loaded_small, tmp_path, "arrow")
    lakes.same(lakes.c_api(loaded_small.tl.lake, "readings"), loaded_small.expected, key=KEY, columns=KEY + VALUES)
    assert check_latest(loaded_small) == 5


@pytest.mark.parametrize("engine", ["pyiceberg", "duckdb", "polars"])
def test_small_engines_read_what_was_written(loaded_small, engine):
    check_raw(getattr(lakes, engine)(loaded_small.dir), loaded_small)


def test_small_spark_reads_what_was_written(spark, loaded_small):
    check_raw(lakes.spark(spark, loaded_small.dir), loaded_small)


def test_small_peer_reads_the_last_writes_and_every_copy(peer, loaded_small):
    lake = loaded_small.tl.lake
    lakes.same(lakes.peer(peer, lake, "readings"), loaded_small.expected, key=KEY, columns=KEY + VALUES)
    check_raw(lakes.peer(peer, lake, "readings", dedup=False), loaded_small)
    newest = lakes.newest(loaded_small.expected, ["machine"], "time")
    lakes.same(peer.latest(lake, "readings"), newest, key=["machine"], columns=KEY + VALUES)


def test_small_with_inline_maintenance_the_rows_are_the_same(tl, loaded_small, tmp_path):
    tl.ok("create", "readings", "--from", loaded_small.batches[0], "--time-column", "time", "--series-key", "machine")
    tl.ok("append", "readings", *loaded_small.batches, "--rows-per-commit", "0")
    rows = rows_read(tl, tmp_path, "arrow")
    lakes.same(rows, loaded_small.expected, key=KEY, columns=KEY + VALUES)
    lakes.same(lakes.pyiceberg(tl.table_dir("readings")).group_by(KEY).aggregate([]), loaded_small.expected.select(KEY), key=KEY)


# ---- in full ----------------------------------------------------------------------------------------------------------

@pytest.mark.slow
def test_one_commit_a_file(loaded):
    assert len(loaded.batches) == 226
    info = loaded.tl.info("readings")
    assert info["rows"] == loaded.raw_rows and info["snapshot_count"] == 226
    metadata = json.loads(lakes.metadata_file(loaded.dir).read_text())
    [current] = [s for s in metadata["snapshots"] if s["snapshot-id"] == metadata["current-snapshot-id"]]
    assert current["summary"]["total-records"] == str(loaded.raw_rows)
    assert f"appended {loaded.raw_rows} rows in 226 commits" in loaded.said.out


@pytest.mark.slow
@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_rows_are_exactly_the_expected(loaded, tmp_path, form):
    assert loaded.expected.num_rows == 7_776_000
    check_rows(loaded, tmp_path, form)


@pytest.mark.slow
def test_a_c_program_reads_exactly_the_expected(loaded):
    rows = lakes.c_api(loaded.tl.lake, "readings")
    assert rows.num_rows == loaded.expected.num_rows
    assert lakes.fingerprint(rows, KEY + VALUES) == lakes.fingerprint(loaded.expected, KEY + VALUES)
    check_raw(lakes.c_api(loaded.tl.lake, "readings", "copies"), loaded)


@pytest.mark.slow
def test_latest_is_the_newest_row_of_each_machine(loaded):
    assert check_latest(loaded) == 50


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pyiceberg", "duckdb", "polars"])
def test_engine_reads_what_was_written(loaded, engine):
    check_raw(getattr(lakes, engine)(loaded.dir), loaded)


@pytest.mark.slow
def test_peer_reads_the_last_writes_and_every_copy(peer, loaded):
    rows = lakes.peer(peer, loaded.tl.lake, "readings")
    assert rows.num_rows == loaded.expected.num_rows
    assert lakes.fingerprint(rows, KEY + VALUES) == lakes.fingerprint(loaded.expected, KEY + VALUES)
    check_raw(lakes.peer(peer, loaded.tl.lake, "readings", dedup=False), loaded)


@pytest.mark.slow
def test_spark_reads_what_was_written(spark, loaded, tmp_path):
    check_raw(lakes.spark_large(spark, loaded.dir, tmp_path / "rows"), loaded)


@pytest.mark.slow
def test_spark_with_iceberg_1_10_reads_what_was_written(spark_old, loaded, loaded_small):
    small, full = spark_old([loaded_small.dir, loaded.dir])
    check_raw(small, loaded_small)
    check_raw(full, loaded)
