"""Strategy `merge` in SQL: the same rows as by key columns first, for every filter and number of threads, before and after
maintenance, through the command, the extension in every DuckDB, and C; every type; errors, cancellation, what is let go."""
import decimal
import pathlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import harness
import lakes
import values
from test_extension import RESENT, ROWS, add, extension, fill, host  # noqa: F401 (fixtures)

STRATEGIES = ["auto", "keys-first", "merge"]
COLUMNS = ["machine", "time", "temperature", "vibration", "pressure", "current", "status"]
CONDITIONS = ["true", "current > 25", "temperature is null or status = 1", "machine in ('machine-001', 'machine-004')", "machine = 'machine-03'",
              "time >= timestamptz '2025-12-01 10:00:00+00' and time < timestamptz '2025-12-01 11:00:00+00'",
              "vibration < 0.5 and machine > 'machine-02'", "false"]


@pytest.fixture(scope="module")
def tables(command, iiot_small, tmp_path_factory):
    """Lakes with the table `readings`: late rows and copies in many files; with policy upsert."""
    root = tmp_path_factory.mktemp("merged")
    batches = sorted(iiot_small.glob("batch-*.parquet"))
    made = {}
    for name, options in (("open", ()), ("upsert", ("--policy", "upsert"))):
        made[name] = harness.Command(command, root / name)
        made[name].ok("create", "readings", "--from", batches[0], "--time-column", "time", "--series-key", "machine", *options)
        made[name].ok("append", "readings", *batches, "--rows-per-commit", "0", "--no-maintain", timeout=900)
    return made


@pytest.fixture(scope="module")
def clean(iiot_small):
    return iiot_small / "expected.parquet"


QUERIES = ["select count(*), sum(hash({columns})::hugeint) from {{t}} where {c}".format(columns=", ".join(COLUMNS), c=c) for c in CONDITIONS] + [
    "select count(*) from {t}", "select max(pressure) from {t} where status = 1", "select 1 from {t} where machine = 'machine-03' limit 3",
    "select machine, count(*), min(time), max(current) from {t} group by all order by all",
    "select machine, time, status from {t} order by time desc, machine limit 7",
    "select count(*) from {t} a join {t} b using (machine, time) where a.status = b.status",
    "select machine, time from {t} qualify row_number() over (partition by machine order by time desc) = 1 order by 1",
    "select count(*) from {t} where (machine, time) in (select (machine, max(time)) from {t} group by machine)"]

ASK = """
def answers(con, t, threads):
    con.execute(f"set threads = {threads}")
    return [con.execute(f"select cast(columns(*) as varchar) from ({q.format(t=t)})").fetchall() for q in args["queries"]]
con = connect()
con.execute("set timezone = 'UTC'")
"""


@pytest.mark.parametrize("kind", ["open", "upsert"])
def test_all_strategies_give_the_same_rows_in_every_duckdb(host, tables, clean, kind):
    assert host(ASK + """
expected = answers(con, f"'{args['clean']}'", 1)
result = []
for strategy in args["strategies"]:
    for threads in (1, 2, 5):
        got = answers(con, f"timelake('{args['table']}', strategy := '{strategy}')", threads)
        result += [[strategy, threads, q, g, e] for q, g, e in zip(args["queries"], got, expected) if g != e]
got = answers(con, f"'timelake:{args['table']}?strategy=merge'", 2)
result += [["quoted", q] for q, g, e in zip(args["queries"], got, expected) if g != e]
plan = con.execute(f"explain from timelake('{args['table']}', strategy := 'merge')").fetchall()[0][1]
result += [] if "TL_MERGED" in plan else [plan]
""", table=tables[kind].table_dir("readings"), clean=clean, queries=QUERIES, strategies=STRATEGIES) == []


@pytest.mark.parametrize("level", ["call", "session", "table"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_command_takes_the_strategy_from_everywhere(tables, clean, level, strategy):
    tl, how = tables["open"], []
    tl.ok("alter", "readings", "--set", f"read-dedup-strategy={strategy if level == 'table' else 'auto'}")
    if level == "call":
        how = ["--set", f"read-dedup-strategy={strategy}"]
    begin = f"set timelake.read_dedup_strategy = '{strategy}'; " if level == "session" else ""
    plan = tl.ok("sql", *how, begin + "explain select status from readings")
    assert ("TL_MERGED" in plan) == (strategy == "merge")
    expected = tl.ok("sql", "--format", "csv", "; ".join(QUERIES).format(t=f"'{clean}'"))
    for threads in (1, 3):
        assert tl.ok("sql", *how, "--set", f"threads={threads}", "--format", "csv", begin + "; ".join(QUERIES).format(t="readings")) == expected
    tl.ok("alter", "readings", "--set", "read-dedup-strategy=auto")


def test_before_and_after_maintenance(host, command, iiot_small, clean, tmp_path):
    batches = sorted(iiot_small.glob("batch-*.parquet"))
    tl = harness.Command(command, tmp_path / "lake")
    tl.ok("create", "readings", "--from", batches[0], "--time-column", "time", "--series-key", "machine")
    half = len(batches) // 2
    steps = [lambda: tl.ok("append", "readings", *batches[:half], "--rows-per-commit", "0", "--no-maintain"), lambda: tl.ok("maintain", "readings"),
             lambda: tl.ok("append", "readings", *batches[half:], *batches[half:], "--rows-per-commit", "0", "--no-maintain"),
             lambda: tl.ok("maintain", "readings")]
    for step in steps:
        step()
        differ = host(ASK + """
t = lambda s: f"timelake('{args['table']}', strategy := '{s}')"
expected = answers(con, t("keys-first"), 2)
result = [q for q, g, e in zip(args["queries"], answers(con, t("merge"), 2), expected) if g != e]
""", table=tl.table_dir("readings"), queries=QUERIES)
        assert differ == []
    lakes.same(lakes.c_api(tl.lake, "readings", "strategy=merge"), pq.read_table(clean), key=["machine", "time"], columns=COLUMNS)


def test_every_type_comes_as_from_the_parquet_reader(host, command, tmp_path):
    """Lists with more elements than a vector has rows, too."""
    tl = harness.Command(command, tmp_path / "lake")
    parts = [values.with_uuid(values.everything()), values.with_uuid(values.everything(start=24))]
    tl.create("full", parts[0].schema, "--time-column", "time", "--series-key", "series")
    for part in [*parts, parts[0]]:
        tl.append("full", part, "--no-maintain")
    n = 5000
    wide = pa.table({
        "series": pa.array([f"s{i % 7}" for i in range(n)]), "time": pa.array(range(n), pa.timestamp("us", "UTC")),
        "small": pa.array([None if i % 7 == 0 else decimal.Decimal(i - n // 2) / 10 for i in range(n)], pa.decimal128(4, 1)),
        "list": pa.array([None if i % 11 == 0 else [j if j % 5 else None for j in range(i % 9)] for i in range(n)], pa.list_(pa.int32())),
        "texts": pa.array([[f"text number {i}-{j}, longer than a short string" if j % 3 else None for j in range(i % 6)] for i in range(n)], pa.list_(pa.string())),
        "map": pa.array([None if i % 13 == 0 else [(f"k{j}", i * j if j % 2 else None) for j in range(i % 5)] for i in range(n)], pa.map_(pa.string(), pa.int64())),
        "pair": pa.array([None if i % 17 == 0 else {"a": i if i % 3 else None, "b": [i, None][:i % 3]} for i in range(n)],
                         pa.struct([("a", pa.int64()), ("b", pa.list_(pa.int64()))])),
        "deep": pa.array([[[{"x": j}] * (j % 3) for j in range(i % 4)] for i in range(n)], pa.list_(pa.list_(pa.struct([("x", pa.int16())]))))})
    tl.create("wide", wide.schema, "--time-column", "time", "--series-key", "series")
    for part in (wide, wide.slice(1000, 3000)):
        tl.append("wide", part, "--no-maintain")
    assert host("""
con = connect()
result = []
for name in ("full", "wide"):
    t = lambda s: f"timelake('{args['lake']}/{name}', strategy := '{s}')"
    kinds = [con.execute(f"describe from {t(s)}").fetchall() for s in ("merge", "keys-first")]
    rows = [con.execute(f"select cast(columns(*) as varchar) from {t(s)} order by series, time").fetchall() for s in ("merge", "keys-first")]
    result += [[k[:2] for k in kinds[0]] == [k[:2] for k in kinds[1]], rows[0] == rows[1], len(rows[0]) > 40]
    result.append([k[0] for k in kinds[0] if one(con, f'select list(hash("{k[0]}") order by series, time) from {t("merge")}') !=
                   one(con, f'select list(hash("{k[0]}") order by series, time) from {t("keys-first")}')])
""", lake=tl.lake) == [True, True, True, [], True, True, True, []]


def test_versions_settings_and_other_forms(host, tl):
    fill(tl, "r", ROWS)
    first = tl.info("r")["snapshots"][0]["id"]
    add(tl, "r", RESENT)
    tl.ok("alter", "r", "--set", "read-dedup-strategy=merge")
    fill(tl, "empty", [])
    fill(tl, "never", ROWS + ROWS[:1], "--no-dedup")
    tl.ok("alter", "never", "--set", "read-dedup-strategy=merge")
    got = host("""
con = connect()
t = args["table"]
n = lambda sql: one(con, f"select count(*) from {sql}")[0]
plan = lambda sql: "TL_MERGED" in con.execute(f"explain from {sql}").fetchall()[0][1]
con.execute(one(con, f"select timelake_mount('{args['lake']}')")[0])
con.execute(f"prepare q as select count(*) from timelake('{t}')")
result = [n(f"timelake('{t}')"), plan(f"timelake('{t}')"), n("lake.r"), plan("lake.r"), n(f"timelake('{t}', strategy := 'auto')"),
          plan(f"timelake('{t}', strategy := 'auto')"), n(f"timelake('{t}', snapshot := {args['first']})"), n(f"timelake('{t}', dedup := false)"),
          n(f"timelake('{args['lake']}/empty', strategy := 'merge')"), n(f"timelake('{args['lake']}/never')"),
          one(con, f"select sum(hidden_rows) from timelake_files('{t}')")[0], one(con, "execute q")[0], n(f"query(tl_sql('{t}', '', '', ''))"),
          con.execute(f"select machine, v from timelake('{t}') order by all").fetchall(),
          "keys-first" in fails(con, f"from timelake('{t}', strategy := 'best')"), "run it again" in fails(con, "from tl_merged(123456)"),
          "tl_sql" in fails(con, "from tl_merged(" + one(con, f"select regexp_extract(tl_sql('{t}', '', '', '', 'auto'), 'tl_live.([0-9]+)', 1)")[0] + ")")]
""", table=tl.table_dir("r"), lake=tl.lake, first=first)
    assert got == [4, True, 4, True, 4, False, 3, 5, 0, 4, 1, 4, 4, [["a", 2.0], ["a", 10.0], ["b", 3.0], ["c", 4.0]], True, True, True]


def test_a_missing_or_short_file_is_an_error_that_names_it(host, tl):
    fill(tl, "r", ROWS)
    add(tl, "r", RESENT)
    victim = sorted(tl.table_dir("r").glob("data/*/*.parquet"))[0]
    whole = victim.read_bytes()
    script = "con = connect()\nresult = fails(con, f\"select sum(v) from timelake('{args['table']}', strategy := 'merge')\")"
    for text in (whole[:len(whole) // 2], None):
        victim.unlink() if text is None else victim.write_bytes(text)
        assert victim.name in host(script, table=tl.table_dir("r"))
        failed = tl("sql", "--set", "read-dedup-strategy=merge", "select sum(v) from r")
        assert failed.rc == 1 and victim.name in failed.err and failed.err.count("\n") == 1


def test_what_is_not_read_to_its_end_is_let_go(host, tables):
    """LIMIT, results that are dropped, interrupted queries and failed ones: no file stays open, the next query is right."""
    opened, first, last, expected = host("""
con = connect()
con.execute("set threads = 4")
con.execute("set preserve_insertion_order = false")
t = f"timelake('{args['table']}', strategy := 'merge')"
def files():
    names = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            names.append(os.readlink(f"/proc/self/fd/{fd}"))
        except OSError:
            pass
    return [n for n in names if args["table"] in n]
expected = one(con, f"select count(*), sum(status) from '{args['clean']}'")
first = one(con, f"select count(*), sum(status) from {t}")
for i in range(20):
    con.execute(f"select machine, status, pressure from {t} limit 1").fetchall()
    fails(con, f"select error('on purpose') from {t} where status >= 0")
    cursor = con.cursor()
    cursor.execute(f"select a.machine from {t} a, {t} b")
    cursor.fetchone()
    cursor.close()
    worker = threading.Thread(target=lambda: [0 for _ in [0] if interrupted(con.cursor())])
    def interrupted(c):
        timer = threading.Timer(0.05, c.interrupt)
        timer.start()
        try:
            c.execute(f"select count(*) from {t} a, {t} b where hash(a.time, b.time) = 1").fetchall()
        except duckdb.Error:
            pass
        timer.join()
        c.close()
    worker.start()
    worker.join()
last = one(con, f"select count(*), sum(status) from {t}")
result = [files(), [str(v) for v in first], [str(v) for v in last], [str(v) for v in expected]]
""", table=tables["open"].table_dir("readings"), clean=pathlib.Path(harness.DEPS / "iiot-small" / "expected.parquet"))
    assert opened == [] and first == last == expected


def test_memory_is_flat_over_many_merges(host, tables):
    before, after = host("""
con = connect()
t = f"timelake('{args['table']}', strategy := 'merge')"
def ask(n):
    for i in range(n):
        con.execute(f"select machine, max(temperature), list(status)[:3] from {t} group by 1").fetchall()
        con.execute(f"select machine, status, pressure from {t} limit 5").fetchall()
ask(60)
before = rss_mb()
ask(120)
result = [before, rss_mb()]
""", table=tables["open"].table_dir("readings"))
    assert after < before + 25
