"""What our Parquet writer writes, other readers read equal: all types, encodings, codecs, page versions, through pyarrow,
DuckDB, polars and Spark; and their filters, which work from our statistics and indexes, lose no row.

build/parquet_make (tests/tools/parquet_make.c; TL_PARQUET_MAKE overrides) writes an Arrow stream as Parquet.
"""
import math
import os
import pathlib
import subprocess

import duckdb
import polars
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import harness
import lakes
import values

MAKE = pathlib.Path(os.environ.get("TL_PARQUET_MAKE") or harness.ROOT / "build" / "parquet_make")
ENCODINGS = ["plain", "rle", "dictionary", "delta", "delta_length", "delta_text", "delta_text_all", "split", "split_all"]
CODECS = ["uncompressed", "snappy", "gzip", "brotli", "zstd", "lz4_raw"]
PAGES = ["--page-rows", "50", "--group-rows", "170"]

# What to write: a name, and the options. Each encoding once a page version, each codec, and the ways in.
WAYS = {
    **{f"{e}-v{v}": ["--encoding", e, *PAGES, *(["--v2"] if v == 2 else [])] for e in ENCODINGS for v in (1, 2)},
    **{f"{c}-v{v}": ["--encoding", "dictionary", "--codec", c, "--crc", *PAGES, *(["--v2"] if v == 2 else [])] for c in CODECS for v in (1, 2)},
    "overflow": ["--encoding", "dictionary", "--dictionary-values", "3", "--codec", "zstd", *PAGES],
    "overflow-delta-v2": ["--encoding", "dictionary", "--fallback", "delta", "--dictionary-values", "4", "--v2", *PAGES],
    "page-bytes": ["--page-bytes", "300", "--codec", "zstd"],
    "whole": ["--encoding", "dictionary", "--codec", "zstd"],
    "listed": ["--encoding", "dictionary", "--listed", *PAGES],
    "runs": ["--encoding", "dictionary", "--runs", *PAGES],
    "runs-plain-v2": ["--encoding", "plain", "--runs", "--v2", *PAGES],
    "short-bounds": ["--bounds", "3", *PAGES],
    "no-index": ["--no-index", "--codec", "zstd", *PAGES],
}


def make(table, path, *options):
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    run = subprocess.run([MAKE, "-", path, *options], input=stream.getvalue().to_pybytes(), capture_output=True, timeout=300)
    assert run.returncode == 0, run.stderr.decode(errors="replace")
    return path


@pytest.fixture(scope="module", autouse=True)
def tool():
    if not MAKE.is_file():
        pytest.fail(f"{MAKE} is not there: run `make` first")


def required(table, name):
    i = table.column_names.index(name)
    return table.cast(table.schema.set(i, table.schema.field(i).with_nullable(False)))


@pytest.fixture(scope="module")
def everything():
    """400 rows of all types, sorted by a required column, so that series and time have runs."""
    table = values.with_uuid(values.everything(rows=400))
    n = table.num_rows
    table = table.append_column("row", pa.array(range(n), pa.int64())).append_column("half", pa.array([i / 7 for i in range(n)], pa.float16()))
    table = table.append_column("run", pa.array([f"machine-{i // 90}" for i in range(n)]))
    table = table.append_column("u4", pa.array([(i * 2**24) % 2**32 for i in range(n)], pa.uint32()))
    table = table.append_column("u8", pa.array([2**64 - 1 - i if i % 2 else i for i in range(n)], pa.uint64()))
    return required(table, "row")


@pytest.fixture(scope="module")
def files(everything, tmp_path_factory):
    """name -> the file written in this way."""
    folder = tmp_path_factory.mktemp("written")
    return {name: make(everything, folder / f"{name}.parquet", *options) for name, options in WAYS.items()}


# ---- one form for what engines spell differently -----------------------------------------------------------------------

def replaced(table, name, convert):
    i = table.column_names.index(name)
    return table.set_column(i, name, convert(table.column(name)))


def map_as_list(column):
    def pairs(value):
        if value is None:
            return None
        return [{"key": p["key"], "value": p["value"]} if isinstance(p, dict) else {"key": p[0], "value": p[1]} for p in value]
    return pa.array([pairs(v) for v in column.to_pylist()], pa.list_(pa.struct([("key", pa.string()), ("value", pa.float64())])))


def normal(table):
    """uuid and fixed as bytes, maps as lists, times as microseconds, float16 as float."""
    for i, field in enumerate(table.schema):
        column, kind = table.column(i), field.type
        if isinstance(kind, pa.BaseExtensionType):
            column = pa.chunked_array([c.storage for c in column.chunks], kind.storage_type)
        if pa.types.is_fixed_size_binary(column.type):
            column = column.cast(pa.binary())
        if pa.types.is_map(column.type) or field.name == "m":
            column = map_as_list(column)
        if pa.types.is_time(column.type):
            column = column.cast(pa.time64("us"))
        if pa.types.is_float16(column.type):
            column = column.cast(pa.float32())
        table = table.set_column(i, field.name, column)
    return table


def check(rows, expected):
    lakes.same(normal(rows.select(expected.column_names)), normal(expected))


def by_duckdb(path):
    connection = duckdb.connect()
    connection.execute("set timezone='UTC'")
    columns = pq.read_schema(path).names
    uuid = ["unhex(replace(u::varchar, '-', '')) as u"] if "u" in columns else []
    replace = f"replace ({', '.join(uuid)})" if uuid else ""
    return connection.execute(f"select * {replace} from read_parquet('{path}') order by row").to_arrow_table()


def by_polars(path):
    return polars.read_parquet(path).to_arrow()


# ---- readers --------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("way", WAYS)
def test_pyarrow_reads_it_equal(files, everything, way):
    rows = pq.read_table(files[way], page_checksum_verification=True)
    check(rows, everything)
    if not way.startswith("delta_"):  # which pyarrow does not read into dictionaries
        check(pq.read_table(files[way], read_dictionary=["series", "run", "s"]).cast(rows.schema), everything)


# DuckDB 1.5 reads BYTE_STREAM_SPLIT of FLOAT and DOUBLE alone, polars 2.1 neither that nor DELTA_BYTE_ARRAY of fixed lengths.
@pytest.mark.parametrize("way", [w for w in WAYS if not w.startswith("split_all")])
def test_duckdb_reads_it_equal(files, everything, way):
    check(by_duckdb(files[way]), everything)


@pytest.mark.parametrize("way", [w for w in WAYS if "_all" not in w])
def test_polars_reads_it_equal(files, everything, way):
    check(by_polars(files[way]), everything)


# Spark 3.5 has no TIME, UUID and float16 (and reads no file that has one), takes unsigned 64-bit as decimal, and lacks brotli.
# Its vectorised reader knows no BYTE_STREAM_SPLIT and mistakes the lengths in second pages of DELTA_LENGTH_BYTE_ARRAY
# and of DELTA_BYTE_ARRAY; the other reader knows BYTE_STREAM_SPLIT of FLOAT and DOUBLE alone.
NOT_IN_SPARK = {"tm", "u", "half", "u8"}


@pytest.mark.parametrize("vectorised", [True, False])
def test_spark_reads_them_equal(spark, everything, tmp_path, vectorised):
    ways = [w for w in WAYS if not w.startswith(("brotli", "split_all")) and (w.startswith(("delta_", "split")) != vectorised)]
    table = everything.select([n for n in everything.column_names if n not in NOT_IN_SPARK])
    expected = replaced(table, "u4", lambda c: c.cast(pa.int64()))
    for way in ways:
        make(table, tmp_path / f"{way}.parquet", *WAYS[way])
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", str(vectorised).lower())
    try:  # all files in one job; dates before 1582 as they are
        frame = spark.read.option("datetimeRebaseMode", "CORRECTED").parquet(str(tmp_path)).selectExpr("*", "input_file_name() as way")
        rows = harness.spark_table(frame)
    finally:
        spark.conf.unset("spark.sql.parquet.enableVectorizedReader")
    found = pc.utf8_slice_codeunits(pc.list_element(pc.split_pattern(rows.column("way"), "/", max_splits=1, reverse=True), 1), 0, -8)
    for way in ways:
        part = rows.filter(pc.equal(found, way)).drop_columns("way")
        check(part.take(pc.sort_indices(part, [("row", "ascending")])), expected)


# ---- the file ----------------------------------------------------------------------------------------------------------------

def test_the_file_says_what_it_is(everything, tmp_path):
    path = make(everything.select(["run", "d"]), tmp_path / "x.parquet", "--encoding", "dictionary", "--codec", "zstd", "--sorting", "0",
                "--meta", "greeting=hello", *PAGES)
    meta = pq.read_metadata(path)
    assert meta.created_by.startswith("timelake version ")
    assert meta.metadata[b"greeting"] == b"hello"
    assert meta.num_row_groups == 3 and [meta.row_group(i).num_rows for i in range(3)] == [170, 170, 60]
    group = meta.row_group(0)
    assert [(s.column_index, s.descending, s.nulls_first) for s in group.sorting_columns] == [(0, False, True)]
    column = group.column(0)
    assert column.has_column_index and column.has_offset_index and column.has_dictionary_page and column.compression == "ZSTD"
    assert set(column.encodings) == {"PLAIN", "RLE", "RLE_DICTIONARY"}
    schema = pq.read_schema(path)
    assert [schema.field(i).metadata[b"PARQUET:field_id"] for i in range(2)] == [b"1", b"2"]
    without = pq.read_metadata(make(everything.select(["run"]), tmp_path / "y.parquet", "--no-index")).row_group(0).column(0)
    assert not without.has_column_index and not without.has_offset_index


def statistics(column, kind, path, *options):
    make(pa.table({"v": pa.array(column, kind)}), path, *options)
    return pq.read_metadata(path).row_group(0).column(0).statistics


def test_statistics_keep_nan_out_and_zeros_signed(tmp_path):
    path = tmp_path / "x.parquet"
    found = statistics([3.0, math.nan, 1.0, None], pa.float64(), path)
    assert (found.min, found.max, found.null_count) == (1.0, 3.0, 1)
    assert not statistics([math.nan, math.nan], pa.float64(), path).has_min_max
    found = statistics([0.0, -0.0], pa.float64(), path)
    assert math.copysign(1, found.min) == -1 and math.copysign(1, found.max) == 1
    assert not statistics([None, None], pa.float64(), path).has_min_max


def test_statistics_of_long_texts_hold(tmp_path):
    path = tmp_path / "x.parquet"
    for text in values.TEXTS + ["\U0010ffff" * 40, "\ud7ff" * 17, "z" * 70_000]:
        found = statistics([text], pa.string(), path)
        if found is None or not found.has_min_max:  # pyarrow wants both; all U+10FFFF have no upper one
            assert text == "\U0010ffff" * 40
            continue
        assert found.min <= text <= found.max and len(found.max.encode()) <= 64
    assert not statistics([b"\xff" * 100], pa.binary(), path).has_min_max


def test_duckdb_sees_bounds_and_exactness(tmp_path):
    path = make(pa.table({"s": ["a" * 100, "b"]}), tmp_path / "x.parquet")
    found = duckdb.execute(f"select stats_min_value, stats_max_value, min_is_exact, max_is_exact from parquet_metadata('{path}')").fetchone()
    assert found == ("a" * 64, "b", False, True)


# ---- filters -----------------------------------------------------------------------------------------------------------------

FILTERED = ["b", "i", "l", "f", "d", "s", "dt", "ts", "tz", "d9", "d18", "d38", "run", "row"]


@pytest.mark.parametrize("way", ["dictionary-v1", "plain-v2", "short-bounds", "whole", "runs"])
def test_filters_find_every_value(files, everything, way):
    """For each distinct value of each column: as many rows as there are, by readers that skip by our bounds."""
    connection = duckdb.connect()
    connection.execute("set timezone='UTC'")
    for name in FILTERED:
        column = everything.column(name).drop_null()
        for value in pc.unique(column).to_pylist():
            if isinstance(value, float) and math.isnan(value):
                continue
            want = pc.sum(pc.equal(column, pa.scalar(value, column.type))).as_py()
            got = connection.execute(f'select count(*) from read_parquet(\'{files[way]}\') where "{name}" = ?::{sql_type(column.type)}', [value]).fetchone()[0]
            assert got == want, f"DuckDB finds {got} rows with {name} = {value!r}, there are {want}"
            got = polars.scan_parquet(files[way]).filter(polars.col(name) == polars.lit(value, dtype=polars.from_arrow(column.slice(0, 1)).dtype)).select(polars.len()).collect().item()
            assert got == want, f"polars finds {got} rows with {name} = {value!r}, there are {want}"


def sql_type(kind):
    if pa.types.is_timestamp(kind):
        return "timestamptz" if kind.tz else "timestamp"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    return {"bool": "boolean", "int32": "integer", "int64": "bigint", "float": "float", "double": "double", "string": "varchar", "date32[day]": "date"}[str(kind)]


def test_spark_filters_by_the_page_index(spark, tmp_path):
    """parquet-java skips pages by the column index: ranges of a sorted column, a random one and one with nulls and NaN."""
    n = 20_000
    table = pa.table({
        "row": pa.array(range(n), pa.int64()),
        "shuffled": pa.array([(i * 7919) % n for i in range(n)], pa.int32()),
        "text": pa.array([f"machine-{i // 500:04d}-{'x' * 70}" for i in range(n)]),
        "some": pa.array([None if i // 1000 % 3 == 0 else math.nan if i % 97 == 0 else (i % 1000) / 4 for i in range(n)], pa.float64()),
    })
    path = make(table, tmp_path / "x.parquet", "--encoding", "dictionary", "--page-rows", "300", "--codec", "zstd", "--dictionary-values", "900")
    frame = spark.read.parquet(str(path))
    for where, want in [
        ("row between 4990 and 5010", 21), ("row = 19999", 1), ("shuffled < 10", 10), ("shuffled = 1234", 1),
        (f"text = 'machine-0007-{'x' * 70}'", 500), (f"text > 'machine-0038-{'x' * 70}'", 500), ("text < 'machine-0001'", 500),
        ("some is null", 7000),
    ]:
        assert frame.where(where).count() == want, where
    numbers = [v for v in table.column("some").to_pylist() if v is not None and v < 1]
    assert frame.where("some < 1").count() == len(numbers)


# ---- size --------------------------------------------------------------------------------------------------------------------

def test_large_texts(tmp_path):
    """Texts of 1 MiB: pages end by bytes, the dictionary falls back, equal ones stay small."""
    n = 40
    distinct = pa.table({"v": pa.array([chr(65 + i % 26) * (1 << 20) + str(i) for i in range(n)])})
    equal = pa.table({"v": pa.array(["x" * 1_000_000] * n)})
    for table in (distinct, equal):
        path = make(table, tmp_path / "x.parquet", "--encoding", "dictionary", "--page-bytes", str(1 << 20))
        assert pq.read_table(path).equals(table)
        assert polars.read_parquet(path).to_arrow().cast(table.schema).equals(table)
        assert duckdb.execute(f"select count(distinct v), sum(length(v)) from read_parquet('{path}')").fetchone() == \
            (len(pc.unique(table["v"])), pc.sum(pc.utf8_length(table["v"])).as_py())
    assert os.path.getsize(path) < 1_100_000


def test_many_columns_and_no_rows(tmp_path):
    wide = pa.table({f"c{i}": pa.array([i, None], pa.int32()) for i in range(500)})
    assert pq.read_table(make(wide, tmp_path / "x.parquet", "--encoding", "delta")).equals(wide)
    empty = wide.slice(0, 0)
    assert pq.read_table(make(empty, tmp_path / "y.parquet")).equals(empty)
