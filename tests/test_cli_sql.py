"""sql: names, formats, several statements, UTC time functions, dedup on read, errors."""
import csv
import datetime as dt
import io
import json
import os
import re
import resource
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import harness
import lakes


def fill(tl, name, rows, *options, schema="machine:string,time:timestamptz,v:double"):
    tl.ok("create", name, "--schema", schema, "--time-column", "time", "--series-key", "machine", *options)
    add(tl, name, rows)


def add(tl, name, rows):
    text = "machine,time,v\n" + "".join(f"{m},{t},{v}\n" for m, t, v in rows)
    tl.ok("append", name, "-", "--format", "csv", "--no-maintain", stdin=text)


ROWS = [("a", "2025-01-01T00:00:00Z", 1), ("a", "2025-01-01T01:30:00Z", 2), ("b", "2025-01-02T00:00:00Z", 3)]


def csv_of(tl, *args, **kw):
    return tl.ok("sql", "--format", "csv", *args, **kw)


# ---- names ----------------------------------------------------------------------------------------------------------

def test_namespaces_are_schemas(tl):
    fill(tl, "readings", ROWS)
    fill(tl, "iot.readings", ROWS[:1])
    fill(tl, "iot.other-one", ROWS[:2])
    for name, n in [("readings", 3), ("default.readings", 3), ("timelake.default.readings", 3), ('"default".readings', 3),
                    ("iot.readings", 1), ("timelake.iot.readings", 1), ("IOT.Readings", 1), ('iot."other-one"', 2)]:
        assert csv_of(tl, f"select count(*) n from {name}") == f"n\n{n}\n", name
    assert csv_of(tl, "select count(*) n from readings", "--namespace", "iot") == "n\n1\n"
    assert csv_of(tl, "select count(*) n from iot.readings join default.readings using (machine, time)") == "n\n1\n"
    assert csv_of(tl, "show tables") == "name\nreadings\n"
    assert csv_of(tl, "show tables", "--namespace", "iot") == "name\nother-one\nreadings\n"
    assert csv_of(tl, "select table_schema, table_name from information_schema.tables order by all") == \
        "table_schema,table_name\ndefault,readings\niot,other-one\niot,readings\n"
    assert csv_of(tl, "describe readings").splitlines()[1].startswith("machine,VARCHAR")
    tl.fails("sql", "select 1", "--namespace", "a.b")


def test_joins_ctes_and_subqueries_over_several_tables(tl):
    fill(tl, "a", ROWS)
    fill(tl, "b", ROWS[1:])
    assert csv_of(tl, "with x as (select * from a) select x.machine, b.v from x join b using (machine, time) order by all") == \
        "machine,v\na,2.0\nb,3.0\n"
    assert csv_of(tl, "select (select count(*) from a) + (select count(*) from b) as n") == "n\n5\n"
    assert csv_of(tl, "select count(*) n from a x, a y, b z") == "n\n18\n"


def test_names_that_tables_may_have(tl):
    fill(tl, "select", ROWS)
    fill(tl, "ns-1.t-2", ROWS)
    assert csv_of(tl, 'select count(*) n from "select"') == "n\n3\n"
    assert csv_of(tl, 'select count(*) n from "ns-1"."t-2"') == "n\n3\n"


def test_columns_with_the_names_of_virtual_ones(tl):
    tl.ok("create", "r", "--schema", 'time:timestamptz,s:string,file_index:bigint,"file_row_number":int,filename:string,"two words":int',
          "--time-column", "time", "--series-key", "s")
    for v in (1, 2):
        tl.ok("append", "r", "-", "--format", "csv", stdin="time,s,file_index,file_row_number,filename,two words\n"
              + f"2025-01-01,a,{v}0,{v},f{v},7\n2025-01-01,b,{v}1,{v},g{v},8\n")
    assert csv_of(tl, "select * exclude (_ingest_ts) from r order by s") == \
        "time,s,file_index,file_row_number,filename,two words\n" \
        "2025-01-01T00:00:00Z,a,20,2,f2,7\n2025-01-01T00:00:00Z,b,21,2,g2,8\n"


def test_tables_in_folders_with_glob_characters(tl, tmp_path):
    odd = tmp_path / "la[k]e * ? 'x'"
    tl.ok("create", "r", "--schema", "time:timestamptz,v:int", "--time-column", "time", lake=odd)
    tl.ok("append", "r", "-", "--format", "csv", lake=odd, stdin="time,v\n2025-01-01,5\n")
    assert csv_of(tl, "select v from r", lake=odd) == "v\n5\n"


# ---- statements -----------------------------------------------------------------------------------------------------

def test_several_statements_run_in_order(tl):
    fill(tl, "r", ROWS)
    out = csv_of(tl, "select ';' as a; -- one;\n create temp table x as select 5 as n; select n from x; set timelake.read_dedup = false;")
    assert out == "a\n;\n\nn\n5\n"
    assert csv_of(tl, stdin="select 1 as a;\nselect count(*) as n\nfrom r;\n") == "a\n1\n\nn\n3\n"
    assert csv_of(tl, "-", stdin="select 1 as a") == "a\n1\n"
    got = tl("sql", "--format", "csv", "select 1 as a; select nonsense; select 2 as b")
    assert got.rc == 1 and got.out == "a\n1\n" and "nonsense" in got.err


def test_a_statement_sees_commits_made_since_the_one_before(tl):
    fill(tl, "r", ROWS)
    p = tl.start("sql", "--format", "csv", stdin=subprocess.PIPE)
    assert p.poll() is None
    add(tl, "r", [("c", "2025-01-03", 9)])
    out, err = p.communicate(b"select count(*) n from r", timeout=60)
    assert (out, err) == (b"n\n4\n", b"")


def test_explain_and_pivot_and_describe(tl):
    fill(tl, "r", ROWS)
    add(tl, "r", ROWS[:1])
    plan = tl.ok("sql", "explain select * from r where v > 1 and machine = 'a'")
    assert "READ_PARQUET" in plan and "tl_live" in plan and "machine='a'" in plan
    assert csv_of(tl, "pivot r on machine using sum(v) group by time order by time").splitlines()[0] == "time,a,b"
    assert "machine" in csv_of(tl, "summarize r")


def test_sql_makes_no_tables_that_would_be_gone(tl):
    fill(tl, "r", ROWS)
    for text in ("create table x as select 1", "create or replace table x (a int)", "/* c */ CREATE TABLE x (a int)"):
        assert "timelake create" in tl.fails("sql", text)
    tl.fails("sql", "insert into r values (1)")
    tl.fails("sql", "drop table r")
    tl.fails("sql", "delete from r")
    assert csv_of(tl, "select count(*) n from r") == "n\n3\n"


# ---- dedup ----------------------------------------------------------------------------------------------------------

def test_older_copies_are_hidden_unless_asked_for(tl):
    fill(tl, "r", ROWS)
    add(tl, "r", [("a", "2025-01-01T00:00:00Z", 10), ("c", "2025-01-01T00:00:00Z", 4)])
    assert csv_of(tl, "select sum(v) s, count(*) n from r") == "s,n\n19.0,4\n"
    # a filter on a value never brings an older copy back
    assert csv_of(tl, "select count(*) n from r where v = 1") == "n\n0\n"
    for off in (("--set", "read-dedup=false"), ("--set", "timelake.read_dedup=off"), ("--set", "READ_DEDUP=false")):
        assert csv_of(tl, "select count(*) n from r", *off) == "n\n5\n"
    assert csv_of(tl, "set timelake.read_dedup=false; select count(*) n from r; set timelake.read_dedup=true; select count(*) n from r;"
                      "reset timelake.read_dedup; select count(*) n from r") == "n\n5\n\nn\n4\n\nn\n4\n"
    tl.ok("alter", "r", "--set", "read-dedup=false")
    assert csv_of(tl, "select count(*) n from r") == "n\n5\n"
    assert csv_of(tl, "select count(*) n from r", "--set", "read-dedup=true") == "n\n4\n"
    assert "timelake.read-dedup" in tl.fails("sql", "select count(*) n from r", "--set", "read-dedup=maybe")
    assert "timelake.read-dedup" in tl.fails("sql", "set timelake.read_dedup = 'maybe'; select count(*) from r")
    assert "unknown setting" in tl.fails("sql", "select 1", "--set", "timelake.nonsense=1")


def test_many_copies_and_every_kind_of_query(tl):
    """Pushdown, top-N, joins, limits over files with superseded rows, against the same questions to a clean copy."""
    rows = [(m, f"2025-01-0{1 + i // 1000}T{i % 1000 // 60:02d}:{i % 60:02d}:00Z", i) for m in "abc" for i in range(3000) if i % 1000 < 900]
    fill(tl, "r", rows)
    for k in range(3):
        add(tl, "r", [(m, t, v * 10 + k) for m, t, v in rows if int(v) % (k + 3) == 0])
    clean = {}
    for k in (None, 0, 1, 2):
        for m, t, v in rows:
            if k is None or int(v) % (k + 3) == 0:
                clean[m, t] = float(v if k is None else v * 10 + k)
    assert tl.sql("select count(*) n from r").to_pylist() == [{"n": len(clean)}]
    got = tl.sql("select machine, strftime(time, '%Y-%m-%dT%H:%M:%SZ') t, v from r").to_pylist()
    assert {(r["machine"], r["t"]): r["v"] for r in got} == clean and len(got) == len(clean)
    top = sorted(clean.values(), reverse=True)[:5]
    assert [r["v"] for r in tl.sql("select v from r order by v desc limit 5").to_pylist()] == top
    one = sorted((t, v) for (m, t), v in clean.items() if m == "b" and t >= "2025-01-02" and v > 1500)
    got = tl.sql("select strftime(time, '%Y-%m-%dT%H:%M:%SZ') t, v from r where machine = 'b' and time >= '2025-01-02' and v > 1500 order by 1")
    assert [(r["t"], r["v"]) for r in got.to_pylist()] == one
    assert tl.sql("select count(*) n from r x join r y using (machine, time) where x.v = y.v").to_pylist() == [{"n": len(clean)}]


# ---- time -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "America/New_York", "UTC"])
def test_times_are_utc_whatever_the_machine_says(tl, zone):
    fill(tl, "r", [("a", "2025-11-02T05:30:00Z", 1), ("a", "2025-11-02T06:30:00Z", 2), ("a", "1969-12-31T23:59:59.999999Z", 3)])
    env = {"TZ": zone, "LC_ALL": "de_DE.UTF-8"}
    assert csv_of(tl, "select time, date_trunc('day', time) d, hour(time) h, time::varchar t from r order by 1", env=env) == \
        "time,d,h,t\n1969-12-31T23:59:59.999999Z,1969-12-31T00:00:00Z,23,1969-12-31 23:59:59.999999+00\n" \
        "2025-11-02T05:30:00Z,2025-11-02T00:00:00Z,5,2025-11-02 05:30:00+00\n" \
        "2025-11-02T06:30:00Z,2025-11-02T00:00:00Z,6,2025-11-02 06:30:00+00\n"


def floor_to(width_us, t, origin=dt.datetime(1970, 1, 1)):
    us = (t - origin) // dt.timedelta(microseconds=1)
    return origin + dt.timedelta(microseconds=us // width_us * width_us)


@pytest.mark.parametrize("width,us", [("1 hour", 3600e6), ("7 minutes", 420e6), ("1 day", 86400e6), ("1 week", 7 * 86400e6),
                                      ("10 days", 864000e6), ("250 milliseconds", 250e3), ("36 hours", 36 * 3600e6)])
@pytest.mark.parametrize("kind", ["timestamptz", "timestamp"])
def test_time_bucket_counts_from_the_epoch(tl, width, us, kind):
    times = ["1600-02-29 12:34:56.789", "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00", "2000-01-03 00:00:00",
             "2025-03-30 01:30:00", "2262-04-12 00:00:00", "9999-12-31 23:59:59"]
    values = ", ".join(f"('{t}'::{kind})" for t in times)
    (tl.lake / "default").mkdir()
    got = tl.sql(f"select time_bucket('{width}', t) b from (values {values}) x(t)").column("b").to_pylist()
    want = [floor_to(int(us), dt.datetime.fromisoformat(t)) for t in times]
    assert [g.replace(tzinfo=None) for g in got] == want
    origin = dt.datetime(2025, 1, 1, 0, 0, 30)
    got = tl.sql(f"select time_bucket('{width}', t, '{origin}'::{kind}) b from (values {values}) x(t)").column("b").to_pylist()
    assert [g.replace(tzinfo=None) for g in got] == [floor_to(int(us), dt.datetime.fromisoformat(t), origin) for t in times]


def test_time_bucket_of_months_dates_and_nulls(tl):
    assert csv_of(tl, "select time_bucket(interval '5 months', t) b from (values (timestamptz '1969-12-31'), ('2025-03-01'), (null)) x(t)") \
        == "b\n1969-08-01T00:00:00Z\n2025-01-01T00:00:00Z\n\n"
    assert csv_of(tl, "select time_bucket(interval '1 year', date '2025-06-01') a, time_bucket(interval '1 week', date '2025-06-01') b, "
                      "time_bucket(interval '1 day', 'infinity'::timestamptz) c, time_bucket(null::interval, now()) d") \
        == "a,b,c,d\n2025-01-01,2025-05-29,%s,\n" % csv_of(tl, "select 'infinity'::timestamptz as x").splitlines()[1]
    assert "more than zero" in tl.fails("sql", "select time_bucket(interval '0 day', now())")
    assert "not both" in tl.fails("sql", "select time_bucket(interval '1 month 1 day', now())")


PARTS = ["microseconds", "milliseconds", "second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade", "century",
         "millennium", "isoyear"]


@pytest.mark.parametrize("part", PARTS)
def test_date_trunc_of_zoned_times_is_duckdbs_in_utc(tl, part):
    """Against DuckDB's own function over times without a zone."""
    query = """select date_trunc('{p}', make_timestamptz(us)) a, date_trunc('{p}', make_timestamp(us)) b
               from (select (hash(i) % 8000000000000000)::bigint - 4000000000000000 as us from range(20000) r(i))"""
    got = tl.sql("select count(*) n, count(*) filter (a::timestamp = b) same from (" + query.format(p=part) + ")").to_pylist()
    assert got == [{"n": 20000, "same": 20000}]


def test_date_trunc_in_another_zone_is_refused(tl):
    line = tl.fails("sql", "set timezone='Europe/Berlin'; select date_trunc('day', timestamptz '2025-01-01 00:00:00+00')")
    assert "AT TIME ZONE" in line
    tl.fails("sql", "select date_trunc('nonsense', now())")
    assert csv_of(tl, "select date_trunc('day', timestamptz '2025-07-01 23:00:00+00' at time zone 'Europe/Berlin') d") == "d\n2025-07-02T00:00:00\n"


# ---- formats --------------------------------------------------------------------------------------------------------

VALUES = """select 1 as i, -1.5::double as d, 0.1::float as f, 12345678901234567890.12::decimal(22,2) as n, true as b, null as x,
 'ä, "q"' as s, '' as e, date '1969-12-31' as day, time '10:20:30.5' as t, timestamp '2025-01-01 10:00:00.000001' as ts,
 timestamptz '2025-01-01 10:00:00+00' as tz, '\\x00\\xFFa'::blob as bin, uuid '00112233-4455-6677-8899-aabbccddeeff' as u,
 [1, null, 3] as l, {'a': 1, 'b': ['x']} as st, map {'k': 1.5} as m, 'nan'::double as nan, '-inf'::double as inf,
 170141183460469231731687303715884105727::hugeint as h, interval '1 month 2 days 03:04:05.5' as iv, 'a'::enum('a', 'b') as en"""


def test_json_is_one_object_a_line(tl):
    [got] = tl.json("sql", "--format", "json", VALUES)
    assert got == {"i": 1, "d": -1.5, "f": 0.1, "n": 12345678901234567890.12, "b": True, "x": None, "s": 'ä, "q"', "e": "",
                   "day": "1969-12-31", "t": "10:20:30.500", "ts": "2025-01-01T10:00:00.000001", "tz": "2025-01-01T10:00:00Z",
                   "bin": "00ff61", "u": "00112233-4455-6677-8899-aabbccddeeff", "l": [1, None, 3], "st": {"a": 1, "b": ["x"]},
                   "m": {"k": 1.5}, "nan": "NaN", "inf": "-Infinity", "h": 170141183460469231731687303715884105727,
                   "iv": "1 month 2 days 03:04:05.500000", "en": "a"}
    assert '"n":12345678901234567890.12' in tl.ok("sql", "--json", VALUES)


def test_csv_is_rfc_4180(tl):
    [head, row] = csv.reader(io.StringIO(csv_of(tl, VALUES)))
    got = dict(zip(head, row))
    assert got["s"] == 'ä, "q"' and got["n"] == "12345678901234567890.12" and got["l"] == "[1,null,3]" and got["tz"] == "2025-01-01T10:00:00Z"
    assert csv_of(tl, "select null as a, '' as b, 'x\ny' as c, 'a,b' as \"d,\"") == 'a,b,c,"d,"\n,"","x\ny","a,b"\n'


def test_what_sql_writes_append_reads(tl):
    """CSV and JSON results come back as the same rows, bit by bit."""
    tl.ok("create", "a", "--schema", "time:timestamptz,s:string,d:double,f:float,i:bigint,b:bool,n:decimal(20,3),day:date,t:time,u:uuid",
          "--time-column", "time", "--series-key", "s", "--no-ingest-time")
    tl.ok("append", "a", "-", "--format", "csv", stdin="time,s,d,f,i,b,n,day,t,u\n"
          "2025-01-01T00:00:00.000001Z,\"x,\"\"y\"\"\nz\",0.1,0.1,9223372036854775807,true,12345678901234567.890,2024-02-29,10:20:30.123456,"
          "00112233-4455-6677-8899-aabbccddeeff\n1600-01-01,\"\",-0.0,1e-45,-1,false,-0.001,0001-01-01,00:00:00,\n"
          "2025-01-02,,NaN,-inf,0,,,,,\n2025-01-03,b,5e-324,3.4028235e38,,,,,,\n2025-01-04,b,1.7976931348623157e308,inf,,,,,,\n")
    want = tl.sql("select * from a")
    for form, suffix in [("csv", "csv"), ("json", "ndjson"), ("arrow", "arrow"), ("parquet", "parquet")]:
        data = tl.ok("sql", "--format", form, "select * from a", binary=True)
        tl.ok("create", form, "--from", "-", "--format", "parquet", "--time-column", "time", "--series-key", "s", "--no-ingest-time",
              stdin=tl.ok("sql", "--format", "parquet", "select * from a", binary=True))
        tl.ok("append", form, "-", "--format", suffix, stdin=data)
        lakes.same(tl.sql(f'select * from "{form}"'), want, key=["time"])


def test_the_table_format(tl):
    assert tl.ok("sql", "select 1 as n, 'x' as text union all select 100, null order by 1") == \
        "+-----+------+\n| n   | text |\n+-----+------+\n|   1 | x    |\n| 100 | NULL |\n+-----+------+\n"
    assert tl.ok("sql", "select 'a\nb' as x") == "+------+\n| x    |\n+------+\n| a\\nb |\n+------+\n"
    assert tl.ok("sql", "select '日本' as x") == "+------+\n| x    |\n+------+\n| 日本 |\n+------+\n"
    assert tl.ok("sql", "select 1 as a where false") == "+---+\n| a |\n+---+\n+---+\n"
    lines = tl.ok("sql", "select i, repeat('x', (i // 1500)::int) s from range(3000) r(i)").splitlines()
    assert len(lines) == 3000 + 4


def test_arrow_parquet_and_none(tl, tmp_path):
    fill(tl, "r", ROWS)
    got = harness.read_arrow(tl.ok("sql", "--format", "arrow", "select * exclude (_ingest_ts) from r", binary=True))
    assert str(got.schema.field("time").type) == "timestamp[us, tz=UTC]" and got.num_rows == 3
    tl.ok("sql", "--format", "parquet", "select * exclude (_ingest_ts) from r; -- done", "--output", tmp_path / "o.parquet")
    lakes.same(pq.read_table(tmp_path / "o.parquet"), got, key=["machine", "time"])
    piped = tl.ok("sql", "--format", "parquet", "select * exclude (_ingest_ts) from r", binary=True)
    lakes.same(pq.read_table(io.BytesIO(piped)), got, key=["machine", "time"])
    assert tl.ok("sql", "--format", "none", "select * from r") == ""
    tl.ok("sql", "--format", "csv", "select 1 as a", "--output", tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text() == "a\n1\n"
    for form in ("arrow", "parquet"):
        assert "one result" in tl.fails("sql", "--format", form, "select 1 as a; select 2 as b", "--output", tmp_path / "two")


def test_results_stream_in_bounded_memory(tl, command):
    """600 MB of rows through a process that may not have so much."""
    limit = 900 << 20

    def bound():
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    argv = tl.argv("sql", "--format", "csv", "--set", "threads=2", "--set", "memory_limit=300MB",
                   "select i, repeat('x', 40) as s, i * 0.5 as d from range(10000000) r(i)")
    p = subprocess.Popen(argv, stdout=subprocess.PIPE, env=tl.env, preexec_fn=bound)
    n = 0
    while block := p.stdout.read(1 << 20):
        n += len(block)
    assert p.wait(timeout=300) == 0
    assert n > 550_000_000


def test_a_closed_pipe_ends_it(tl):
    p = tl.start("sql", "--format", "csv", "select i from range(100000000) r(i)")
    assert p.stdout.readline() == b"i\n"
    p.stdout.close()
    p.wait(timeout=60)
    p.stderr.close()


# ---- errors ---------------------------------------------------------------------------------------------------------

def test_errors_are_one_line_with_our_names(tl):
    fill(tl, "readings", ROWS)
    assert tl.fails("sql", "select * from readingz") == 'Error: Catalog Error: Table with name readingz does not exist! Did you mean "readings"?'
    assert '"nope" not found' in tl.fails("sql", "select nope from readings")
    assert "Parser Error" in tl.fails("sql", "selec 1")
    assert "(line 3 of the statement)" in tl.fails("sql", "select 1,\n\nnope from readings")
    assert "Conversion Error" in tl.fails("sql", "select 'x'::int")
    assert "tl_live is for" in tl.fails("sql", "select tl_live(99, 0, 0)")
    assert "no table default.none" in tl.fails("sql", "select tl_sql('none')")


def test_a_broken_table_is_named_and_the_others_go_on(tl):
    fill(tl, "good", ROWS)
    fill(tl, "bad", ROWS)
    for path in (tl.table_dir("bad") / "metadata").glob("*.json"):
        path.write_text("{")
    for path in (tl.table_dir("bad") / "metadata").glob("timelake-head"):
        path.unlink()
    assert csv_of(tl, "select count(*) n from good") == "n\n3\n"
    assert "bad" in tl.fails("sql", "select count(*) n from bad")
    assert "good" in csv_of(tl, "show tables")


def test_a_missing_data_file_is_an_error_never_fewer_rows(tl):
    fill(tl, "r", ROWS)
    next((tl.table_dir("r") / "data").rglob("*.parquet")).unlink()
    assert ".parquet" in tl.fails("sql", "select * from r")


# ---- tables of other writers ----------------------------------------------------------------------------------------

def test_files_without_field_ids_are_read_by_name(tl, lake, tmp_path):
    import foreign
    from pyiceberg.schema import Schema
    from pyiceberg.types import DoubleType, LongType, NestedField, StringType
    table = foreign.FolderCatalog(lake).create_table("default.made", Schema(
        NestedField(1, "id", LongType(), required=False), NestedField(2, "v", DoubleType(), required=False),
        NestedField(3, "s", StringType(), required=False)))
    added = lake / "default" / "made" / "data" / "added"
    added.mkdir(parents=True)
    for n, rows in enumerate([{"id": [1, 2], "v": [0.5, None], "s": ["a", "b"]}, {"v": [1.5], "id": [3]}]):
        pq.write_table(pa.table({k: pa.array(v, {"id": pa.int64(), "v": pa.float64(), "s": pa.string()}[k]) for k, v in rows.items()}),
                       added / f"{n}.parquet")
    table.add_files([f"file://{added}/{n}.parquet" for n in range(2)])
    assert tl.sql("select * from made order by id").to_pylist() == [
        {"id": 1, "v": 0.5, "s": "a"}, {"id": 2, "v": None, "s": "b"}, {"id": 3, "v": 1.5, "s": None}]
    table.append(pa.table({"id": [4], "v": [2.5], "s": ["d"]}))
    assert tl.sql("select id, s from made order by id").to_pylist()[2:] == [{"id": 3, "s": None}, {"id": 4, "s": "d"}]


def test_renamed_fields_inside_of_columns_are_refused_never_null(tl, lake):
    import foreign
    from pyiceberg.schema import Schema
    from pyiceberg.types import LongType, NestedField, StructType
    table = foreign.FolderCatalog(lake).create_table("default.made", Schema(NestedField(1, "s", StructType(
        NestedField(2, "a", LongType(), required=False), NestedField(3, "b", LongType(), required=False)), required=False)))
    table.append(pa.table({"s": [{"a": 1, "b": 2}]}))
    with table.update_schema() as change:
        change.add_column(("s", "c"), LongType())
    assert tl.sql("select * from made").to_pylist() == [{"s": {"a": 1, "b": 2, "c": None}}]
    with table.update_schema() as change:
        change.rename_column("s.a", "x")
    assert 'column "s"' in tl.fails("sql", "select * from made")


# ---- less than the whole table -----------------------------------------------------------------------------------------

WIDE = [(m, f"2025-01-{d:02d}T{h:02d}:00:00Z", d * 100 + h) for m in "abc" for d in range(1, 8) for h in range(0, 24, 3)]

NARROW = [
    "select count(*) from r", "select count(*) n from default.r",
    "select machine, time, v from r order by time desc limit 1", "select * exclude (_ingest_ts) from r order by time desc limit 5",
    "select time from r x order by x.time desc limit 50", "select time, v from r order by time desc limit 100000",
    "select machine, v from r qualify row_number() over (partition by machine order by time desc) = 1 order by machine",
    "select machine, v from r where time >= '2025-01-03 06:00:00' and time < timestamptz '2025-01-03 12:00:00+00' order by all",
    "select count(*), sum(v) from r where time between '2025-01-02' and '2025-01-04' and machine = 'b'",
    "select machine, max(v) from r where machine = 'a' and v > 0 and time > '2025-01-05T09:00:00Z' group by all",
    "select count(*) from r where time <= '2025-01-01 00:00:00+05:30'", "select sum(v) from r where machine = 'it''s'",
    "select v + 1 as time from r where time > '2025-01-06' order by all", "select count(*) from r where time > '2025-01-06' or v = 7",
    "select count(*) from r where time > '2025-01-03' and (machine = 'a' or machine = 'b') having count(*) > 0",
    "select count(*) from r where time = '2025-01-03 03:00:00'", "select count(*) from r where time > '2030-01-01'",
    "select max(time) from r where time < '2025-01-02' and machine = 'nobody'",
]


def narrow_lake(tl, *options):
    fill(tl, "r", WIDE, *options)
    add(tl, "r", [("it's", "2025-01-03", 1)])
    add(tl, "r", [(m, t, v + 0.5) for m, t, v in WIDE if v % 2])
    add(tl, "r", [("a", "2025-01-07T23:00:00Z", 999), ("c", "2025-01-08", 998)])
    add(tl, "r", [("a", "2025-01-07T23:00:00Z", 1999)])


def test_what_is_answered_from_less_is_the_same(tl):
    """A session that has made a table may mean other things by a name: there nothing is answered from less."""
    narrow_lake(tl)

    def answer(before, query, *options):
        return sorted(csv_of(tl, before + query, *options).split("\n\n")[-1].splitlines())

    for query in NARROW:
        one = answer("", query)
        assert one == answer("create temp table other (a int); select 1; ", query), query
        # in one session: the second time the whole version is known
        assert one == answer("select count(*), max(v) from r where v > 0 or true; ", query), query
        if "row_number" not in query and not query.endswith((" 1", " 5")):  # of equal times any may be the one
            assert answer("", query, "--dedup", "off") == \
                answer("create temp table other (a int); select 1; ", query, "--dedup", "off"), query


def test_a_table_of_the_sessions_own_is_meant_by_its_name(tl):
    narrow_lake(tl)
    assert csv_of(tl, "create temp table r as select 1 as time; select count(*) n from r; select time from r order by time desc limit 5") == \
        "n\n1\n\ntime\n1\n"
    assert csv_of(tl, "create temp view r as select * from default.r where machine = 'c' and time < '2025-01-02'; select count(*) n from r") == \
        "n\n8\n"


def test_times_in_another_zone_are_meant_as_the_session_says(tl):
    narrow_lake(tl)
    query = "select count(*) n from r where time >= '2025-01-08 00:30:00'"
    assert csv_of(tl, query) == "n\n0\n"
    for set_zone in (("--set", "TimeZone=Asia/Tokyo"), ()):
        before = "" if set_zone else "set TimeZone = 'Asia/Tokyo'; "
        assert csv_of(tl, before + query, *set_zone) == "n\n8\n"


def test_older_versions_by_snapshot_and_time(tl):
    fill(tl, "r", ROWS)
    first = tl.info("r")["snapshots"][0]
    at = dt.datetime.fromtimestamp(first["timestamp_ms"] / 1000, dt.timezone.utc).isoformat()
    add(tl, "r", [("a", "2025-01-01T00:00:00Z", 10), ("c", "2025-01-01T00:00:00Z", 4)])
    query = "select count(*) n, sum(v) s from r"
    assert csv_of(tl, query) == "n,s\n4,19.0\n"
    assert csv_of(tl, query, "--snapshot", first["id"]) == csv_of(tl, query, "--as-of", at) == "n,s\n3,6.0\n"
    assert csv_of(tl, "select count(*) n from r", "--snapshot", first["id"]) == "n\n3\n"
    assert csv_of(tl, query, "--dedup", "off") == "n,s\n5,20.0\n"
    assert csv_of(tl, query, "--dedup", "off", "--snapshot", first["id"]) == "n,s\n3,6.0\n"
    assert "has no snapshot 77" in tl.fails("sql", query, "--snapshot", "77")
    assert "its oldest is of" in tl.fails("sql", query, "--as-of", "2001-01-01")
    tl.fails("sql", query, "--snapshot", "x", rc=2)
    tl.fails("sql", query, "--snapshot", "5", "--as-of", at, rc=2)
    tl.fails("sql", query, "--dedup", "maybe", rc=2)
