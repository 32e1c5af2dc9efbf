"""The readers that other tests trust: they agree on a table made by Timelake 0.7.0, and the comparison sees differences."""
import datetime
import math

import pyarrow as pa
import pytest

import harness
import lakes

T0 = datetime.datetime(2025, 12, 1, tzinfo=datetime.timezone.utc)


def readings(values, machine="m1", minute=0):
    n = len(values)
    return pa.table({
        "machine": pa.array([machine] * n, pa.string()),
        "time": pa.array([T0 + datetime.timedelta(minutes=minute + i) for i in range(n)], pa.timestamp("us", "UTC")),
        "v": pa.array(values, pa.float64()),
    })


@pytest.fixture
def peer_lake(peer, lake):
    """A table of 0.7.0's with three commits; minutes 1 and 2 of m1 are written twice."""
    schema = readings([]).schema
    peer.create(lake, "readings", schema, time_column="time", series_key=["machine"], chunk="day", dedup=True)
    peer.append(lake, "readings", readings([1.0, 2.0, 3.0]))
    peer.append(lake, "readings", readings([-0.0, math.nan, None], machine="m2"))
    peer.append(lake, "readings", readings([20.0, 30.0], minute=1), batch_id="again")
    return lake


RAW = pa.concat_tables([readings([1.0, 2.0, 3.0]), readings([-0.0, math.nan, None], machine="m2"), readings([20.0, 30.0], minute=1)])
CLEAN = pa.concat_tables([readings([1.0, 20.0, 30.0]), readings([-0.0, math.nan, None], machine="m2")])
COLUMNS = ["machine", "time", "v"]


def test_peer_hides_older_copies_and_shows_them_when_asked(peer, peer_lake):
    lakes.same(lakes.peer(peer, peer_lake, "readings"), CLEAN, key=["machine", "time"], columns=COLUMNS)
    lakes.same(lakes.peer(peer, peer_lake, "readings", dedup=False), RAW, key=COLUMNS, columns=COLUMNS)
    latest = lakes.newest(CLEAN, ["machine"], "time")
    assert latest.num_rows == 2
    lakes.same(peer.latest(peer_lake, "readings"), latest, key=["machine"], columns=COLUMNS)
    assert peer.info(peer_lake, "readings")["rows"] == 8


@pytest.mark.parametrize("engine", ["pyiceberg", "duckdb", "polars"])
def test_engine_reads_the_raw_rows(peer_lake, engine):
    rows = getattr(lakes, engine)(peer_lake / "default" / "readings")
    assert "_ingest_ts" in rows.column_names
    lakes.same(rows, RAW, key=COLUMNS, columns=COLUMNS)


def test_spark_reads_the_raw_rows(spark, peer_lake):
    lakes.same(lakes.spark(spark, peer_lake / "default" / "readings"), RAW, key=COLUMNS, columns=COLUMNS)


def test_spark_makes_tables_for_us_to_read(spark, spark_old):
    spark.sql("create table local.db.made (machine string, v double) using iceberg")
    spark.sql("insert into local.db.made values ('a', 1.5), ('b', null)")
    where = spark.conf.get("spark.sql.catalog.local.warehouse")
    expected = pa.table({"machine": ["a", "b"], "v": pa.array([1.5, None])})
    lakes.same(lakes.duckdb(f"{where}/db/made"), expected, key=["machine"])
    [rows] = spark_old([f"{where}/db/made"])
    lakes.same(rows, expected, key=["machine"])


def test_an_error_in_the_peer_is_seen(peer, lake):
    with pytest.raises(harness.PeerError, match="nothing_here"):
        peer("timelake.Lake(args['lake']).table('nothing_here')", lake=str(lake))


def test_comparison_sees_what_differs():
    a = readings([1.0, math.nan, None])
    lakes.same(a, readings([1.0, math.nan, None]), key=["machine", "time"])
    for other in ([1.0, math.nan, 0.0], [1.0, None, None], [1.0, 2.0, None], [1.5, math.nan, None], [1.0, math.nan]):
        with pytest.raises(AssertionError):
            lakes.same(a, readings(other), key=["machine", "time"])
    with pytest.raises(AssertionError, match="-0.0 instead of 0.0"):
        lakes.same(readings([-0.0]), readings([0.0]))
    with pytest.raises(AssertionError, match="type"):
        lakes.same(a, a.set_column(2, "v", a.column("v").cast(pa.float32())))
    with pytest.raises(AssertionError, match="columns"):
        lakes.same(a, a.rename_columns(["machine", "time", "w"]))
    with pytest.raises(AssertionError, match="machine"):
        lakes.same(a, readings([1.0, math.nan, None], machine="m2"))
