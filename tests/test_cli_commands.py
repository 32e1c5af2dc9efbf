"""The commands and what they print: names, lines, exit statuses, JSON keys (spec/table-format.md g.1)."""
import json
import os
import pty
import re
import subprocess

import pytest

import harness

COMMANDS = ["create", "append", "import", "sql", "latest", "info", "ls", "settings", "alter", "rollback", "drop", "index",
            "duckdb", "version", "help"]
SCHEMA = "machine:string,time:timestamptz,v:double"
KEY = ("--time-column", "time", "--series-key", "machine")


def make(tl, name="readings", *options):
    return tl.ok("create", name, "--schema", SCHEMA, *KEY, *options)


def add(tl, rows, name="readings", *options):
    text = "machine,time,v\n" + "".join(f"{m},{t},{v}\n" for m, t, v in rows)
    return tl("append", name, "-", "--format", "csv", *options, stdin=text)


def run(command, *args, env=None):
    return subprocess.run([command, *args], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                          env={**os.environ, **(env or {})})


# ---- help, usage, versions ------------------------------------------------------------------------------------------

def test_help_lists_every_command_and_each_has_a_page(command):
    page = run(command, "help")
    assert page.returncode == 0 and page.stderr == ""
    for name in COMMANDS:
        assert re.search(rf"^ +{name} ", page.stdout, re.M), name
        one = run(command, name, "--help")
        assert one.returncode == 0 and one.stderr == ""
        assert one.stdout == run(command, "help", name).stdout
        for part in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS"):
            assert part in one.stdout.splitlines()
        assert max(map(len, one.stdout.splitlines())) <= 90
    assert run(command, "--help").stdout == page.stdout


def test_versions(command):
    assert re.fullmatch(r"timelake \d+\.\d+\.\d+\n", run(command, "--version").stdout)
    assert "DuckDB v1.5.6" in run(command, "version").stdout
    assert set(json.loads(run(command, "version", "--json").stdout)) == {"timelake", "format", "duckdb"}


@pytest.mark.parametrize("args", [
    (), ("nonsense",), ("help", "nonsense"), ("ls", "--nonsense"), ("ls", "-x"), ("ls", "extra"), ("info",), ("append", "t"),
    ("ls", "--json=yes"), ("sql", "--format"), ("sql", "--format", "xml", "select 1"), ("append", "t", "f", "--rows-per-commit", "x"),
    ("append", "t", "-", "--format", "xlsx"), ("append", "t", "f.csv", "--delimiter", "ab"), ("create", "t"), ("alter", "t"),
    ("create", "t", "--schema", "a:int", "--from", "f"), ("alter", "t", "--set", "x"), ("rollback", "t", "x"),
    ("ls", "-o", "nonsense=1"), ("ls", "-o", "threads=x"), ("ls", "-o", "threads"), ("-w",), ("sql", "--set", "x", "select 1"),
    ("sql", "  -- nothing"),
])
def test_wrong_usage_is_status_2_and_one_line(tl, args):
    tl.ok("create", "t", "--schema", "a:int")
    line = tl.fails(*args, rc=2)
    assert "--help" in line or "timelake help" in line


def test_the_lake_comes_from_option_environment_or_here(command, tmp_path):
    made = tmp_path / "a"
    assert run(command, "-w", str(made), "create", "t", "--schema", "a:int").returncode == 0
    for args, env in [(("--warehouse", str(made), "ls"), None), ((f"--warehouse={made}", "ls"), None), (("ls", f"-w{made}"), None),
                      (("ls",), {"TIMELAKE_WAREHOUSE": str(made)}), (("-w", f"file://{made}", "ls"), None)]:
        assert run(command, *args, env=env).stdout == "default.t\n", args
    here = tmp_path / "here"
    here.mkdir()
    subprocess.run([command, "create", "t", "--schema", "a:int"], cwd=here, check=True, capture_output=True,
                   env={k: v for k, v in os.environ.items() if k != "TIMELAKE_WAREHOUSE"})
    assert (here / "warehouse" / "default" / "t").is_dir()


def test_no_command_but_create_and_import_makes_a_lake(tl, tmp_path):
    for args in [("ls",), ("sql", "select 1"), ("info", "t"), ("index",), ("drop", "t", "--yes"), ("latest", "t")]:
        assert "no such" in tl.fails(*args, lake=tmp_path / "none")
    assert not (tmp_path / "none").exists()


# ---- create ---------------------------------------------------------------------------------------------------------

def test_create_prints_the_place(tl):
    assert make(tl) == f"created default.readings at file://{tl.lake}/default/readings\n"
    assert tl.ok("create", "iot.r2", "--schema", SCHEMA) == f"created iot.r2 at file://{tl.lake}/iot/r2\n"
    assert tl.ok("ls") == "default.readings\niot.r2\n"
    assert tl.json("ls", "--json") == [{"name": "default.readings"}, {"name": "iot.r2"}]
    assert "there already" in tl.fails("create", "readings", "--schema", SCHEMA)


def test_schema_text_takes_all_types(tl):
    tl.ok("create", "t", "--schema",
          'a:int, b:BIGINT,c:long,d:double,e:float,f:string,g:bool,h:date,i:timestamp,j:timestamptz,k:decimal(10,2),l:time,'
          'm:uuid,n:binary,o:fixed[5],p:list<int>,q:map<string,double>,r:struct<x:int,y:list<string>>,"odd, name":text not null')
    got = {f["name"]: (f["type"], f["required"]) for f in tl.json("info", "t", "--json")[0]["schema"]}
    assert {k: v[0] for k, v in got.items()} == {
        "a": "int", "b": "long", "c": "long", "d": "double", "e": "float", "f": "string", "g": "boolean", "h": "date",
        "i": "timestamp", "j": "timestamptz", "k": "decimal(10, 2)", "l": "time", "m": "uuid", "n": "binary", "o": "fixed[5]",
        "p": "list<int>", "q": "map<string, double>", "r": got["r"][0], "odd, name": "string"}
    assert got["r"][0].startswith("struct<")
    assert got["odd, name"][1] is True and got["a"][1] is False


@pytest.mark.parametrize("text", ["a", "a:", "a:nonsense", ":int", "a:int,", "a:int b:int", "a:decimal(39,1)", "a:decimal(5,6)", "a:list<int",
                                  "a:fixed[0]", '"a:int', "a:struct<>", "a:map<int>", "", "a:int,a:int"])
def test_a_wrong_schema_text_is_one_clear_line(tl, text):
    tl.fails("create", "t", "--schema", text)
    assert tl.ok("ls") == "" if tl.lake.is_dir() else True


@pytest.mark.parametrize("name", ["a.b.c", "a b", "", ".t", "ns.", "a/b", "../x"])
def test_names_are_checked(tl, name):
    tl.fails("create", name, "--schema", SCHEMA)


def test_create_options_are_the_tables_contract(tl):
    make(tl, "r", "--chunk", "hour", "--retention", "30d", "--no-dedup", "--no-ingest-time", "--prop", "compact-min-files=3",
         "--prop", "owner=me")
    info = tl.json("info", "r", "--json")[0]
    assert (info["time_column"], info["series_key"], info["chunk"], info["dedup"], info["ingest_time_column"],
            info["retention_days"]) == ("time", ["machine"], "hour", False, None, 30)
    assert [f["name"] for f in info["schema"]] == ["machine", "time", "v"]
    values = {s["setting"]: s["value"] for s in tl.json("settings", "r", "--json")}
    assert values["compact-min-files"] == "3"


# ---- append ---------------------------------------------------------------------------------------------------------

ROWS = [("a", "2025-01-01T00:00:00Z", 1.5), ("b", "2025-01-01T00:00:00Z", 2.5), ("a", "2025-01-02T00:00:00Z", 3.5)]


def test_append_prints_a_line_for_each_commit_and_one_at_the_end(tl):
    make(tl)
    got = add(tl, ROWS)
    assert got.rc == 0
    assert re.fullmatch(r"default\.readings: appended 3 rows in 1 commits, [\d.]+s \(\d+ rows/s\) → v2\n", got.out)
    assert re.fullmatch(r"commit 0: 3 rows, 2 files, [\d.]+ MB, commit \d+ ms \[[\d.]+s\]\n", got.err)
    got = add(tl, ROWS, "readings", "--json", "--rows-per-commit", "2")
    report = json.loads(got.out)
    assert (report["table"], report["rows"], report["commits"], report["version"]) == ("default.readings", 3, 2, 4)
    assert len(got.err.splitlines()) == 2


def test_nothing_to_append_is_no_commit(tl):
    make(tl)
    got = add(tl, [])
    assert (got.rc, got.err) == (0, "")
    assert "appended 0 rows in 0 commits" in got.out and got.out.endswith("→ v1\n")


def test_a_batch_id_is_added_once(tl):
    make(tl)
    assert add(tl, ROWS, "readings", "--batch-id", "x", "--rows-per-commit", "2", "--no-maintain").rc == 0
    before = tl.json("info", "readings", "--json")[0]
    assert before["snapshot_count"] == 2
    again = add(tl, ROWS, "readings", "--batch-id", "x", "--rows-per-commit", "2", "--json")
    assert again.rc == 0 and "was there already" in again.err
    report = json.loads(again.out)
    assert (report["rows"], report["commits"], report["duplicates"]) == (0, 0, 2)
    # the first part is there, the second is new
    more = ROWS[:2] + [("c", "2025-01-03T00:00:00Z", 9.0)]
    assert add(tl, more, "readings", "--batch-id", "y", "--rows-per-commit", "2", "--no-maintain").rc == 0
    assert tl.json("info", "readings", "--json")[0]["snapshot_count"] == 4
    ids = [s["summary"].get("timelake.batch-id") for s in snapshots(tl, "readings")]
    assert sorted(ids) == ["x-0", "x-1", "y-0", "y-1"]


def snapshots(tl, name):
    import lakes
    return json.loads(lakes.metadata_file(tl.table_dir(name)).read_text())["snapshots"]


def test_an_append_to_no_table_says_so(tl):
    make(tl)
    assert "default.other" in add(tl, ROWS, "other").err
    assert add(tl, ROWS, "other").rc == 1


# ---- info, settings, alter, rollback, drop, index, duckdb ----------------------------------------------------------

INFO_KEYS = {"name", "version", "location", "format_version", "time_column", "series_key", "chunk", "dedup", "ingest_time_column",
             "retention_days", "schema", "rows", "files", "bytes", "manifests", "snapshot_count", "last_commit_ms",
             "last_value_index", "partitions", "snapshots"}


def test_info_has_the_keys_of_the_interface(tl):
    make(tl)
    assert add(tl, ROWS).rc == 0
    [info] = tl.json("info", "readings", "--json")
    assert INFO_KEYS <= set(info)
    assert (info["name"], info["version"], info["rows"], info["files"], info["format_version"]) == ("default.readings", 2, 3, 2, "V2")
    assert [(p["partition"], p["rows"]) for p in info["partitions"]] == [("2025-01-02", 1), ("2025-01-01", 2)]
    [snapshot] = info["snapshots"]
    assert isinstance(snapshot["id"], str) and snapshot["operation"] == "append" and snapshot["added_records"] == 3
    text = tl.ok("info", "readings")
    for part in ("default.readings v2", "location      file://", "time          time, one partition per day", "series key    machine",
                 "dedup         on", "inserted      _ingest_ts", "machine string", "time timestamptz not null", "3 rows, 2 files", snapshot["id"],
                 "2025-01-02  1 files, 1 rows"):
        assert part in text, part


def test_settings_show_defaults_and_values(tl):
    text = tl.ok("settings")
    assert text.splitlines()[0].split() == ["SETTING", "DEFAULT", "LEVELS", "DESCRIPTION"]
    names = [s["setting"] for s in tl.json("settings", "--json")]
    assert {"time-column", "retention", "read-dedup", "durability"} <= set(names) and len(names) == len(text.splitlines()) - 1
    make(tl)
    assert tl.ok("settings", "readings").splitlines()[0].split() == ["SETTING", "VALUE", "LEVELS", "DESCRIPTION"]
    by_name = {s["setting"]: s for s in tl.json("settings", "readings", "--json")}
    assert by_name["series-key"]["value"] == "machine" and by_name["series-key"]["set"] is True
    assert by_name["compact-min-files"]["set"] is False


def test_alter_sets_and_unsets_in_one_commit(tl):
    make(tl, "readings", "--retention", "9d")
    assert tl.ok("alter", "readings", "--set", "compact-min-files=5", "--unset", "retention") \
        == "default.readings: settings changed → v2\n"
    by_name = {s["setting"]: s for s in tl.json("settings", "readings", "--json")}
    assert by_name["compact-min-files"]["value"] == "5" and by_name["retention"]["set"] is False
    assert "unknown setting" in tl.fails("alter", "readings", "--set", "timelake.nonsense=1")
    assert "fixed when the table is created" in tl.fails("alter", "readings", "--set", "dedup=false")
    assert "timelake.compact-min-files" in tl.fails("alter", "readings", "--set", "compact-min-files=x")
    assert tl.json("info", "readings", "--json")[0]["version"] == 2


def test_rollback_goes_back_to_a_snapshot(tl):
    make(tl)
    add(tl, ROWS[:1])
    first = tl.json("info", "readings", "--json")[0]["snapshots"][0]["id"]
    add(tl, ROWS[1:])
    assert tl.ok("rollback", "readings", first) == f"default.readings: snapshot {first} is current again → v4\n"
    assert tl.ok("sql", "--format", "csv", "select count(*) as n from readings") == "n\n1\n"
    tl.fails("rollback", "readings", "12345")


def test_drop_asks_or_wants_yes(tl, command):
    make(tl)
    assert "--yes" in tl.fails("drop", "readings")
    assert tl.ok("ls") == "default.readings\n"
    for answer, gone in [(b"n\n", False), (b"\n", False), (b"y\n", True)]:
        master, slave = pty.openpty()
        p = subprocess.Popen(tl.argv("drop", "readings"), stdin=slave, stderr=slave, stdout=subprocess.PIPE, env=tl.env)
        os.close(slave)
        os.write(master, answer)
        out = p.communicate(timeout=60)[0].decode()
        os.close(master)
        assert (p.returncode, out) == ((0, "dropped default.readings\n") if gone else (1, ""))
    assert tl.ok("ls") == ""
    make(tl)
    assert tl.ok("drop", "readings", "--yes") == "dropped default.readings\n"
    assert "default.readings" in tl.fails("drop", "readings", "--yes")


def test_index_lists_what_is_there(tl):
    make(tl)
    make(tl, "iot.r")
    (tl.lake / "timelake-tables.json").write_text("[]")
    assert tl.ok("index") == "indexed 2 tables: default.readings, iot.r\n"
    assert json.loads((tl.lake / "timelake-tables.json").read_text()) == ["default.readings", "iot.r"]


def test_duckdb_prints_sql_that_duckdb_runs(tl):
    import lakes
    make(tl)
    add(tl, ROWS)
    text = tl.ok("duckdb", "readings", "--iceberg")
    assert "INSTALL iceberg" in text and f"iceberg_scan('file://{tl.lake}/default/readings')" in text
    con = lakes.duckdb_connection()
    con.execute("set unsafe_enable_version_guessing = true")
    queries = [q for q in text.split(";\n") if "SELECT" in q]
    assert [con.execute(q).fetch_arrow_table().num_rows for q in queries] == [3, 2]


def test_duckdb_prints_how_to_load_the_extension(tl, tmp_path):
    import sys
    make(tl)
    add(tl, ROWS)
    add(tl, ROWS)
    host = harness.DEPS / "duckdb-hosts" / "1.5.6"
    text = tl.ok("duckdb", "readings", "--install", tmp_path)
    assert f"LOAD '{tmp_path}/timelake.duckdb_extension';" in text
    lake = tl.ok("duckdb")
    assert "timelake_mount" in lake and str(tl.lake) in lake
    tl.fails("duckdb", "readings", "--install", tmp_path / "nowhere")
    tl.fails("duckdb", "--iceberg", rc=2)
    if not host.is_dir():
        pytest.skip("no .deps/duckdb-hosts/1.5.6")
    script = """
import duckdb, sys
con = duckdb.connect(config={"allow_unsigned_extensions": "true"})
for statement in sys.stdin.read().split(";\\n"):
    if statement.strip():
        rows = con.execute(statement).fetch_arrow_table()
        print(rows.num_rows)
"""
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", script], input=text, capture_output=True, text=True, env={"PYTHONPATH": str(host)})
    assert (run.returncode, run.stdout.split()[-2:]) == (0, ["3", "2"]), run.stderr


def test_latest_in_every_format(tl, tmp_path):
    import pyarrow.parquet as pq
    from harness import read_arrow
    make(tl)
    add(tl, ROWS)
    add(tl, [("b", "2024-12-31T00:00:00Z", 7.0)])
    assert [(r["machine"], r["v"]) for r in tl.json("latest", "readings", "--format", "json")] == [("a", 3.5), ("b", 2.5)]
    assert tl.json("latest", "readings", "--json") == tl.json("latest", "readings", "--format", "json")
    assert tl.ok("latest", "readings", "--format", "csv").splitlines()[1].startswith("a,2025-01-02T00:00:00Z,3.5,")
    assert "| a       | 2025-01-02T00:00:00Z | 3.5 |" in tl.ok("latest", "readings")
    rows = read_arrow(tl.ok("latest", "readings", "--format", "arrow", binary=True))
    assert rows.column("v").to_pylist() == [3.5, 2.5] and str(rows.schema.field("time").type) == "timestamp[us, tz=UTC]"
    tl.ok("latest", "readings", "--format", "parquet", "--output", tmp_path / "l.parquet")
    assert pq.read_table(tmp_path / "l.parquet").column("v").to_pylist() == [3.5, 2.5]
    assert tl.ok("latest", "readings", "--format", "none") == ""
    make(tl, "empty")
    assert tl.json("latest", "empty", "--json") == []


# ---- progress -------------------------------------------------------------------------------------------------------

def read_terminal(master):
    """What was written to a terminal whose other end is closed by now."""
    out = b""
    while True:
        try:
            block = os.read(master, 65536)
        except OSError:
            return out.decode(errors="replace")
        if not block:
            return out.decode(errors="replace")
        out += block


def test_a_progress_bar_on_a_terminal_and_none_in_a_pipe(tl):
    import time
    make(tl)
    rows = [f"machine,time,v\n", *(f"a,2025-01-01T00:{i // 60:02d}:{i % 60:02d}Z,{i}\n" for i in range(40))]
    for terminal in (True, False):
        master, slave = pty.openpty()
        p = subprocess.Popen(tl.argv("append", "readings", "-", "--format", "csv", "--rows-per-commit", "10"), stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=slave if terminal else subprocess.PIPE, env=tl.env)
        os.close(slave)
        for line in rows:
            p.stdin.write(line.encode())
            p.stdin.flush()
            time.sleep(0.04)
        p.stdin.close()
        assert p.wait(timeout=60) == 0
        shown = read_terminal(master) if terminal else p.stderr.read().decode()
        os.close(master)
        p.stdout.close()
        assert len(re.findall(r"commit \d+:", shown)) == 4
        assert ("\r[" in shown and "rows" in shown.split("\r[")[1]) == terminal
        assert ("\x1b" in shown) == terminal
