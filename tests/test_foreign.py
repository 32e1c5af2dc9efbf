"""Tables of other writers are read as their writers read them, or refused with a reason; nothing of them is ignored."""
import datetime
import pathlib
import re

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DoubleType, ListType, LongType, NestedField, StringType, StructType, TimestamptzType

import foreign
import harness
import lakes

UTC = datetime.timezone.utc


def check(tl, name, expected, key=("id",), namespace="default"):
    """The command and a C program see these rows."""
    lakes.same(tl.sql(f'select * from {namespace}."{name}"' if namespace != "default" else f'select * from "{name}"'), expected, key=list(key))
    lakes.same(lakes.c_api(tl.lake, f"{namespace}.{name}"), expected, key=list(key))


def rows_of(n, start=0):
    t0 = datetime.datetime(2026, 1, 1, tzinfo=UTC)
    return pa.table({
        "id": pa.array(range(start, start + n), pa.int64()),
        "time": pa.array([t0 + datetime.timedelta(hours=5 * i) for i in range(start, start + n)], pa.timestamp("us", "UTC")),
        "machine": pa.array([["m1", "m2", None, "a/b c"][i % 4] for i in range(start, start + n)], pa.string()),
        "v": pa.array([None if i % 7 == 3 else i / 8 for i in range(start, start + n)], pa.float64()),
    })


# ---- pyiceberg ----------------------------------------------------------------------------------------------------------

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False), NestedField(2, "time", TimestamptzType(), required=False),
                NestedField(3, "machine", StringType(), required=False), NestedField(4, "v", DoubleType(), required=False))
SPECS = {
    "none": PartitionSpec(),
    "machine": PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "machine")),
}


@pytest.fixture
def made(lake):
    """A table of pyiceberg's with two commits; made(spec="none", properties={}) -> its folder."""
    def make(spec="none", **properties):
        catalog = foreign.FolderCatalog(lake)
        table = catalog.create_table("default.made", SCHEMA, partition_spec=SPECS[spec], properties=properties)
        table.append(rows_of(20))
        table.append(rows_of(20, 20))
        return lake / "default" / "made"
    return make


@pytest.mark.parametrize("spec", SPECS)
def test_table_of_pyiceberg_with_the_names_of_a_catalog(tl, made, spec):
    made(spec)
    assert tl.ok("ls").split() == ["default.made"]
    check(tl, "made", rows_of(40))
    lakes.same(tl.sql("select * from made where id = 25 and machine = 'm2'"), rows_of(1, 25))


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("zipped", [False, True], ids=["plain json", "gzip"])
def test_table_of_pyiceberg_with_numbered_metadata(tl, made, spec, zipped):
    foreign.number_metadata(made(spec), zipped=zipped)
    assert tl.ok("ls").split() == ["default.made"]
    check(tl, "made", rows_of(40))
    assert tl.sql("select count(*) as n, min(time) as t from made where v is null").to_pylist() == \
        [{"n": pc.sum(rows_of(40)["v"].is_null()).as_py(), "t": rows_of(4)["time"][3].as_py()}]


def test_without_a_hint_the_newest_version_is_read(tl, made):
    foreign.number_metadata(made(), hint=False)
    assert tl.sql("select count(*) as n from made").to_pylist() == [{"n": 40}]


def test_a_stale_hint_is_no_harm(tl, made):
    where = made()
    foreign.number_metadata(where)
    (where / "metadata" / "version-hint.text").write_text("1")
    assert tl.sql("select count(*) as n from made").to_pylist() == [{"n": 40}]
    (where / "metadata" / "version-hint.text").write_text("garbage\n")
    assert tl.sql("select count(*) as n from made").to_pylist() == [{"n": 40}]


def test_rows_deleted_by_copy_on_write_are_gone(tl, made, lake):
    made("machine")
    foreign.FolderCatalog(lake).load_table("default.made").delete("id >= 10 and id < 17")
    expected = rows_of(40).filter(pc.invert(pc.and_(pc.greater_equal(rows_of(40)["id"], 10), pc.less(rows_of(40)["id"], 17))))
    check(tl, "made", expected)


def test_columns_are_found_by_field_id(tl, made, lake):
    made()
    table = foreign.FolderCatalog(lake).load_table("default.made")
    with table.update_schema() as change:
        change.rename_column("v", "value")
        change.delete_column("machine")
    with table.update_schema() as change:
        change.add_column("v", LongType())      # a new column under the old name
        change.move_first("value")
    expected = foreign.FolderCatalog(lake).load_table("default.made").scan().to_arrow()
    assert expected["v"].null_count == 40 and expected["value"].null_count < 40
    check(tl, "made", expected)
    assert tl.sql("select count(*) as n from made where v = 1").to_pylist() == [{"n": 0}]
    assert tl.sql("select count(*) as n from made where value >= 2.5").to_pylist() == [{"n": pc.sum(pc.greater_equal(expected["value"], 2.5)).as_py()}]


def c_api_says(lake, name):
    """The rows, or the error."""
    try:
        return lakes.c_api(lake, name).to_pylist()
    except AssertionError as e:
        return str(e)


def test_fields_inside_of_columns_never_give_the_value_of_another_field(tl, lake):
    """A C program and sql read what is certain (new, dropped, moved fields) and refuse what they cannot follow."""
    table = foreign.FolderCatalog(lake).create_table("default.made", Schema(
        NestedField(1, "s", StructType(NestedField(2, "a", LongType(), required=False), NestedField(3, "b", LongType(), required=False)), required=False),
        NestedField(4, "l", ListType(5, StructType(NestedField(6, "k", LongType(), required=False)), element_required=False), required=False)))
    table.append(pa.table({"s": [{"a": 1, "b": 2}, None], "l": [[{"k": 7}], []]}, schema=table.schema().as_arrow()))

    def both_read(expected):
        assert tl.sql("select * from made").to_pylist() == expected
        assert c_api_says(lake, "made") == expected

    both_read([{"s": {"a": 1, "b": 2}, "l": [{"k": 7}]}, {"s": None, "l": []}])
    with table.update_schema() as change:
        change.add_column(("s", "c"), LongType())
    both_read([{"s": {"a": 1, "b": 2, "c": None}, "l": [{"k": 7}]}, {"s": None, "l": []}])
    with table.update_schema() as change:
        change.move_first("s.b")
    both_read([{"s": {"b": 2, "a": 1, "c": None}, "l": [{"k": 7}]}, {"s": None, "l": []}])
    with table.update_schema() as change:
        change.delete_column("s.a")
    with table.update_schema() as change:
        change.add_column(("s", "a"), LongType())  # another field under the old name
    assert 'inside of column "s"' in tl.fails("sql", "select * from made")
    assert 'inside of column "s"' in c_api_says(lake, "made")


@pytest.fixture
def added(made, lake):
    """A table with files of its writer before and behind two Parquet files of another origin, which carry no field ids; one of
    them lacks a column, has another order and other types."""
    where = made()
    catalog = foreign.FolderCatalog(lake)
    pq.write_table(rows_of(20, 40), where / "data" / "without-ids.parquet")
    small = rows_of(5, 60).select(["v", "id", "time"])
    pq.write_table(small.set_column(1, "id", small["id"].cast(pa.int32())).set_column(0, "v", small["v"].cast(pa.float32())),
                   where / "data" / "smaller.parquet")
    for name in ("without-ids", "smaller"):
        catalog.load_table("default.made").add_files([f"file://{where}/data/{name}.parquet"])
    catalog.load_table("default.made").append(rows_of(5, 70))
    smaller = rows_of(5, 60).set_column(2, "machine", pa.nulls(5, pa.string()))
    return where, pa.concat_tables([rows_of(60), smaller, rows_of(5, 70)])


def test_files_without_field_ids_are_read_by_the_name_mapping(tl, added):
    _, expected = added
    check(tl, "made", expected)
    assert tl.sql("select count(*) as n, sum(id)::bigint as s from made where v >= 5").to_pylist() == \
        [{"n": (wanted := expected.filter(pc.greater_equal(expected["v"], 5))).num_rows, "s": pc.sum(wanted["id"]).as_py()}]


def test_files_without_field_ids_follow_renamed_columns(tl, added, lake):
    _, expected = added
    table = foreign.FolderCatalog(lake).load_table("default.made")
    with table.update_schema() as change:
        change.rename_column("v", "value")
    check(tl, "made", expected.rename_columns(["id", "time", "machine", "value"]))


def test_position_deletes_of_files_without_field_ids(tl, added):
    where, expected = added
    foreign.number_metadata(where)
    [path] = [p for p in foreign.data_files(where) if "without-ids" in p]
    [other] = [p for p in foreign.data_files(where) if "smaller" in p]
    foreign.add_position_deletes(where, path, [0, 19])
    foreign.add_position_deletes(where, other, [2])
    ours = next(p for p in foreign.data_files(where) if "without-ids" not in p and "smaller" not in p)
    foreign.add_position_deletes(where, ours, [0])
    gone = {40, 59, 62, pq.read_table(ours.removeprefix("file://"))["id"][0].as_py()}
    check(tl, "made", expected.filter(pa.array([i not in gone for i in expected["id"].to_pylist()])))


def test_an_empty_table_has_no_rows(tl, lake):
    foreign.FolderCatalog(lake).create_table("default.made", SCHEMA)
    rows = tl.sql("select * from made")
    assert rows.num_rows == 0 and rows.column_names == ["id", "time", "machine", "v"]


def test_info_of_a_foreign_table(tl, made):
    foreign.number_metadata(made("machine"))
    info = tl.info("made")
    assert info["rows"] == 40 and info["files"] > 1


def test_a_table_partitioned_otherwise_is_not_written(tl, made):
    where = made("machine")
    foreign.number_metadata(where)
    before = sorted(p for p in where.rglob("*"))
    with harness.ipc_file(rows_of(1, 50)) as path:
        line = tl.fails("append", "made", path)
    assert "partition" in line
    assert sorted(p for p in where.rglob("*")) == before
    check(tl, "made", rows_of(40))


# ---- delete files made by hand ------------------------------------------------------------------------------------------

def kept(positions_by_file, where):
    """The table's rows without these positions of its files."""
    parts = []
    for path in foreign.data_files(where):
        part = pq.read_table(path.removeprefix("file://"))
        parts.append(part.filter(pa.array([i not in positions_by_file.get(path, ()) for i in range(part.num_rows)])))
    return pa.concat_tables(parts)


def test_equality_deletes_are_refused(tl, made):
    where = made()
    foreign.number_metadata(where)
    check(tl, "made", rows_of(40))
    foreign.add_equality_deletes(where, pa.table({"id": pa.array([3, 4], pa.int64())}), [1])
    for args in (("sql", "select * from made"), ("sql", "select count(*) from made")):
        line = tl.fails(*args)
        assert "equality delete" in line and "made" in line


def test_position_deletes_hide_rows(tl, made):
    where = made()
    foreign.number_metadata(where)
    first, second = sorted(foreign.data_files(where))
    foreign.add_position_deletes(where, first, [0, 5, 19])
    check(tl, "made", kept({first: [0, 5, 19]}, where))
    foreign.add_position_deletes(where, second, [1], referenced_data_file=second)
    foreign.add_position_deletes(where, first, [5, 6])
    expected = kept({first: [0, 5, 6, 19], second: [1]}, where)
    check(tl, "made", expected)
    lakes.same(lakes.pyiceberg(where), expected, key=["id"])
    assert tl.sql("select count(*) as n from made").to_pylist() == [{"n": 35}]
    assert tl.sql("select count(*) as n from made where v >= 0").to_pylist() == [{"n": pc.sum(pc.greater_equal(expected["v"], 0)).as_py()}]


def test_position_deletes_do_not_reach_later_files(tl, made):
    where = made()
    foreign.number_metadata(where)
    first = sorted(foreign.data_files(where))[0]
    foreign.add_position_deletes(where, first, list(range(20)))
    left = kept({first: range(20)}, where)
    assert left.num_rows == 20
    tl.append("made", rows_of(20, 100))
    for rows in (tl.sql("select * from made"), lakes.pyiceberg(where)):
        lakes.same(rows, pa.concat_tables([left, rows_of(20, 100)]), key=["id"])


def test_a_delete_file_that_is_gone_is_an_error(tl, made):
    where = made()
    foreign.number_metadata(where)
    foreign.add_position_deletes(where, foreign.data_files(where)[0], [0])
    for path in (where / "data").glob("deletes-*"):
        path.unlink()
    assert "deletes-" in tl.fails("sql", "select * from made")


# ---- Spark --------------------------------------------------------------------------------------------------------------

KINDS = {
    "v1": ("", "'format-version'='1'"),
    "v2": ("", "'format-version'='2'"),
    "days": ("partitioned by (days(time))", ""),
    "hours": ("partitioned by (hours(time))", ""),
    "months_years": ("partitioned by (months(time), years(day))", ""),
    "machines": ("partitioned by (machine)", ""),
    "buckets": ("partitioned by (bucket(4, id), truncate(1, machine))", ""),
    "zipped": ("", "'write.metadata.compression-codec'='gzip'"),
    "snappy": ("partitioned by (days(time))", "'write.parquet.compression-codec'='snappy', 'write.parquet.row-group-size-bytes'='1000'"),
    "merge_on_read": ("", "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', 'write.delete.granularity'='file'"),
    "merge_on_read_days": ("partitioned by (days(time))", "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', "
                                                          "'write.delete.granularity'='partition'"),
    "vectors": ("", "'format-version'='3', 'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read'"),
    "vectors_days": ("partitioned by (days(time))", "'format-version'='3', 'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read'"),
}
INSERT = """
insert into {table} select id, timestamp '2026-01-01 00:00:00' + make_interval(0, 0, 0, 0, cast(id * 5 as int)) as time,
    case cast(id % 4 as int) when 0 then 'm1' when 1 then 'm2' when 2 then null else 'a/b c' end as machine,
    if(id % 7 = 3, null, id / 8D) as v, date '1969-12-28' + cast(id as int) as day,
    cast(id as int) - 100 as i, id % 2 = 0 as b, cast(id as float) / 3 as f, cast(cast(id as string) as binary) as y,
    cast(id as decimal(9, 2)) as d9, cast(id * 1000003 as decimal(18, 4)) as d18, cast(id as decimal(38, 10)) / 7 as d38,
    timestamp_ntz '1969-12-31 23:59:59.999999' as n,
    if(id % 5 = 0, null, array(cast(id as int), null)) as l, map('k', id, 'ü', null) as m, named_struct('a', id, 'b', cast(id as string)) as s
from range({first}, {last}, 1, 2)"""
COLUMNS = ("id bigint, time timestamp, machine string, v double, day date, i int, b boolean, f float, y binary, d9 decimal(9, 2), "
           "d18 decimal(18, 4), d38 decimal(38, 10), n timestamp_ntz, l array<int>, m map<string, bigint>, s struct<a: bigint, b: string>")


class SparkMade:
    def __init__(self, session):
        self.session = session
        self.lake = pathlib.Path(session.conf.get("spark.sql.catalog.local.warehouse"))
        for name in KINDS:
            self.make(f"local.made_by_spark.{name}", *KINDS[name])
        # a catalog at a URI writes file:/ URIs, one at a path writes paths
        session.conf.set("spark.sql.catalog.uris", "org.apache.iceberg.spark.SparkCatalog")
        session.conf.set("spark.sql.catalog.uris.type", "hadoop")
        session.conf.set("spark.sql.catalog.uris.warehouse", f"file:{self.lake}")
        self.make("uris.made_by_spark.uris", "partitioned by (days(time))", "'write.delete.mode'='merge-on-read'")

    def sql(self, text):
        self.session.sql(text)

    def make(self, table, partition, properties):
        self.sql(f"create table {table} ({COLUMNS}) using iceberg {partition} tblproperties ({properties or chr(39) + 'x' + chr(39) + '=' + chr(39) * 2})")
        self.sql(INSERT.format(table=table, first=0, last=40))
        self.sql(INSERT.format(table=table, first=40, last=60))
        if "merge-on-read" in properties:
            self.sql(f"delete from {table} where id % 9 = 2")
            self.sql(f"update {table} set v = 1000 + id where id % 11 = 5")
            self.sql(INSERT.format(table=table, first=60, last=70))
            self.sql(f"delete from {table} where id = 65 or id % 9 = 3")


@pytest.fixture(scope="module")
def spark_made(spark):
    return SparkMade(spark)


@pytest.fixture
def over(spark_made, command):
    """The command on the lake that Spark writes."""
    return harness.Command(command, spark_made.lake)


@pytest.mark.parametrize("name", [*KINDS, "uris"])
def test_table_of_spark(over, spark, spark_made, name):
    expected = harness.spark_table(spark.table(f"local.made_by_spark.{name}"))
    assert expected.num_rows == (54 if "merge" in name or "vectors" in name or name == "uris" else 60)
    check(over, name, expected, namespace="made_by_spark")
    lakes.same(over.sql(f'select * from "{name}"', "--namespace", "made_by_spark"), expected, key=["id"])
    for where in ("id = 41", "v >= 1000", "machine = 'm2'", "machine is null and time < '2026-01-03 00:00:00Z'", "day < '1970-01-01'", "i between -80 and -50"):
        got = over.sql(f'select id, time, machine, v from made_by_spark."{name}" where {where}')
        wanted = harness.spark_table(spark.table(f"local.made_by_spark.{name}").where(where).select("id", "time", "machine", "v"))
        lakes.same(got, wanted, key=["id"])
    assert over.sql(f'select count(*) as n from made_by_spark."{name}"').to_pylist() == [{"n": expected.num_rows}]


@pytest.mark.parametrize("name", ["uris", "v2"])
def test_how_spark_writes_paths_is_what_we_think(spark_made, name):
    first = foreign.data_files(spark_made.lake / "made_by_spark" / name)[0]
    assert re.match(r"file:/[^/]" if name == "uris" else r"/", first), first


def test_spark_table_after_schema_and_partition_evolution(over, spark, spark_made):
    table = "local.made_by_spark.evolved"
    spark_made.make(table, "partitioned by (days(time))", "")
    for change in (f"alter table {table} add column extra string", f"alter table {table} rename column v to value", f"alter table {table} alter column i type bigint",
                   f"alter table {table} add partition field bucket(3, id)", f"alter table {table} drop column y", f"alter table {table} add column s.c double"):
        spark.sql(change)
    spark.sql(f"insert into {table} select id + 1000, time, machine, value, day, i + 5000000000, b, f, d9, d18, d38, n, l, m, "
              f"named_struct('a', s.a, 'b', s.b, 'c', 0.5D), 'new' from {table} where id < 10")
    expected = harness.spark_table(spark.table(table))
    check(over, "evolved", expected, namespace="made_by_spark")
    assert over.sql("select count(*) as n from made_by_spark.evolved where i > 4000000000").to_pylist() == [{"n": 10}]


def test_spark_table_after_its_own_maintenance(over, spark, spark_made):
    table = "local.made_by_spark.kept_up"
    spark_made.make(table, "partitioned by (days(time))", "'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read'")
    spark.sql("call local.system.rewrite_data_files(table => 'made_by_spark.kept_up', options => map('min-input-files', '1', 'rewrite-all', 'true'))")
    spark.sql("call local.system.rewrite_manifests(table => 'made_by_spark.kept_up')")
    spark.sql("call local.system.expire_snapshots(table => 'made_by_spark.kept_up', older_than => timestamp '2999-01-01 00:00:00', retain_last => 1)")
    check(over, "kept_up", harness.spark_table(spark.table(table)), namespace="made_by_spark")


@pytest.mark.parametrize("form", ["avro", "orc"])
def test_data_files_that_are_not_parquet_are_refused(over, spark, form):
    spark.sql(f"create table local.made_by_spark.in_{form} (id bigint) using iceberg tblproperties ('write.format.default'='{form}')")
    spark.sql(f"insert into local.made_by_spark.in_{form} values (1)")
    line = over.fails("sql", f"select * from made_by_spark.in_{form}")
    assert form in line.lower()


def test_we_append_to_an_unpartitioned_table_of_spark_and_it_goes_on(over, spark):
    table = "local.made_by_spark.shared"
    spark.sql(f"create table {table} (id bigint, machine string) using iceberg")
    spark.sql(f"insert into {table} values (1, 'a'), (2, null)")
    over.append("made_by_spark.shared", pa.table({"id": pa.array([3, None], pa.int64()), "machine": ["c", "d"]}))
    spark.sql(f"refresh table {table}")
    spark.sql(f"insert into {table} values (5, 'e')")
    expected = pa.table({"id": pa.array([1, 2, 3, None, 5], pa.int64()), "machine": ["a", None, "c", "d", "e"]})
    check(over, "shared", expected, namespace="made_by_spark")
    lakes.same(harness.spark_table(spark.table(table)), expected, key=["id"])


def test_spark_writes_into_a_table_of_ours_and_we_go_on(spark_made, over, spark):
    """Spark knows nothing of insertion times or indexes: its rows count, and `latest` is right nevertheless."""
    t0 = datetime.datetime(2026, 5, 1, tzinfo=UTC)

    def rows(machine, v, hour=0):
        return pa.table({"machine": [machine], "time": pa.array([t0 + datetime.timedelta(hours=hour)], pa.timestamp("us", "UTC")), "v": [v]})

    over.create("made_by_spark.ours", rows("a", 0.0).schema, "--time-column", "time", "--series-key", "machine")
    over.append("made_by_spark.ours", rows("a", 1.0))
    spark.sql("insert into local.made_by_spark.ours values ('a', timestamp '2026-05-01 00:00:00', 2.0, timestamp '2999-01-01 00:00:00'), "
              "('b', timestamp '2026-05-01 01:00:00', 3.0, timestamp '2026-05-01 01:00:00')")
    expected = pa.concat_tables([rows("a", 2.0), rows("b", 3.0, 1)])
    lakes.same(over.sql("select * from made_by_spark.ours"), expected, key=["machine"], columns=["machine", "time", "v"])
    lakes.same(lakes.read_latest(over, "made_by_spark.ours"), expected, key=["machine"], columns=["machine", "time", "v"])
    over.append("made_by_spark.ours", rows("b", 4.0, 1))
    over.append("made_by_spark.ours", rows("c", 5.0, 2))
    expected = pa.concat_tables([rows("a", 2.0), rows("b", 4.0, 1), rows("c", 5.0, 2)])
    lakes.same(over.sql("select * from made_by_spark.ours"), expected, key=["machine"], columns=["machine", "time", "v"])
    lakes.same(lakes.read_latest(over, "made_by_spark.ours"), expected, key=["machine"], columns=["machine", "time", "v"])
    spark.sql("refresh table local.made_by_spark.ours")
    assert spark.table("local.made_by_spark.ours").count() == 5
