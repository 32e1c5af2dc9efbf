"""Reading an un-compacted lake: every (series, time) once, against DuckDB's plain scan of the same files and against Timelake
0.7.0, in one run.

    make bench-read

The IIoT input as 226 commits (298 files, 7.84 million rows of which 64,637 are older copies), read by the extension in DuckDB
1.5.6 and 2.0.1 and by `timelake sql`, with two threads and a warm page cache. `plain` is read_parquet over the same files,
copies included, in the same process. `cold` is the first query that a process asks of this lake: it has asked the same of a
small table in another lake before, so that what is paid for is the lake and not DuckDB's first steps; `new process` is the
first query at all, LOAD not counted. All are interleaved, and medians of TL_RUNS rounds are shown. On a machine that has other work to do, TL_CPU=1 takes CPU time of all threads instead. Parts can
be named: bench/read.py sql 1.5.6 2.0.1 peer tables large.
"""
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from common import BUILD, ROOT, RUNS, WORK, figure, interleaved, program, save

LAKE = WORK / "read"
OTHER = WORK / "read-other"
IIOT = ROOT / ".deps" / "iiot"
EXTENSION = BUILD / "timelake.duckdb_extension"
HOUR = ("time >= timestamp with time zone '2025-12-05 10:00:00+00:00' and "
        "time < timestamp with time zone '2025-12-05 11:00:00+00:00'")
QUERIES = {
    "count": "select count(*) from {t}",
    "fullagg": "select machine, date_trunc('day', time) d, avg(temperature), max(vibration), min(pressure), avg(current), sum(status) from {t} group by 1, 2",
    "hour": f"select machine, avg(temperature), max(vibration) from {{t}} where {HOUR} group by 1",
    "machine": "select count(*), avg(temperature), max(current) from {t} where machine = 'machine-007'",
    "filter": "select machine, time, current from {t} where current > 30",
    "all": "select sum(temperature), sum(vibration), sum(pressure), sum(current), sum(status), max(time), max(machine) from {t}",
    "select *": "select * from {t}",
    "machine, hour": f"select avg(temperature) from {{t}} where machine = 'machine-007' and {HOUR}",
    "three sums": "select sum(temperature), sum(pressure), sum(current) from {t}",
    "latest": "select * from {t} qualify row_number() over (partition by machine order by time desc) = 1",
    "top 10": "select * from {t} order by time desc limit 10",
}
RANGE = "time_from := '2025-12-05 10:00:00', time_to := '2025-12-05 11:00:00'"
HOUR_OF_RANGE = "select machine, avg(temperature), max(vibration) from {t} group by 1"
PEER_BARS = {"count": 20, "filter": 8, "all": 3, "select *": 2.5, "fullagg": 3, "machine": 1.6, "hour": 1.5}

CLOCK = """
import os, time
clock = time.process_time if os.environ.get("TL_CPU") else time.perf_counter
"""
DUCK = CLOCK + """
import json, sys, warnings
warnings.simplefilter("ignore")
import duckdb
con = duckdb.connect(config={"allow_unsigned_extensions": "true", "threads": 2})
con.execute("set timezone = 'UTC'")
con.execute("set enable_progress_bar = false")
con.execute(f"LOAD '{sys.argv[1]}'")
con.sql("select 1").fetch_arrow_table()
for line in sys.stdin:
    begin = clock()
    rows = con.sql(json.loads(line))
    if rows is not None:
        rows.fetch_arrow_table()
    print(clock() - begin, flush=True)
"""
PEER = CLOCK + """
import json, sys
import timelake
for line in sys.stdin:
    lake, sql = json.loads(line)
    begin = clock()
    timelake.Lake(lake).sql(sql)
    print(clock() - begin, flush=True)
"""


class Worker:
    """A process that runs a query a line and says how many seconds it took."""

    def __init__(self, python, script, *args, path=None):
        env = {**os.environ, **({"PYTHONPATH": str(path)} if path else {})}
        self.process = subprocess.Popen([str(python), "-c", script, *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def __call__(self, what):
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"failed: {what}")
        return float(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def duck(version):
    return Worker(sys.executable, DUCK, EXTENSION, path=ROOT / ".deps" / "duckdb-hosts" / version)


def new_process(version, sql):
    worker = duck(version)
    took = worker(sql)
    worker.close()
    return took


def cold(version, sql):
    """A lake just opened, in a process that knows DuckDB but not the lake."""
    worker = duck(version)
    worker(sql.replace(str(LAKE), str(OTHER)))
    took = worker(sql)
    worker.close()
    return took


def set_files(worker, table, lake=LAKE):
    worker(f"set variable files = (select list(path) from timelake_files('{lake / 'default' / table}'))")


def cold_plain(version, sql, table):
    """The same of DuckDB's own scan: it keeps what it has read of a file, too."""
    worker = duck(version)
    set_files(worker, table, OTHER)
    worker(sql)
    set_files(worker, table)
    took = worker(sql)
    worker.close()
    return took


def timelake(*args, lake=LAKE):
    return program([BUILD / "timelake", "-w", lake, *args], stderr=subprocess.STDOUT)


def load(name, files, *options, lake=LAKE):
    timelake("create", name, "--from", files[0], "--time-column", "time", "--series-key", "machine", *options, lake=lake)
    timelake("append", name, *files, "--rows-per-commit", "0", "--no-maintain", lake=lake)


def load_other(name, file):
    """A table of the same name and columns, of two files that overlap."""
    pq.write_table(pq.read_table(file).slice(0, 1000), WORK / "few.parquet")
    load(name, [WORK / "few.parquet"] * 2, lake=OTHER)


def sources(table):
    """The table, and its live files as they are (compaction leaves older ones on the disk for older snapshots)."""
    folder = LAKE / "default" / table
    return f"timelake('{folder}')", "read_parquet(getvariable('files'), hive_partitioning=false)"


def extension(version, table="readings", names=QUERIES, bar=1.15, label="", with_cold=True):
    ours, plain = sources(table)
    worker = duck(version)
    set_files(worker, table)
    cold_took = {}
    for name in names:
        sql = QUERIES[name]
        utc = sql.replace("date_trunc", "tl_date_trunc")
        both = {"plain": lambda: worker(sql.format(t=plain)), "ours": lambda: worker(sql.format(t=ours))}
        if name == "fullagg":
            both["utc"] = lambda: worker(utc.format(t=ours))
        if with_cold:
            both["cold"] = lambda: cold(version, utc.format(t=ours))
            both["new"] = lambda: new_process(version, utc.format(t=ours))
            both["cold plain"] = lambda: cold_plain(version, sql.format(t=plain), table)
        for call in list(both.values())[:2]:
            call()
        took = interleaved(both)
        who = f"{label or version}: {name}"
        figure(f"{who}, plain", took["plain"] * 1000, "ms")
        figure(f"{who}, ours warm / plain", took["ours"] / took["plain"], "x", bar)
        if name == "fullagg":
            figure(f"{who}, with tl_date_trunc / plain", took["utc"] / took["plain"], "x")
        if with_cold:
            base = min(took["plain"], took.get("utc", took["plain"]))
            figure(f"{who}, ours cold - {bar:g} x plain", (took["cold"] - bar * base) * 1000, "ms", 45)
            figure(f"{who}, ours cold - {bar:g} x plain cold", (took["cold"] - bar * took["cold plain"]) * 1000, "ms")
            figure(f"{who}, new process - {bar:g} x plain", (took["new"] - bar * base) * 1000, "ms")
            cold_took[name] = took["cold"]
    worker.close()
    return cold_took


def against_peer(version):
    """Cold against cold: each opens the lake anew, on the same files."""
    ours, _ = sources("readings")
    peer = Worker(ROOT / ".deps" / "venv-peer" / "bin" / "python", PEER)
    for name, bar in PEER_BARS.items():
        mine = QUERIES[name].replace("date_trunc", "tl_date_trunc").format(t=ours)
        theirs = QUERIES[name].format(t="readings")
        took = interleaved({"peer": lambda: peer([str(LAKE), theirs]), "ours": lambda: cold(version, mine), "new": lambda: new_process(version, mine),
                            "sql": lambda: command(mine_sql(name))})
        figure(f"0.7.0 with dedup: {name}", took["peer"] * 1000, "ms")
        figure(f"0.7.0 / extension cold ({version}): {name}", took["peer"] / took["ours"], "x", bar, at_most=False)
        figure(f"0.7.0 / extension, new process: {name}", took["peer"] / took["new"], "x")
        figure(f"0.7.0 / timelake sql, cold: {name}", took["peer"] / took["sql"], "x", bar, at_most=False)
    theirs = QUERIES["hour"].format(t="readings")
    mine = HOUR_OF_RANGE.format(t=ours.replace("')", f"', {RANGE})"))
    took = interleaved({"peer": lambda: peer([str(LAKE), theirs]), "ours": lambda: cold(version, mine)})
    figure(f"0.7.0 / extension cold ({version}): hour by time_from, time_to", took["peer"] / took["ours"], "x", PEER_BARS["hour"], at_most=False)
    peer.close()


def mine_sql(name, table="readings"):
    return QUERIES[name].format(t=table)


def call(*args):
    cpu, wall, _, _ = timelake(*args)
    return cpu if os.environ.get("TL_CPU") else wall


def command(sql):
    """A statement as the first of a process of `timelake sql`, less what an empty statement costs it."""
    return max(call("sql", "--format", "none", sql) - call("sql", "--format", "none", "select 1"), 1e-4)


def warm_command(sql, times=200):
    """A statement after others like it in the same process."""
    few = call("sql", "--format", "none", ";".join([sql] * 10))
    return (call("sql", "--format", "none", ";".join([sql] * (10 + times))) - few) / times


def count_in_sql():
    took = interleaved({"warm": lambda: warm_command(mine_sql("count")), "cold": lambda: command(mine_sql("count"))})
    figure("timelake sql: count, warm", took["warm"] * 1000, "ms", 2)
    figure("timelake sql: count, cold", took["cold"] * 1000, "ms", 45)


def other_tables():
    """Tables without copies, of copies, after maintenance, of many files, of many series."""
    names = ["count", "filter", "all", "select *", "machine"]
    expected = IIOT / "expected.parquet"
    load("apart", [expected])
    extension("1.5.6", "apart", names, 1.03, "no overlap", False)
    load("five", [expected] * 5)
    extension("1.5.6", "five", ["filter", "all", "machine"], 1.3, "5 copies", False)
    out = timelake("maintain", "readings")[3]
    print(out.strip())
    extension("1.5.6", "readings", names, 1.02, "after maintenance", False)


def many_files_and_series():
    t0, n = 1_764_547_200_000_000, 10_000
    times = pa.array(t0 + np.arange(n) * 3_600_000_000, pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"machine": pa.array(["a"] * n), "time": times, "current": np.arange(n) / n * 40}), WORK / "files.parquet")
    load("files", [WORK / "files.parquet"], "--chunk", "hour")
    load_other("files", WORK / "files.parquet")
    extension("1.5.6", "files", ["count", "filter"], 1.15, "10,000 files", True)
    n = 1_000_000
    rows = {"machine": pa.array([f"machine-{i:07d}" for i in range(n)]), "current": np.arange(n) / n * 40}
    for i in range(2):
        rows["time"] = pa.array(np.full(n, t0 + i * 1_000_000), pa.timestamp("us", "UTC"))
        pq.write_table(pa.table(rows), WORK / f"series-{i}.parquet")
    load_other("series", WORK / "series-0.parquet")
    load("series", [WORK / "series-0.parquet", WORK / "series-1.parquet", WORK / "series-1.parquet"])
    extension("1.5.6", "series", ["count", "filter"], 1.15, "1,000,000 series, a third copies", True)


def main():
    parts = {"sql": count_in_sql, "1.5.6": lambda: extension("1.5.6"), "2.0.1": lambda: extension("2.0.1"),
             "peer": lambda: against_peer("1.5.6"), "tables": other_tables, "large": many_files_and_series}
    for folder in (LAKE, OTHER):
        shutil.rmtree(folder, ignore_errors=True)
    WORK.mkdir(parents=True, exist_ok=True)
    batches = sorted(IIOT.glob("batch-*.parquet"))
    load("readings", batches)
    load_other("readings", batches[0])
    for name in sys.argv[1:] or parts:
        parts[name]()
    save("read")


main()
