"""The Parquet reader against pyarrow, value for value: files of apache/parquet-testing, of pyarrow, DuckDB, polars and Spark.

build/parquet_dump (tests/tools/parquet_dump.c; TL_PARQUET_DUMP overrides) writes what our reader reads as an Arrow stream.
"""
import base64
import collections
import datetime
import decimal
import io
import math
import os
import pathlib
import random
import re
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
DUMP = pathlib.Path(os.environ.get("TL_PARQUET_DUMP") or ROOT / "build" / "parquet_dump")
SHARED = pathlib.Path(os.environ.get("TL_SHARED") or ROOT.parent / "shared")
DATA = SHARED / "parquet-testing" / "data"
BAD = SHARED / "parquet-testing" / "bad_data"

Dump = collections.namedtuple("Dump", "rc out err kib cpu")


def dump(path, *options, timeout=120):
    assert DUMP.is_file(), f"{DUMP} is not there: run `make` first"
    run = subprocess.run([str(DUMP), str(path), *map(str, options)], capture_output=True, timeout=timeout)
    *err, last = run.stderr.decode(errors="replace").splitlines() or [""]
    used = re.fullmatch(r"maxrss (\d+) cpu ([\d.]+)", last)
    assert used, f"{path}: the reader crashed ({run.returncode}): {run.stderr.decode(errors='replace')[-500:]}"
    return Dump(run.returncode, run.stdout, "\n".join(err), int(used[1]), float(used[2]))


def ours(path, *options):
    """What our reader reads; the arrays are checked in full."""
    got = dump(path, *options)
    assert got.rc == 0, f"{path}: {got.err}"
    table = pa.ipc.open_stream(io.BytesIO(got.out)).read_all()
    table.validate(full=True)
    return table


def refusal(path, *options):
    got = dump(path, *options)
    assert got.rc == 1, f"{path} was read"
    assert len(got.err.splitlines()) == 1, f"not one line: {got.err!r}"
    return got.err


def storage(array):
    """Extension types by what they store, dictionaries by their values, large types by the small ones."""
    t = array.type
    if isinstance(t, pa.BaseExtensionType):
        return storage(array.cast(t.storage_type) if hasattr(array, "cast") else array.storage)
    if pa.types.is_dictionary(t):
        return array.cast(t.value_type)
    return array


def bits(array):
    """Floats as integers, so that NaN payloads and the sign of zero count."""
    kind = {pa.float16(): pa.uint16(), pa.float32(): pa.uint32(), pa.float64(): pa.uint64()}.get(array.type)
    return array.view(kind) if kind is not None else array


def assert_same_column(name, got, want):
    got, want = (c.combine_chunks() if isinstance(c, pa.ChunkedArray) else c for c in (got, want))
    got, want = (pa.concat_arrays(c.chunks) if isinstance(c, pa.ChunkedArray) else c for c in (got, want))
    want = storage(want)
    assert len(got) == len(want), f"{name}: {len(got)} rows, expected {len(want)}"
    if got.type != want.type:
        want = want.cast(got.type)
    if pa.types.is_floating(got.type):
        assert got.is_null().equals(want.is_null()), f"{name}: nulls differ"
        got, want = bits(got.fill_null(0)), bits(want.fill_null(0))
    if not got.equals(want):
        g, w = got.to_pylist(), want.to_pylist()
        for i, (a, b) in enumerate(zip(g, w)):
            assert repr(a) == repr(b), f"{name}, row {i}: {a!r}, expected {b!r}"


def assert_same(got, want, names=True):
    if names:
        assert got.schema.names == want.schema.names
    assert got.num_rows == want.num_rows
    for i, name in enumerate(want.schema.names):
        assert_same_column(name, got.column(i), want.column(i))


def pyarrow_reads(path):
    """Column by column, as ParquetFile does; without threads."""
    return pq.ParquetFile(path).read(use_threads=False)


# ---- apache/parquet-testing ----

# Refused, with what the message must say.
REFUSED = {
    "int96_from_spark.parquet": "INT96 timestamp of Julian day 5373484 does not fit",  # year 9999 has no nanoseconds in int64
}
TOO_LONG = {"large_string_map.brotli.parquet": ["rows 1 text 1073741824"] * 2}
# Read by us and not by pyarrow 26; what must come out.
BEYOND_PYARROW = {
    # optional keys, none of them null; pyarrow refuses the schema
    "incorrect_map_schema.parquet": lambda t: t.column(0).to_pylist() == INCORRECT_MAP,
}


def files_of(folder):
    return sorted(p.name for p in folder.glob("*.parquet")) if folder.is_dir() else []


def test_parquet_testing_is_there():
    if not DATA.is_dir():
        pytest.skip(f"no folder {DATA}")
    assert len(files_of(DATA)) >= 60


@pytest.mark.parametrize("name", files_of(DATA))
def test_parquet_testing_reads_as_pyarrow(name):
    path = DATA / name
    if name in TOO_LONG:  # of text for one batch, and for pyarrow
        assert dump(path, "--sizes").out.decode().splitlines() == TOO_LONG[name]
        return
    if name in REFUSED:
        assert REFUSED[name] in refusal(path)
        return
    got = ours(path)
    if name in BEYOND_PYARROW:
        assert BEYOND_PYARROW[name](got)
        return
    want = pyarrow_reads(path)
    assert_same(got, want)
    assert_same(ours(path, "--no-map", "--batch", 7), want)


def test_int96_as_nanoseconds_and_microseconds(tmp_path):
    times = [None, 0, -1_000, 1_600_000_000_123_456_000, -2_208_988_800_000_000_000, 9_223_372_036_854_774_000]
    path = write(pa.table({"t": pa.array(times, pa.timestamp("ns"))}), tmp_path / "t.parquet", use_deprecated_int96_timestamps=True)
    assert_same(ours(path), pyarrow_reads(path))
    micros = ours(path, "--int96-micros").column(0)
    assert micros.type == pa.timestamp("us")
    assert micros.cast(pa.int64()).to_pylist() == [None if t is None else t // 1000 for t in times]
    if DATA.is_dir():  # the year 290000 does not even fit microseconds
        assert "does not fit tsu:" in refusal(DATA / "int96_from_spark.parquet", "--int96-micros")


@pytest.mark.parametrize("name", ["datapage_v1-corrupt-checksum.parquet", "rle-dict-uncompressed-corrupt-checksum.parquet"])
def test_wrong_checksum_is_found_when_asked_for(name):
    if not DATA.is_dir():
        pytest.skip(f"no folder {DATA}")
    assert "checksum" in refusal(DATA / name, "--crc")


@pytest.mark.parametrize("name", ["datapage_v1-uncompressed-checksum.parquet", "datapage_v1-snappy-compressed-checksum.parquet",
                                  "plain-dict-uncompressed-checksum.parquet", "rle-dict-snappy-checksum.parquet"])
def test_right_checksum_passes(name):
    if not DATA.is_dir():
        pytest.skip(f"no folder {DATA}")
    assert_same(ours(DATA / name, "--crc"), pyarrow_reads(DATA / name))


BAD_SAYS = {
    "ARROW-GH-41317.parquet": "timestamp_us_no_tz",
    "ARROW-GH-41321.parquet": "int64",
    "ARROW-GH-45185.parquet": "repetition level is not 0",
    "ARROW-GH-47662.parquet": "flba_field",
    "ARROW-RS-GH-6229-DICTHEADER.parquet": "outside the file",
    "ARROW-RS-GH-6229-LEVELS.parquet": "more values",
    "PARQUET-1481.parquet": "unknown physical type",
}
# Indices of no bits for a dictionary of one value: odd, but well defined, and pyarrow reads the same.
INCORRECT_MAP = [[("parent", "another"), ("name", "report")]]
BAD_BUT_READ = {"ARROW-GH-43605.parquet"}


@pytest.mark.parametrize("name", files_of(BAD))
def test_bad_data_is_refused_in_bounds(name):
    got = dump(BAD / name, timeout=10)
    assert got.kib * 1024 <= 4 * (BAD / name).stat().st_size + (64 << 20)
    assert got.cpu < 2
    if name in BAD_BUT_READ:
        assert_same(ours(BAD / name), pyarrow_reads(BAD / name))
    else:
        assert got.rc == 1 and BAD_SAYS[name] in got.err, got.err


@pytest.mark.parametrize("plain_footer", [True, False])
def test_encrypted_files_are_refused_by_name(tmp_path, plain_footer):
    pe = pytest.importorskip("pyarrow.parquet.encryption")

    class Kms(pe.KmsClient):
        def wrap_key(self, key, name):
            return base64.b64encode(key)

        def unwrap_key(self, wrapped, name):
            return base64.b64decode(wrapped)

    factory = pe.CryptoFactory(lambda connection: Kms())
    config = pe.EncryptionConfiguration("k", column_keys={"k": ["a"]}, plaintext_footer=plain_footer, double_wrapping=False)
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), config)
    table = pa.table({"a": [1, 2], "b": [3, 4]})
    with pq.ParquetWriter(tmp_path / "e.parquet", table.schema, encryption_properties=properties) as w:
        w.write_table(table)
    assert "encryption is not supported" in refusal(tmp_path / "e.parquet")


def test_damage_anywhere_never_crashes(tmp_path):
    """Flipped and cut bytes in footers and pages: read or refused, in bounded time and memory."""
    if not DATA.is_dir():
        pytest.skip(f"no folder {DATA}")
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    names = [n for n in files_of(DATA) if (DATA / n).stat().st_size < 20000]
    for i in range(60):
        data = bytearray((DATA / rng.choice(names)).read_bytes())
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        if rng.random() < 0.2:
            del data[rng.randrange(len(data)):]
        path = tmp_path / "damaged.parquet"
        path.write_bytes(data)
        got = dump(path, "--limit", 64 << 20, timeout=30)
        assert got.rc in (0, 1)
        assert got.kib * 1024 <= 4 * len(data) + (160 << 20), f"seed {seed}, file {i}: {got.kib} KiB"


# ---- pyarrow: types x encodings x codecs x page versions ----

ROWS = 1300


def with_nulls(values, share, rng):
    return [None if rng.random() < share else v for v in values] if share else list(values)


def values_of(kind, n, rng):
    r = rng.randrange
    text = lambda: "".join(rng.choice("abcäß€𝄞 ") for _ in range(r(0, 20)))  # noqa: E731
    make = {
        "bool": (pa.bool_(), lambda: rng.random() < 0.3),
        "int8": (pa.int8(), lambda: r(-128, 128)), "uint8": (pa.uint8(), lambda: r(256)),
        "int16": (pa.int16(), lambda: r(-2**15, 2**15)), "uint16": (pa.uint16(), lambda: r(2**16)),
        "int32": (pa.int32(), lambda: r(-2**31, 2**31) >> r(32)), "uint32": (pa.uint32(), lambda: r(2**32)),
        "int64": (pa.int64(), lambda: r(-2**63, 2**63) >> r(64)), "uint64": (pa.uint64(), lambda: r(2**64)),
        "half": (pa.float16(), lambda: np.float16(rng.choice([0.0, -0.0, 1.5, -2.25, math.inf, math.nan]))),
        "float": (pa.float32(), lambda: float(np.float32(rng.choice([rng.gauss(0, 1), -0.0, math.nan, math.inf])))),
        "double": (pa.float64(), lambda: rng.choice([rng.gauss(0, 1), -0.0, math.nan, -math.inf, 5e-324])),
        "string": (pa.string(), text), "binary": (pa.binary(), lambda: bytes(r(256) for _ in range(r(0, 12)))),
        "sorted": (pa.string(), None),
        "fixed": (pa.binary(7), lambda: bytes(r(256) for _ in range(7))),
        "date": (pa.date32(), lambda: r(-100000, 100000)),
        "time_ms": (pa.time32("ms"), lambda: r(86400000)), "time_us": (pa.time64("us"), lambda: r(86400000000)),
        "time_ns": (pa.time64("ns"), lambda: r(86400000000000)),
        "ts_ms": (pa.timestamp("ms"), lambda: r(-10**12, 10**13)), "ts_us": (pa.timestamp("us", "UTC"), lambda: r(-10**15, 10**16)),
        "ts_ns": (pa.timestamp("ns"), lambda: r(-2**62, 2**62)),
        "dec9": (pa.decimal128(9, 2), lambda: decimal.Decimal(r(-10**9 + 1, 10**9)).scaleb(-2)),
        "dec18": (pa.decimal128(18, 5), lambda: decimal.Decimal(r(-10**18 + 1, 10**18)).scaleb(-5)),
        "dec38": (pa.decimal128(38, 10), lambda: decimal.Decimal(r(-10**38 + 1, 10**38)).scaleb(-10, decimal.Context(prec=60))),
        "dec76": (pa.decimal256(76, 3), lambda: decimal.Decimal(r(-10**75, 10**75)).scaleb(-3, decimal.Context(prec=90))),
        "null": (pa.null(), lambda: None),
    }[kind]
    if kind == "sorted":
        return make[0], [f"machine-{i * 7 // n:03d}" for i in range(n)]
    return make[0], [make[1]() for _ in range(n)]


KINDS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "half", "float", "double", "string", "sorted",
         "binary", "fixed", "date", "time_ms", "time_us", "time_ns", "ts_ms", "ts_us", "ts_ns", "dec9", "dec18", "dec38", "dec76", "null"]


def flat_table(rows=ROWS, seed=1):
    rng = random.Random(seed)
    columns = {}
    for kind in KINDS:
        for label, share in (("full", 0), ("some", 0.2), ("none", 1)):
            kind_type, values = values_of(kind, rows, rng)
            columns[f"{kind}_{label}"] = pa.array(with_nulls(values, share, rng), kind_type)
        if kind != "null":
            kind_type, values = values_of(kind, rows, rng)
            columns[f"{kind}_required"] = pa.array(values, kind_type)
    table = pa.table(columns)
    fields = [f.with_nullable(not f.name.endswith("_required")) for f in table.schema]
    return table.cast(pa.schema(fields))


def nested_table(rows=1000, seed=2):
    rng = random.Random(seed)

    def maybe(make, share=0.15):
        return None if rng.random() < share else make()

    def some(make, most=4):
        return [make() for _ in range(rng.randrange(most + 1))]

    number, text = (lambda: rng.randrange(1000)), (lambda: "t" * rng.randrange(5))
    return pa.table({
        "list": pa.array([maybe(lambda: some(lambda: maybe(number))) for _ in range(rows)], pa.list_(pa.int32())),
        "list2": pa.array([maybe(lambda: some(lambda: maybe(lambda: some(lambda: maybe(text)))))
                           for _ in range(rows)], pa.list_(pa.list_(pa.string()))),
        "list3": pa.array([maybe(lambda: some(lambda: maybe(lambda: some(lambda: maybe(lambda: some(number))))))
                           for _ in range(rows)], pa.list_(pa.list_(pa.list_(pa.int64())))),
        "struct": pa.array([maybe(lambda: {"a": maybe(number), "b": maybe(lambda: {"c": maybe(text), "d": rng.random()})})
                            for _ in range(rows)],
                           pa.struct([("a", pa.int64()), ("b", pa.struct([("c", pa.string()), ("d", pa.float64())]))])),
        "list_struct": pa.array([maybe(lambda: some(lambda: maybe(lambda: {"x": maybe(number), "y": maybe(lambda: some(text))})))
                                 for _ in range(rows)],
                                pa.list_(pa.struct([("x", pa.int16()), ("y", pa.list_(pa.string()))]))),
        "struct_list": pa.array([maybe(lambda: {"l": maybe(lambda: some(number)), "m": maybe(lambda: [(text() + str(i), number())
                                 for i in range(rng.randrange(3))])}) for _ in range(rows)],
                                pa.struct([("l", pa.list_(pa.int32())), ("m", pa.map_(pa.string(), pa.int32()))])),
        "map": pa.array([maybe(lambda: [(str(i), maybe(number)) for i in range(rng.randrange(4))]) for _ in range(rows)],
                        pa.map_(pa.string(), pa.int64())),
        "map_list": pa.array([maybe(lambda: [(i, maybe(lambda: some(number))) for i in range(rng.randrange(3))]) for _ in range(rows)],
                             pa.map_(pa.int32(), pa.list_(pa.int64()))),
        "required": pa.array([some(number) for _ in range(rows)], pa.list_(pa.field("item", pa.int32(), nullable=False))),
        "empty": pa.array([[] for _ in range(rows)], pa.list_(pa.int32())),
        "flat": pa.array(range(rows)),
    })


def write(table, path, **options):
    pq.write_table(table, path, store_schema=False, row_group_size=options.pop("row_group_size", 500), **options)
    return path


CODECS = ["none", "snappy", "gzip", "brotli", "lz4", "zstd"]


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("dictionary", [True, False])
def test_pyarrow_flat_types(tmp_path, version, codec, dictionary):
    path = write(flat_table(), tmp_path / "f.parquet", data_page_version=version, compression=codec, use_dictionary=dictionary,
                 data_page_size=2000, write_page_index=True, write_page_checksum=True)
    want = pyarrow_reads(path)
    assert_same(ours(path, "--crc"), want)
    assert_same(ours(path, "--batch", 333, "--no-map"), want)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("index", [True, False])
def test_pyarrow_nested_types(tmp_path, version, codec, index):
    path = write(nested_table(), tmp_path / "n.parquet", data_page_version=version, compression=codec, data_page_size=500,
                 row_group_size=400, write_page_index=index)
    want = pyarrow_reads(path)
    assert_same(ours(path), want)
    assert_same(ours(path, "--batch", 37), want)
    assert_same(ours(path, "--batch", 64, "--no-map"), want)


ENCODINGS = {
    "DELTA_BINARY_PACKED": ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "date", "time_ms", "ts_us", "ts_ns"],
    "DELTA_LENGTH_BYTE_ARRAY": ["string", "binary", "sorted"],
    "DELTA_BYTE_ARRAY": ["string", "binary", "sorted", "fixed", "dec38"],
    "BYTE_STREAM_SPLIT": ["float", "double", "half", "int32", "int64", "uint16", "fixed", "dec38", "ts_us"],
    "RLE": ["bool"],
    "PLAIN": KINDS,
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_pyarrow_encodings(tmp_path, encoding, version):
    table = flat_table()
    names = [n for n in table.schema.names if n.rpartition("_")[0] in ENCODINGS[encoding]]
    path = write(table.select(names), tmp_path / "e.parquet", data_page_version=version, use_dictionary=False, data_page_size=3000,
                 column_encoding={n: encoding for n in names}, compression="zstd")
    want = pyarrow_reads(path)
    assert_same(ours(path), want)
    assert_same(ours(path, "--batch", 101), want)


@pytest.mark.parametrize("width", range(1, 65))
def test_pyarrow_delta_widths(tmp_path, width):
    rng = random.Random(width)
    steps = [rng.randrange(2**width) for _ in range(1001)]
    wrap = lambda v, n: (v + 2**(n - 1)) % 2**n - 2**(n - 1)  # noqa: E731
    wide, narrow, at = [], [], 0
    for s in steps:
        at += s - 2**(width - 1)
        wide.append(wrap(at, 64))
        narrow.append(wrap(at, 32))
    table = pa.table({"wide": pa.array(wide, pa.int64()), "narrow": pa.array(narrow, pa.int32())})
    path = write(table, tmp_path / "d.parquet", use_dictionary=False,
                 column_encoding={"wide": "DELTA_BINARY_PACKED", "narrow": "DELTA_BINARY_PACKED"})
    assert_same(ours(path), table)


@pytest.mark.parametrize("values", [1, 2, 3, 5, 17, 129, 1000, 5000, 70000])
def test_pyarrow_dictionary_widths_and_fallback(tmp_path, values):
    rng = random.Random(values)
    picks = [rng.randrange(values) for _ in range(80000)]
    table = pa.table({"s": [f"value {p}" if p % 7 else None for p in picks], "i": picks, "d": [p / 8 for p in picks],
                      "runs": [p // 997 % values for p in range(80000)]})
    path = write(table, tmp_path / "d.parquet", dictionary_pagesize_limit=60000, row_group_size=80000)
    assert_same(ours(path), table)
    assert_same(ours(path, "--batch", 9999), table)


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9])
def test_pyarrow_few_rows(tmp_path, rows):
    for name, table in (("flat", flat_table(max(rows, 1)).slice(0, rows)), ("nested", nested_table(max(rows, 1)).slice(0, rows))):
        path = write(table, tmp_path / f"{name}.parquet")
        assert_same(ours(path), pyarrow_reads(path))


def test_schema_types_and_field_ids(tmp_path):
    fields = [pa.field("a", pa.int32(), metadata={"PARQUET:field_id": "7"}),
              pa.field("l", pa.list_(pa.field("element", pa.string(), metadata={"PARQUET:field_id": "9"})),
                       metadata={"PARQUET:field_id": "8"})]
    path = tmp_path / "ids.parquet"
    pq.write_table(pa.table([[1], [["x"]]], schema=pa.schema(fields)), path, store_schema=False)
    got, want = ours(path).schema, pq.read_schema(path)
    assert got.field("a").metadata == {b"PARQUET:field_id": b"7"}
    assert got.field("l").metadata == {b"PARQUET:field_id": b"8"}
    assert got.field("l").type.value_field.metadata == {b"PARQUET:field_id": b"9"}
    assert got.equals(want)
    flat = write(flat_table(3), tmp_path / "types.parquet")
    assert ours(flat).schema.types == pq.read_schema(flat).types
    assert [f.nullable for f in ours(flat).schema] == [f.nullable for f in pq.read_schema(flat)]
    nested = write(nested_table(3), tmp_path / "nested.parquet")
    assert ours(nested).schema.types == pq.read_schema(nested).types


# ---- rows and columns picked ----

def rows_of(table, ranges):
    return pa.concat_tables([table.slice(first, count) for first, count in ranges])


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("no_map", [True, False])
def test_row_ranges(tmp_path, index, version, no_map):
    for name, table in (("flat", flat_table()), ("nested", nested_table())):
        n = table.num_rows
        path = write(table, tmp_path / f"{name}.parquet", write_page_index=index, data_page_version=version, data_page_size=800,
                     row_group_size=n)
        want = pyarrow_reads(path)
        for ranges in ([(0, 1)], [(n - 1, 1)], [(5, 0)], [(0, n)], [(100, 50), (150, 1), (151, 0), (400, 3), (n - 7, 7)],
                       [(i, 1) for i in range(0, n, 53)], [(17, n - 100)]):
            text = "0:" + ",".join(f"{a}:{b}" for a, b in ranges)
            got = ours(path, "--ranges", text, *(["--no-map"] if no_map else []))
            assert_same(got, rows_of(want, ranges))


def test_wrong_ranges_are_refused(tmp_path):
    path = write(pa.table({"a": [1, 2, 3]}), tmp_path / "a.parquet")
    for text in ("0:2:2", "0:-1:1", "0:1:1,0:1", "1:0:1", "0:0:-1"):
        assert "invalid" in refusal(path, "--ranges", text)


def test_columns(tmp_path):
    path = write(nested_table(), tmp_path / "n.parquet")
    want = pyarrow_reads(path)
    assert_same(ours(path, "--columns", "10,3,0"), want.select(["flat", "struct", "list"]))
    assert "invalid" in refusal(path, "--columns", "11")


# ---- key columns ----

def expanded_runs(path, leaf, decode):
    values = []
    for line in dump(path, "--runs", leaf).out.decode().splitlines():
        group, start, end, value = (line + " ").split(" ")[:4]
        assert int(start) < int(end)
        values += [None if value == "null" else decode(bytes.fromhex(value))] * (int(end) - int(start))
    return values


@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_runs_equal_the_column(tmp_path, dictionary, version):
    rng = random.Random(5)
    n = 20000
    columns = {
        "sorted": [f"m{i // 900}" for i in range(n)],
        "ragged": [f"m{i // 900}" if rng.random() < 0.9 else None for i in range(n)],
        "random": [rng.choice(["a", "b", "", "ccc"]) for _ in range(n)],
        "nulls": [None] * n,
        "number": [i // 5 if i // 777 % 2 else None for i in range(n)],
        "same": [17] * n,
    }
    path = write(pa.table(columns), tmp_path / "k.parquet", use_dictionary=dictionary, data_page_version=version, row_group_size=7000,
                 data_page_size=4000)
    number = lambda b: int.from_bytes(b, "little", signed=True)  # noqa: E731
    for leaf, name in enumerate(columns):
        decode = number if name in ("number", "same") else bytes.decode
        if name != "nulls":
            assert expanded_runs(path, leaf, decode) == columns[name], name
    for name in ("number", "same"):
        text = dump(path, "--int64", list(columns).index(name)).out.decode().split()
        assert [None if t == "null" else int(t) for t in text] == columns[name]
    if dictionary:  # a sorted series is a handful of runs
        assert len(dump(path, "--runs", 0).out.splitlines()) <= n // 900 + 1 + 3
        assert len(dump(path, "--runs", 5).out.splitlines()) == 3


# ---- other writers ----

def test_text_beyond_2_gib_comes_in_batches(tmp_path):
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 2400, pa.int32()), ["x" * (1 << 20)])
    path = write(pa.table({"s": texts}), tmp_path / "long.parquet", row_group_size=2400)
    assert pq.ParquetFile(path).metadata.num_row_groups == 1
    got = dump(path, "--ranges", "0:0:1,2399:1")
    assert got.rc == 0
    lengths = pa.ipc.open_stream(io.BytesIO(got.out)).read_all().column(0)
    assert [len(s.as_py()) for s in lengths] == [1 << 20, 1 << 20]
    assert "2147483647 bytes" in refusal(path, "--ranges", "0:0:2400")
    assert dump(path, "--sizes").out.decode().splitlines() == [f"rows 1200 text {1200 << 20}"] * 2


DUCK_SELECT = """
select i::tinyint ti, i::smallint si, i::int ii, (i * 1000003)::bigint bi, (i % 200)::utinyint uti, i::usmallint usi, i::uinteger ui,
  i::ubigint ub, i / 7.0 d, (i / 3.0)::float f, i % 3 = 0 b, 'text ' || (i % 97) s, (i % 97)::varchar::blob bl, date '2020-01-01' + i::int dt,
  time '00:00:01' + to_microseconds(i * 1000) t, timestamp '2021-02-03 04:05:06' + to_microseconds(i) ts,
  (timestamp '2021-02-03 04:05:06' + to_seconds(i))::timestamptz tz, (i * 1.01)::decimal(9, 2) d9, (i * 1.01)::decimal(18, 3) d18,
  (i * 1.01)::decimal(38, 4) d38, uuid() u, case when i % 5 = 0 then null else i end n, [i, null, i + 1] l,
  {'a': i, 'b': ['x' || i]} st, map {'k' || i: i} m, (i // 50)::varchar series, case when i % 11 = 0 then null else [['a'], []] end ll
from range(120) r(i)
"""


@pytest.mark.parametrize("version", ["V1", "V2"])
@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4_raw"])
def test_duckdb_files(tmp_path, version, codec):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "duck.parquet"
    with duckdb.connect() as con:
        con.sql("set timezone='UTC'")
        con.sql(f"copy ({DUCK_SELECT}) to '{path}' (format parquet, parquet_version {version}, codec {codec}, row_group_size 2048)")
        con.sql(f"copy (select * from range(30000) t(i), (select 0.5 x, 'abc' y)) to '{tmp_path}/big.parquet' "
                f"(format parquet, parquet_version {version}, codec {codec}, row_group_size 10000)")
    assert_same(ours(path), pyarrow_reads(path))
    assert_same(ours(tmp_path / "big.parquet"), pyarrow_reads(tmp_path / "big.parquet"))


@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4"])
def test_polars_files(tmp_path, codec):
    pl = pytest.importorskip("polars")
    rng = random.Random(3)
    n = 5000
    frame = pl.DataFrame({
        "i": [rng.randrange(-2**40, 2**40) for _ in range(n)], "f": [rng.random() for _ in range(n)],
        "s": [None if k % 9 == 0 else f"text {k % 300}" for k in range(n)], "b": [k % 3 == 0 for k in range(n)],
        "l": [[k, k + 1][: k % 3] if k % 7 else None for k in range(n)],
        "d": [datetime.date(2020, 1, 1) + datetime.timedelta(days=k) for k in range(n)],
        "t": [datetime.datetime(2020, 1, 1) + datetime.timedelta(microseconds=k) for k in range(n)],
        "st": [{"a": k, "b": str(k)} for k in range(n)], "c": [("x", "y", "z")[k % 3] for k in range(n)],
        "dec": [decimal.Decimal(k).scaleb(-2) for k in range(n)],
    }).with_columns(pl.col("c").cast(pl.Categorical), pl.col("i").cast(pl.Int16, strict=False).alias("i16"))
    path = tmp_path / "p.parquet"
    frame.write_parquet(path, compression=codec, row_group_size=2000, data_page_size=4096)
    assert_same(ours(path), pyarrow_reads(path))
    assert_same(ours(path, "--batch", 700), pyarrow_reads(path))


@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip", "zstd", "lz4"])
@pytest.mark.parametrize("legacy", [False, True])
def test_spark_files(spark, tmp_path, codec, legacy):
    spark.conf.set("spark.sql.parquet.writeLegacyFormat", str(legacy).lower())
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96" if legacy else "TIMESTAMP_MICROS")
    try:
        frame = spark.range(0, 5000, 1, 1).selectExpr(
            "id", "cast(id as tinyint) b", "cast(id as smallint) s", "cast(id as int) i", "cast(id / 7 as float) f", "id / 3 d",
            "id % 3 = 0 bo", "concat('text ', id % 50) t", "cast(concat('x', id) as binary) bi",
            "date_add(date'2020-01-01', cast(id as int)) dt", "timestamp_micros(1600000000000000 + id * 1000003) ts",
            "cast(id * 1.01 as decimal(9,2)) d9", "cast(id * 1.01 as decimal(18,2)) d18", "cast(id * 1.01 as decimal(38,6)) d38",
            "if(id % 5 = 0, null, id) n", "array(id, null, id + 1) l", "if(id % 4 = 0, null, array(array('a', cast(id as string)))) ll",
            "map(concat('k', id), id) m", "struct(id as a, array(struct(id as c)) as b) st")
        frame.write.option("compression", codec).option("parquet.page.size", "4096").mode("overwrite").parquet(str(tmp_path / "s"))
    finally:
        spark.conf.unset("spark.sql.parquet.writeLegacyFormat")
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
    files = sorted((tmp_path / "s").glob("part-*.parquet"))
    assert files
    for path in files:
        assert_same(ours(path), pyarrow_reads(path))
        assert_same(ours(path, "--batch", 777), pyarrow_reads(path))


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_spark_delta_pages(spark, tmp_path, version):
    out = tmp_path / "s"
    (spark.range(0, 20000, 1, 1).selectExpr("id", "cast(id * id as int) i", "concat('prefix ', id) t", "id / 3 d", "if(id % 3 = 0, null, id) n")
     .write.option("parquet.writer.version", version).option("parquet.enable.dictionary", "false").option("parquet.page.size", "8192")
     .parquet(str(out)))
    for path in out.glob("part-*.parquet"):
        assert_same(ours(path), pyarrow_reads(path))
        assert_same(ours(path, "--batch", 999), pyarrow_reads(path))
