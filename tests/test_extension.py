"""timelake.duckdb_extension in the Pythons of DuckDB 1.3.2 to 2.0.1: one binary, the same rows through every form, versions
and options, errors, many threads while commits arrive, memory."""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

import harness
import lakes

HOSTS = ["1.3.2", "1.4.4", "1.5.6", "2.0.1"]
KEY = ["machine", "time"]
VALUES = ["temperature", "vibration", "pressure", "current", "status"]

HEAD = """
import json, os, sys, threading, time
import duckdb
args = json.load(sys.stdin)
def connect(database=":memory:"):
    con = duckdb.connect(database, config={"allow_unsigned_extensions": "true"})
    con.execute(f"LOAD '{args['extension']}'")
    return con
def one(con, sql):
    return con.execute(sql).fetchone()
def fails(con, sql):
    try:
        con.execute(sql).fetchall()
    except duckdb.Error as e:
        return str(e)
    raise SystemExit(f"did not fail: {sql}")
def rss_mb():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
result = None
"""
TAIL = "\nsys.stdout.flush()\nopen(args['answer'], 'w').write(json.dumps(result, default=str))\n"


class Host:
    """One version of DuckDB, in a process for each script."""

    def __init__(self, version, extension, tmp_path, env=None):
        self.version, self.extension, self.tmp = version, extension, tmp_path
        self.path = harness.DEPS / "duckdb-hosts" / version
        self.env = env or {}

    def __call__(self, script, timeout=300, **args):
        process = self.start(script, **args)
        return self.finish(process, timeout)

    def start(self, script, **args):
        answer = self.tmp / "answer.json"
        answer.unlink(missing_ok=True)
        args = {"extension": str(self.extension), "answer": str(answer), **{k: str(v) if isinstance(v, pathlib.Path) else v for k, v in args.items()}}
        env = {**os.environ, "PYTHONPATH": str(self.path), "TZ": "Asia/Kathmandu", **self.env}
        process = subprocess.Popen([sys.executable, "-c", HEAD + script + TAIL], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=env, cwd=self.tmp)
        process.stdin.write(json.dumps(args).encode())
        process.stdin.close()
        process.stdin = None
        process.answer = answer
        return process

    def finish(self, process, timeout=300):
        out, err = process.communicate(timeout=timeout)
        assert process.returncode == 0, f"DuckDB {self.version}: exit {process.returncode}\n{out.decode()}\n{err.decode()}"
        return json.loads(process.answer.read_text())


@pytest.fixture(scope="session")
def extension(command):
    path = pathlib.Path(os.environ.get("TL_EXTENSION") or command.parent / "timelake.duckdb_extension")
    if not path.is_file():
        pytest.fail(f"{path} is not there: run `make` first")
    return path


@pytest.fixture(params=HOSTS)
def host(request, extension, tmp_path):
    if not (harness.DEPS / "duckdb-hosts" / request.param / ".stamp").is_file():
        pytest.skip(f"no .deps/duckdb-hosts/{request.param}: run scripts/test-deps.sh")
    return Host(request.param, extension, tmp_path)


def fill(tl, name, rows, *options):
    tl.ok("create", name, "--schema", "machine:string,time:timestamptz,v:double", "--time-column", "time", "--series-key", "machine",
          *options)
    add(tl, name, rows)


def add(tl, name, rows):
    text = "machine,time,v\n" + "".join(f"{m},{t},{v}\n" for m, t, v in rows)
    tl.ok("append", name, "-", "--format", "csv", "--no-maintain", stdin=text)


ROWS = [("a", "2025-01-01T00:00:00Z", 1), ("a", "2025-01-01T01:30:00Z", 2), ("b", "2025-01-02T00:00:00Z", 3)]
RESENT = [("a", "2025-01-01T00:00:00Z", 10), ("c", "2025-01-01T00:00:00Z", 4)]


# ---- the same rows through every form ---------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def small(command, iiot_small, tmp_path_factory):
    tl = harness.Command(command, tmp_path_factory.mktemp("iiot-small"))
    batches = sorted(iiot_small.glob("batch-*.parquet"))
    tl.ok("create", "readings", "--from", batches[0], "--time-column", "time", "--series-key", "machine")
    tl.ok("append", "readings", *batches, "--rows-per-commit", "0", "--no-maintain", timeout=900)
    return tl, pq.read_table(iiot_small / "expected.parquet")


def test_rows_are_the_expected_ones_through_every_form(host, small, tmp_path):
    tl, expected = small
    table = tl.table_dir("readings")
    forms = host("""
con = connect()
con.execute(one(con, f"select timelake_mount('{args['lake']}')")[0])
con.execute(one(con, f"select timelake_mount('{args['lake']}', 'my lake')")[0])
forms = [f"timelake('{args['table']}')", f"timelake('file://{args['table']}/')", f"timelake('{args['lake']}/readings')",
         f"timelake('{args['lake']}/default.readings')", f"'timelake:{args['table']}'", "lake.readings", "lake.default.readings",
         '"my lake".readings', f"timelake('{args['table']}', dedup := true)", f"'timelake:{args['table']}?dedup=on'"]
for i, form in enumerate(forms):
    con.execute(f"COPY (FROM {form}) TO 'form-{i}.parquet' (FORMAT parquet)")
con.execute(f"PREPARE p AS SELECT count(*) FROM timelake('{args['table']}') WHERE machine = $1")
con.execute(f"COPY (FROM timelake_latest('{args['table']}')) TO 'latest.parquet' (FORMAT parquet)")
con.execute(f"COPY (FROM 'timelake:{args['table']}?latest=on') TO 'latest2.parquet' (FORMAT parquet)")
result = [len(forms), one(con, "EXECUTE p('machine-001')")[0], one(con, f"select count(*) from timelake('{args['table']}', dedup := false)")[0]]
""", lake=tl.lake, table=table)
    for i in range(forms[0]):
        lakes.same(pq.read_table(tmp_path / f"form-{i}.parquet"), expected, key=KEY, columns=KEY + VALUES)
    newest = lakes.newest(expected, ["machine"], "time")
    for name in ("latest", "latest2"):
        lakes.same(pq.read_table(tmp_path / f"{name}.parquet"), newest, key=["machine"], columns=KEY + VALUES)
    assert forms[1] == 2880
    assert forms[2] > expected.num_rows


def test_filters_joins_and_aggregates_agree_with_a_clean_copy(host, small, tmp_path):
    tl, expected = small
    pq.write_table(expected, tmp_path / "clean.parquet")
    differ = host("""
con = connect()
con.execute("create table clean as from 'clean.parquet'")
ours = f"timelake('{args['table']}')"
queries = ["select count(*), count(distinct (machine, time)) from {t}",
           "select machine, tl_date_trunc('day', time), sum(status), max(current), count(temperature) from {t} group by all order by all",
           "select count(*), min(time), max(vibration) from {t} where current > 25",
           "select count(*) from {t} where temperature is null or machine in ('machine-001', 'machine-004')",
           "select count(*), max(pressure) from {t} where time >= timestamptz '2025-12-01 10:00:00+00' and time < timestamptz '2025-12-01 11:00:00+00'",
           "select machine, time, status from {t} order by time desc, machine limit 7",
           "select count(*) from {t} a join {t} b using (machine, time)",
           "select count(*) from {t} where (machine, time) in (select (machine, max(time)) from {t} group by machine)",
           "select machine, time from {t} qualify row_number() over (partition by machine order by time desc) = 1 order by 1",
           "with x as (select * from {t} where status = 1) select count(*), max(time) from x where machine > 'machine-002'"]
result = []
for threads in (1, 4):
    con.execute(f"set threads = {threads}")
    for q in queries:
        q = q.replace("select ", "select * from (select ", 1) + ")" if q.startswith("select") else q
        cast = lambda t: con.execute(f"select cast(columns(*) as varchar) from ({q.format(t=t)})").fetchall()
        if cast(ours) != cast("clean"):
            result.append(q)
""", table=tl.table_dir("readings"))
    assert differ == []


@pytest.fixture(scope="module")
def whole(command, iiot, tmp_path_factory):
    tl = harness.Command(command, tmp_path_factory.mktemp("iiot"))
    batches = sorted(iiot.glob("batch-*.parquet"))
    tl.ok("create", "readings", "--from", batches[0], "--time-column", "time", "--series-key", "machine")
    tl.ok("append", "readings", *batches, "--rows-per-commit", "0", "--no-maintain", timeout=900)
    return tl


def test_the_whole_iiot_lake(host, whole, iiot):
    """7.84 million rows in 298 files: the same rows as expected, by the sum of their hashes, whole and filtered."""
    ours, expected, counted = host("""
def digest(source):
    row = "hash(machine, time, temperature, vibration, pressure, current, status)::hugeint"
    return [[str(v) for v in one(con, f"select count(*), sum({row}) from {source} where {condition}")] for condition in
            ("true", "current > 30", "machine = 'machine-007'", "time >= timestamptz '2025-12-05 10:00:00+00' and time < timestamptz '2025-12-05 11:00:00+00'")]
con = connect()
result = [digest(f"timelake('{args['table']}')"), digest(f"'{args['expected']}'"),
          int(one(con, f"select sum(rows - hidden_rows) from timelake_files('{args['table']}')")[0])]
""", table=whole.table_dir("readings"), expected=iiot / "expected.parquet", timeout=900)
    assert ours == expected
    assert ours[0][0] == "7776000" and counted == 7776000


# ---- versions ---------------------------------------------------------------------------------------------------------

def test_each_query_sees_the_newest_commit_and_older_snapshots_stay(host, tl):
    fill(tl, "r", ROWS)
    first = tl.info("r")["snapshots"][0]
    time.sleep(0.01)
    script = """
con = connect()
t = args['table']
con.execute(one(con, f"select timelake_mount('{args['lake']}')")[0])
con.execute(f"prepare p as select count(*), sum(v) from timelake('{t}')")
ask = lambda: [one(con, f"select count(*), sum(v) from timelake('{t}')"), one(con, f"select count(*), sum(v) from 'timelake:{t}'"),
               one(con, "select count(*), sum(v) from lake.r"), one(con, "execute p")]
before = ask()
open("before", "w").close()
while not os.path.exists("after"):
    time.sleep(0.01)
snapshots = con.execute(f"select snapshot_id, epoch_ms(committed_at), operation, is_current, added_rows, total_rows from timelake_snapshots('{t}')").fetchall()
first = snapshots[-1][0]
at = one(con, f"select strftime(make_timestamp({snapshots[-1][1]} * 1000), '%Y-%m-%d %H:%M:%S.%g')")[0]
old = [one(con, f"select count(*), sum(v) from timelake('{t}', snapshot := {first})"),
       one(con, f"select count(*), sum(v) from timelake('{t}', as_of := '{at}')"),
       one(con, f"select count(*), sum(v) from timelake('{t}', as_of := timestamp '{at}')"),
       one(con, f"select count(*), sum(v) from 'timelake:{t}?snapshot={first}'"),
       one(con, f"select count(*), sum(v) from 'timelake:{t}?as_of={at}Z'")]
con.execute("set timezone = 'America/New_York'")
old.append(one(con, f"select count(*), sum(v) from timelake('{t}', as_of := make_timestamptz({snapshots[-1][1]} * 1000))"))
files = con.execute(f"select partition, rows, hidden_rows, sequence_number from timelake_files('{t}') order by all").fetchall()
old_files = one(con, f"select count(*) from timelake_files('{t}', snapshot := {first})")[0]
raw = one(con, f"select count(*) from timelake('{t}', dedup := 'off')")[0]
result = [before, ask(), snapshots, old, files, old_files, raw,
          fails(con, f"from timelake('{t}', snapshot := 1)"), fails(con, f"from timelake('{t}', as_of := '2020-01-01')"),
          fails(con, f"from timelake('{t}', snapshot := 1, as_of := '2020-01-01')"), fails(con, f"from timelake('{t}', as_of := 'soon')")]
"""
    process = host.start(script, table=tl.table_dir("r"), lake=tl.lake)
    while process.poll() is None and not (host.tmp / "before").exists():
        time.sleep(0.01)
    add(tl, "r", RESENT)
    (host.tmp / "after").touch()
    before, after, snapshots, old, files, old_files, raw, *errors = host.finish(process)
    assert before == [[3, 6.0]] * 4
    assert after == [[4, 19.0]] * 4
    assert [s[2:] for s in snapshots] == [["append", True, 2, 5], ["append", False, 3, 3]]
    assert str(snapshots[1][0]) == str(first["id"])
    assert old == [[3, 6.0]] * 6
    assert files == [["2025-01-01", 2, 0, 2], ["2025-01-01", 2, 1, 1], ["2025-01-02", 1, 0, 1]]
    assert (old_files, raw) == (2, 5)
    assert "table default.r has no snapshot 1" in errors[0]
    assert "table default.r has no snapshot as of 2020-01-01T00:00:00Z: its oldest is of" in errors[1]
    assert "not both" in errors[2] and '"soon" is no time' in errors[3]


def test_a_range_of_times_is_a_filter_that_reads_less(host, small, tmp_path):
    """time_from <= time < time_to, exact with any text or value that stands for a time; files outside of it are not asked for."""
    tl, expected = small
    pq.write_table(expected, tmp_path / "clean.parquet")
    got = host("""
con = connect()
t = args['table']
digest = "count(*), sum(hash(machine, time, temperature, vibration, pressure, current, status)::hugeint)::varchar"
def clean(where):
    return list(one(con, f"select {digest} from 'clean.parquet' where {where}"))
def ours(options, form="timelake('{t}', {o})"):
    return list(one(con, f"select {digest} from " + form.format(t=t, o=options)))
a, b = "2025-12-01 10:00:00", "2025-12-01 11:30:00.5"
inside = f"time >= timestamptz '{a}+00' and time < timestamptz '{b}+00'"
pairs = []
for _ in range(2): # the second time the whole version is known
    pairs += [[clean(inside), ours(f"time_from := '{a}', time_to := '{b}'")],
              [clean(inside), ours(f"time_from := timestamptz '{a}+00', time_to := timestamp '{b}'")],
              [clean(inside), ours(f"time_from={a}&time_to={b}", "'timelake:{t}?{o}'")],
              [clean(f"time >= timestamptz '{a}+00'"), ours(f"time_from := '{a}Z'")],
              [clean(f"time < timestamptz '{b}+00'"), ours(f"time_to := '{b}'")],
              [clean("time < timestamptz '2025-12-02 00:00:00+00'"), ours("time_to := date '2025-12-02'")],
              [clean(f"time >= timestamptz '{a}+00' and machine = 'machine-001'"),
               list(one(con, f"select {digest} from timelake('{t}', time_from := timestamptz '{a}+00' + interval 0 hours) where machine = 'machine-001'"))],
              [[0, None], ours(f"time_from := '{b}', time_to := '{a}'")], [[0, None], ours("time_to := '1990-01-01'")]]
    con.execute("set timezone = 'UTC'")
    one(con, f"select count(*) from timelake('{t}')")
text = one(con, f"select tl_sql('{t}', '', '', '', '', '{a}', '{b}')")[0]
result = [pairs, text, fails(con, f"from timelake('{t}', time_from := 'soon')"), fails(con, f"from 'timelake:{t}?latest=on&time_to=2025-01-01'"),
          one(con, f"select count(*) from timelake('{t}', time_from := now() - interval 1 hour)")[0]]
""", table=tl.table_dir("readings"))
    pairs, text, soon, latest, recent = got
    first, behind = map(int, re.search(r"tl_files\(\d+, (\d+), (\d+)\)", text).groups())
    assert all(a == b for a, b in pairs), [p for p in pairs if p[0] != p[1]]
    assert 0 < behind - first < len(list(tl.table_dir("readings").glob("data/*/*.parquet"))) / 2, text
    assert '"soon" is no time' in soon and "no snapshot" in latest
    assert recent == 0


def test_tables_settings_decide_where_the_query_does_not(host, tl):
    fill(tl, "off", ROWS)
    add(tl, "off", RESENT)
    tl.ok("alter", "off", "--set", "read-dedup=false")
    fill(tl, "never", ROWS + ROWS[:1], "--no-dedup")
    assert host("""
con = connect()
n = lambda t: one(con, f"select count(*) from {t}")[0]
result = [n(f"timelake('{args['lake']}/off')"), n(f"timelake('{args['lake']}/off', dedup := true)"), n(f"timelake('{args['lake']}/never')"),
          n(f"timelake('{args['lake']}/never', dedup := 'on')")]
""", lake=tl.lake) == [5, 4, 4, 4]


def test_a_database_file_is_left_as_it_was(host, tl, tmp_path):
    fill(tl, "r", ROWS)
    assert host("""
con = connect("file.db")
advice = fails(con, f"from timelake('{args['table']}')")
before = one(con, "select count(*) from duckdb_functions() where database_name = 'file' and not internal")[0]
quoted = one(con, f"select count(*) from 'timelake:{args['table']}'")[0]
con.execute(one(con, f"select timelake_mount('{args['lake']}')")[0])
con.execute(one(con, "select timelake_macros()")[0])
n = [one(con, f"select count(*) from timelake('{args['table']}')")[0], one(con, "select count(*) from lake.r")[0],
     one(con, f"select count(*) from timelake_latest('{args['table']}')")[0]]
con.close()
con = duckdb.connect("file.db")
result = ["FROM 'timelake:path'" in advice, before, quoted, n, one(con, "select count(*) from duckdb_functions() where database_name = 'file'")[0]]
""", table=tl.table_dir("r"), lake=tl.lake) == [True, 0, 3, [3, 3, 2], 0]


def test_newest_rows_with_and_without_an_index(host, tl):
    fill(tl, "r", ROWS)
    add(tl, "r", RESENT)
    script = """
con = connect()
result = con.execute(f"select machine, v from timelake_latest('{args['table']}') order by all").fetchall()
"""
    expected = [["a", 2.0], ["b", 3.0], ["c", 4.0]]
    assert host(script, table=tl.table_dir("r")) == expected
    for index in tl.table_dir("r").glob("metadata/lvi-*"):
        index.unlink()
    assert host(script, table=tl.table_dir("r")) == expected


# ---- errors -----------------------------------------------------------------------------------------------------------

def test_errors_are_duckdbs_with_our_words(host, tl):
    fill(tl, "r", ROWS)
    fill(tl, "newer", ROWS)
    metadata = lakes.metadata_file(tl.table_dir("newer"))
    metadata.write_text(metadata.read_text().replace('"timelake.format-version":"0.3.0"', '"timelake.format-version":"9.0.0"'))
    got = host("""
con = connect()
t = args['table']
result = {name: fails(con, sql) for name, sql in {
    "path": "from timelake('/nowhere/at/all')", "table": f"from timelake('{args['lake']}/nothere')", "empty": "from timelake('')",
    "remote": "from timelake('s3://bucket/lake/t')", "replacement": f"from 'timelake:{args['lake']}/nothere'",
    "column": f"select nothere from timelake('{t}')", "dedup": f"from timelake('{t}', dedup := 'maybe')", "option": f"from 'timelake:{t}?what=1'",
    "newer": f"from timelake('{args['lake']}/newer')", "mount": "select timelake_mount('/nowhere')", "files": "from timelake_files('/nowhere/x')",
    "snapshots": f"from timelake_snapshots('{args['lake']}/nothere')", "latest": f"from timelake_latest('{args['lake']}/nothere')",
    "live": "select tl_live(123456, 0, 0)", "live2": "select tl_live(1::bigint, 99::ubigint, -5::bigint) from range(3)", "null": "from timelake(NULL)",
    "trunc": "select tl_date_trunc('fortnight', timestamptz '2025-01-01')"}.items()}
result["fine"] = one(con, f"select count(*) from timelake('{t}')")[0]
""", table=tl.table_dir("r"), lake=tl.lake)
    assert 'there is no table in "/nowhere/at/all"' in got["path"]
    assert "no table default.nothere in" in got["table"] and "no table default.nothere in" in got["replacement"]
    assert "only lakes on a disk" in got["remote"]
    assert 'column "nothere" not found' in got["column"]
    assert "on or off" in got["dedup"] and "no option" in got["option"]
    assert "9.0.0" in got["newer"] and "upgrade" in got["newer"]
    assert 'no lake in "/nowhere"' in got["mount"] and "no table" in got["files"]
    assert "nothere" in got["snapshots"] and "nothere" in got["latest"]
    assert "run it again" in got["live"] and "timelake:" in got["live2"]
    assert "no such part" in got["trunc"]
    assert got["fine"] == 3


def test_folders_may_be_called_anything(host, command, tmp_path):
    """Characters of patterns and quotes stand for themselves, in the names of files that DuckDB is given as values too."""
    tl = harness.Command(command, tmp_path / "a [b]*?'c\" é")
    fill(tl, "r", ROWS)
    add(tl, "r", RESENT)
    assert host("""
con = connect()
t = args['table'].replace("'", "''")
mount = one(con, f"select timelake_mount('{args['lake'].replace(chr(39), chr(39) * 2)}')")[0]
con.execute(mount)
result = [list(one(con, f"select count(*), sum(v) from {form}")) for form in (f"timelake('{t}')", "lake.r", f"timelake('{t}', time_from := '2025-01-02')")]
""", table=tl.table_dir("r"), lake=tl.lake) == [[4, 19.0], [4, 19.0], [1, 3.0]]


def test_arguments_of_scans_are_for_handles_that_are_known(host, tl):
    fill(tl, "r", ROWS)
    assert host("""
con = connect()
text = one(con, f"select tl_sql('{args['table']}', '', '', '')")[0]
h = int(text.split("tl_files(")[1].split(",")[0])
files = one(con, f"select tl_files({h}, 0, 2)")[0]
columns = one(con, f"select map_values(tl_columns({h}))")[0]
bad = [fails(con, f"select {q}") for q in (f"tl_files({h}, 0, 3)", f"tl_files({h}, -1, 1)", f"tl_files({h}, 2, 1)", "tl_files(123456, 0, 1)", "tl_columns(123456)")]
none = [one(con, f"select tl_files(NULL, 0, 1)")[0], one(con, "select tl_columns(NULL)")[0]]
many = one(con, f"select count(*), min(len(f)) from (select tl_files({h}, i % 2, 2) f from range(5000) t(i))")
result = [len(files), [c["name"] for c in columns], [c["type"] for c in columns], all("timelake:" in b for b in bad), none, list(many)]
""", table=tl.table_dir("r")) == [2, ["machine", "time", "v", "_ingest_ts"], ["VARCHAR", "TIMESTAMP WITH TIME ZONE", "DOUBLE", "TIMESTAMP WITH TIME ZONE"], True,
                                  [None, None], [5000, 1]]


def test_missing_and_short_data_files_are_named(host, tl):
    fill(tl, "r", ROWS)
    add(tl, "r", RESENT)
    victim = sorted(tl.table_dir("r").glob("data/*/*.parquet"))[0]
    whole = victim.read_bytes()
    script = """
con = connect()
result = [fails(con, f"from timelake('{args['table']}')"), fails(con, f"from timelake('{args['table']}', dedup := false)")]
"""
    victim.write_bytes(whole[:len(whole) // 2])
    for message in host(script, table=tl.table_dir("r")):
        assert victim.name in message
    victim.unlink()
    for message in host(script, table=tl.table_dir("r")):
        assert victim.name in message
    victim.write_bytes(whole)
    assert host(f"con = connect()\nresult = one(con, f\"select count(*) from timelake('{{args['table']}}')\")[0]", table=tl.table_dir("r")) == 4


# ---- threads, databases, memory ---------------------------------------------------------------------------------------

def test_many_threads_and_databases_while_commits_arrive(host, tl):
    """Each commit writes every key anew with a greater value: a query that mixed two versions would see two values."""
    keys = [(m, f"2025-01-0{d}T{h:02d}:00:00Z") for m in "abc" for d in (1, 2) for h in range(24)]
    fill(tl, "r", [(*k, 0) for k in keys])
    process = host.start("""
bases = [connect(), connect()]
problems, done, counts = [], threading.Event(), []
def ask(con, form):
    seen = n = 0
    while not done.is_set():
        try:
            rows, least, most = one(con, f"select count(*), min(v), max(v) from {form}")
        except Exception as e:
            problems.append(str(e))
            return
        if rows != args["keys"] or least != most or least < seen:
            problems.append([rows, least, most, seen])
        seen, n = least, n + 1
    counts.append(n)
threads = []
for base in bases:
    base.execute(one(base, f"select timelake_mount('{args['lake']}')")[0])
    for form in (f"timelake('{args['lake']}/r')", f"'timelake:{args['lake']}/r'", "lake.r"):
        threads.append(threading.Thread(target=ask, args=(base.cursor(), form)))
for t in threads:
    t.start()
open("ready", "w").close()
while not os.path.exists("stop"):
    time.sleep(0.01)
done.set()
for t in threads:
    t.join()
result = [problems, counts, [one(b, f"select max(v) from lake.r")[0] for b in bases]]
""", lake=tl.lake, keys=len(keys))
    while process.poll() is None and not (host.tmp / "ready").exists():
        time.sleep(0.01)
    for i in range(1, 21):
        add(tl, "r", [(*k, i) for k in keys])
    (host.tmp / "stop").touch()
    problems, counts, newest = host.finish(process)
    assert problems == []
    assert len(counts) == 6 and all(n > 0 for n in counts)
    assert newest == [20.0, 20.0]


def test_memory_is_flat_over_hundreds_of_queries_and_many_commits(host, tl):
    keys = [(m, f"2025-01-0{d}T{h:02d}:00:00Z") for m in "abc" for d in (1, 2) for h in range(24)]
    fill(tl, "r", [(*k, 0) for k in keys])
    first, last = host("""
con = connect()
con.execute("set threads = 2")
t = f"timelake('{args['lake']}/r')"
import subprocess
def commits(n):
    for i in range(n):
        for _ in range(30):
            if one(con, f"select count(*) from {t}")[0] != args["keys"]:
                raise SystemExit("wrong count")
        subprocess.run(args["append"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
commits(6)
first = rss_mb()
commits(12)
for _ in range(200):
    one(con, f"select count(*), max(v) from {t} where machine = 'a'")
result = [first, rss_mb()]
""", lake=tl.lake, keys=len(keys), append=tl.argv("append", "r", csv_file(host.tmp, keys), "--no-maintain"), timeout=600)
    assert last < first + 100, (first, last)


def csv_file(folder, keys):
    path = folder / "again.csv"
    path.write_text("machine,time,v\n" + "".join(f"{m},{t},1\n" for m, t in keys))
    return path


def test_nothing_but_its_entry_is_exported(extension):
    out = subprocess.run(["nm", "-D", "--defined-only", str(extension)], capture_output=True, text=True)
    if out.returncode != 0 or not out.stdout:
        pytest.skip("nm does not read the file")
    assert [line.split()[-1] for line in out.stdout.splitlines()] == ["timelake_init_c_api"]
    needed = subprocess.run(["readelf", "-d", str(extension)], capture_output=True, text=True).stdout
    libraries = {line.split("[")[1].split("]")[0].split(".so")[0] for line in needed.splitlines() if "(NEEDED)" in line}
    assert libraries <= {"libc", "libm", "libpthread", "libdl", "ld-linux-x86-64", "libgcc_s", "libasan", "libubsan"}, libraries
