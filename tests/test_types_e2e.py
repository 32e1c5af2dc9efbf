"""Every column type through the command and back through every engine, bit by bit."""
import math
import uuid

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import harness
import lakes
import values

KEY = ["series", "time"]
CREATE = ("--time-column", "time", "--series-key", "series")


class Loaded:
    """A lake with the tables `full` (all types), `nouuid` (those that 0.7.0 knows) and `spark` (those that Spark knows), each from two appends."""

    def __init__(self, command, lake, options=()):
        self.tl = harness.Command(command, lake)
        self.tables = {}
        for name, without, uuids in (("full", set(), True), ("nouuid", set(), False), ("spark", {"tm"}, True)):
            parts = [values.everything(without), values.everything(without, start=24)]
            parts = [values.with_uuid(p) if uuids else p for p in parts]
            self.tl.create(name, parts[0].schema, *CREATE, *options)
            for part in parts:
                self.tl.append(name, part, "--no-maintain")
            self.tables[name] = pa.concat_tables(parts)

    def dir(self, name):
        return self.tl.table_dir(name)


@pytest.fixture(scope="module")
def loaded(command, tmp_path_factory):
    return Loaded(command, tmp_path_factory.mktemp("types"))


@pytest.fixture(scope="module")
def loaded_compact(command, tmp_path_factory):
    """The same with the encodings that the default leaves out."""
    return Loaded(command, tmp_path_factory.mktemp("types-compact"), ("--prop", "encodings=compact"))


# ---- what engines call differently ------------------------------------------------------------------------------------

def storage(table):
    """uuid as its 16 bytes."""
    for i, f in enumerate(table.schema):
        column = table.column(i)
        if isinstance(f.type, pa.BaseExtensionType):
            table = table.set_column(i, f.name, pa.chunked_array([c.storage for c in column.chunks], f.type.storage_type))
    return table


def map_as_list(column):
    """A map as the list of its (key, value) structs."""
    def pairs(value):
        return None if value is None else [{"key": k, "value": v} for k, v in value]
    kind = pa.list_(pa.struct([("key", column.type.key_type), ("value", column.type.item_type)]))
    return pa.array([pairs(v) for v in column.to_pylist()], kind)


def uuid_text(column):
    return pa.array([None if v is None else str(uuid.UUID(bytes=v)) for v in column.to_pylist()], pa.string())


def uuid_bytes(column):
    return pa.array([None if v is None else uuid.UUID(v).bytes for v in column.to_pylist()], pa.binary())


def replaced(table, name, convert):
    i = table.column_names.index(name)
    return table.set_column(i, name, convert(table.column(name)))


def fixed_as_binary(table, *names):
    for name in names:
        if name in table.column_names:
            table = replaced(table, name, lambda c: c.cast(pa.binary()))
    return table


def normal(table, columns):
    """Both sides of a comparison: uuid and fixed as bytes, maps as lists, only these columns."""
    table = storage(table).select(columns)
    if "u" in columns and pa.types.is_string(table.schema.field("u").type):
        table = replaced(table, "u", uuid_bytes)
    table = fixed_as_binary(table, "x", "u")
    if pa.types.is_map(table.schema.field("m").type):
        table = replaced(table, "m", map_as_list)
    return table


def nulls_as_empty_lists(table, name):
    kind = lakes.plain_type(table.schema.field(name).type)
    return replaced(table, name, lambda c: pa.array([v or [] for v in c.to_pylist()], kind))


def check_pyiceberg(rows, expected):
    """pyiceberg 0.12 (and polars, which plans with it) reads a null list of structs as an empty list."""
    check(nulls_as_empty_lists(rows, "deep"), nulls_as_empty_lists(expected, "deep"))


def check(rows, expected):
    columns = expected.column_names
    lakes.same(normal(rows, columns), normal(expected, columns), key=KEY)


# ---- readers --------------------------------------------------------------------------------------------------------------

def test_the_values_are_hostile_enough():
    table = values.everything()
    assert {n for n in table.column_names if table.column(n).null_count == 0} == {"time"}
    assert pc.any(pc.is_nan(table.column("d"))).as_py() and math.copysign(1, table.column("d").to_pylist()[1]) < 0
    for name, (kind, cells) in values.COLUMNS.items():
        assert len(cells) < 24 and table.schema.field(name).type == kind


def test_the_command_reads_what_it_wrote(loaded):
    rows = loaded.tl.sql('select * from "full"')
    check(rows, loaded.tables["full"])


@pytest.mark.parametrize("options", [[], ["copies"]], ids=["dedup", "copies"])
def test_a_c_program_reads_what_the_command_wrote(loaded, loaded_compact, options):
    for lake in (loaded, loaded_compact):
        check(lakes.c_api(lake.tl.lake, "full", *options), lake.tables["full"])


def test_a_c_program_reads_one_series_and_some_columns(loaded):
    rows = lakes.c_api(loaded.tl.lake, "full", "series=series=ä", "columns=time,deep,s,series", "from=0", "to=86400000000")
    assert rows.column_names == ["time", "deep", "s", "series"]
    expected = loaded.tables["full"].select(rows.column_names)
    times = expected["time"].cast(pa.int64())
    wanted = pc.and_(pc.equal(expected["series"], "ä"), pc.and_(pc.greater_equal(times, 0), pc.less(times, 86_400_000_000)))
    assert 0 < pc.sum(wanted).as_py() < 24
    lakes.same(rows, expected.filter(wanted), key=["time"])


def test_the_command_gives_the_newest_rows(loaded):
    newest = semi(storage(loaded.tables["full"]), lakes.newest(loaded.tables["full"].select(KEY), ["series"], "time"))
    check(lakes.read_latest(loaded.tl, "full"), newest)
    check(lakes.c_api(loaded.tl.lake, "full", "latest"), newest)


def semi(table, keys):
    """The rows of `table` whose key is in `keys` (nested columns and null keys included)."""
    wanted = {tuple(r.values()) for r in keys.select(KEY).to_pylist()}
    return table.filter(pa.array([tuple(r.values()) in wanted for r in table.select(KEY).to_pylist()]))


def test_pyiceberg_reads_all_types(loaded):
    check_pyiceberg(lakes.pyiceberg(loaded.dir("full")), loaded.tables["full"])


def test_duckdb_reads_all_types(loaded):
    rows = lakes.duckdb_connection().execute(
        f"select * replace (u::varchar as u) from iceberg_scan('{lakes.metadata_file(loaded.dir('full'))}')").to_arrow_table()
    check(rows, loaded.tables["full"])


def test_polars_reads_all_types(loaded):
    check_pyiceberg(lakes.polars(loaded.dir("full")), loaded.tables["full"])


def test_peer_reads_all_types_it_knows(peer, loaded):
    views = lakes.peer_views(peer, loaded.tl.lake, "nouuid")
    expected = loaded.tables["nouuid"]
    for rows in (views.clean, views.raw):
        check(rows, expected)
    check(views.latest, semi(expected, lakes.newest(expected.select(KEY), ["series"], "time")))


def spark_form(table):
    return replaced(storage(table), "u", uuid_text)


def check_spark(rows, loaded):
    expected = loaded.tables["spark"]
    lakes.same(spark_normal(rows, expected.column_names), spark_normal(spark_form(expected), expected.column_names), key=KEY)


def spark_normal(table, columns):
    table = fixed_as_binary(table.select(columns), "x")
    return replaced(table, "m", map_as_list) if pa.types.is_map(table.schema.field("m").type) else table


def test_spark_reads_all_types_it_knows(spark, loaded):
    check_spark(lakes.spark(spark, loaded.dir("spark")), loaded)


def test_spark_reads_the_compact_encodings(spark, loaded_compact):
    check_spark(lakes.spark(spark, loaded_compact.dir("spark")), loaded_compact)


def test_spark_with_iceberg_1_10_reads_the_portable_encodings(spark_old, loaded):
    [rows] = spark_old([loaded.dir("spark")])
    check_spark(rows, loaded)


@pytest.mark.parametrize("engine", ["pyiceberg", "polars"])
def test_engines_read_the_compact_encodings(loaded_compact, engine):
    check_pyiceberg(getattr(lakes, engine)(loaded_compact.dir("full")), loaded_compact.tables["full"])


def test_peer_reads_the_compact_encodings(peer, loaded_compact):
    check(lakes.peer(peer, loaded_compact.tl.lake, "nouuid"), loaded_compact.tables["nouuid"])


# ---- other ways in ----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("shape", ["large", "dictionary", "slices", "views", "run ends"])
def test_every_arrow_layout_gives_the_same_rows(tl, shape):
    table = values.everything()
    tl.create("t", table.schema, *CREATE)
    tl.append("t", in_shape(table, shape))
    check(tl.sql("select * from t"), table)


def in_shape(table, shape):
    if shape == "slices":
        double = pa.concat_tables([table, table]).combine_chunks()
        return pa.concat_tables([double.slice(table.num_rows, 5), double.slice(5, 3), double.slice(table.num_rows + 8)])
    for name, to in (("s", {"large": pa.large_string(), "views": pa.string_view()}), ("y", {"large": pa.large_binary(), "views": pa.binary_view()}),
                     ("li", {"large": pa.large_list(pa.int32())})):
        if shape in to:
            table = replaced(table, name, lambda c: c.cast(to[shape]))
    if shape == "dictionary":
        for name in ("series", "s", "l", "d9"):
            table = replaced(table, name, lambda c: c.dictionary_encode())
    if shape == "run ends":
        for name in ("series", "s", "l"):
            table = replaced(table, name, lambda c: pc.run_end_encode(c.combine_chunks()))
    return table


def test_parquet_in_gives_the_same_rows(tl, tmp_path):
    table = values.everything()
    pq.write_table(table, tmp_path / "rows.parquet")
    tl.create("t", table.schema, *CREATE)
    tl.ok("append", "t", tmp_path / "rows.parquet")
    check(tl.sql("select * from t"), table)


def test_a_table_of_the_peer_with_all_types_is_read_and_written(tl, peer):
    table, more = values.everything(), values.everything(start=24)
    peer.create(tl.lake, "t", table.schema, time_column="time", series_key=["series"])
    peer.append(tl.lake, "t", table)
    check(tl.sql("select * from t"), table)
    check(lakes.read_latest(tl, "t"), semi(table, lakes.newest(table.select(KEY), ["series"], "time")))
    tl.append("t", more)
    everything = pa.concat_tables([table, more])
    for rows in (tl.sql("select * from t"), lakes.peer(peer, tl.lake, "t")):
        check(rows, everything)
    check_pyiceberg(lakes.pyiceberg(tl.table_dir("t")), everything)


# ---- keys of every type --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", [n for n in values.COLUMNS if n not in values.NESTED])
def test_every_primitive_type_can_be_the_series_key(tl, peer, name):
    """Two rounds of the same keys: the second replaces the first, in both systems, whatever the key's type."""
    kind, cells = values.COLUMNS[name]
    cells = [*cells, None]
    first = pa.table({"k": pa.array(cells, kind), "time": pa.array([0] * len(cells), pa.timestamp("us", "UTC")), "v": pa.array(range(len(cells)))})
    second = replaced(first, "v", lambda c: pc.add(c, 1000))
    tl.create("t", first.schema, "--time-column", "time", "--series-key", "k")
    tl.append("t", first, "--no-maintain")
    tl.append("t", second, "--no-maintain")
    rows = tl.sql("select k, time, v from t")
    lakes.same(fixed(rows), fixed(second), key=["v"])
    lakes.same(fixed(lakes.read_latest(tl, "t").select(["k", "time", "v"])), fixed(second), key=["v"])
    views = lakes.peer_views(peer, tl.lake, "t")
    lakes.same(fixed(views.clean.select(["k", "time", "v"])), fixed(second), key=["v"])
    lakes.same(fixed(views.latest.select(["k", "time", "v"])), fixed(second), key=["v"])
    tl.append("t", first.slice(0, 1))
    assert tl.sql("select count(*) as n from t").to_pylist() == [{"n": len(cells)}]


def fixed(table):
    return fixed_as_binary(table, "k") if pa.types.is_fixed_size_binary(table.schema.field("k").type) else table


# ---- codecs ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip", "lz4", "brotli", "uncompressed", "ZSTD at level 19"])
def test_every_codec_is_read_by_everyone(tl, peer, codec):
    table = values.everything()
    name, _, level = codec.partition(" at level ")
    properties = ["--prop", f"write.parquet.compression-codec={name}"] + (["--prop", f"write.parquet.compression-level={level}"] if level else [])
    tl.create("t", table.schema, *CREATE, *properties)
    tl.append("t", table)
    [written] = {pq.ParquetFile(p).metadata.row_group(0).column(0).compression for p in tl.table_dir("t").rglob("data/**/*.parquet")}
    assert written == {"lz4": "LZ4"}.get(name.lower(), name.upper())
    for rows in (tl.sql("select * from t"), lakes.c_api(tl.lake, "t"), lakes.peer(peer, tl.lake, "t"), lakes.duckdb(tl.table_dir("t"))):
        check(rows, table)
    check_pyiceberg(lakes.pyiceberg(tl.table_dir("t")), table)
