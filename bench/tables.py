"""Appends to tables of odd shapes, and commits: how cost grows with the table. One run.

    make bench-tables

Small commits at commit 100 and 10,000 beside the syncs that they need, alone; one row into a table of 1,000,000 series
and into one of 10,000 data files; one append of 500 columns, of 10,000 partitions, of 100,000 series; one machine read by
DuckDB from files of our layout and from files of 1,048,576-row groups.
"""
import re
import shutil
import statistics
import subprocess
import tempfile
import time

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from common import BUILD, ROOT, RUNS, WORK, figure, program, save

LAKE = WORK / "tables"
IIOT = ROOT / ".deps" / "iiot"
T0 = 1_764_547_200_000_000


def timelake(*args):
    return program([BUILD / "timelake", "-w", LAKE, *args], stderr=subprocess.STDOUT)


def file(name, **columns):
    path = WORK / f"{name}.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def times(us):
    return pa.array(np.asarray(us, dtype=np.int64), pa.timestamp("us", "UTC"))


def commit_ms(out):
    """Milliseconds of the commit, and of the whole append, as the command prints them."""
    m = re.search(r"commit (\d+) ms \[([0-9.]+)s\]", out)
    return float(m[1])


def one_row_appends(table, row):
    took = [commit_ms(timelake("append", table, row, "--no-maintain")[3]) for _ in range(2 * RUNS + 1)]
    return statistics.median(took)


def commits():
    WORK.mkdir(parents=True, exist_ok=True)
    # Before anything is deleted: on ext4 without a journal files made soon after many deletes cost several times as much.
    folder = tempfile.mkdtemp(prefix="commits-", dir=WORK)
    _, _, _, out = program([BUILD / "commit_bench", folder, "10000", "sync"])
    found = re.findall(r"commit +(\d+): wall ([0-9.]+) ms, CPU ([0-9.]+) ms, its (\d+) syncs alone ([0-9.]+)", out)
    walls = {int(n): float(ms) for n, ms, _, _, _ in found}
    syncs = {int(n): float(ms) for n, _, _, _, ms in found}
    for n in (100, 10000):
        figure(f"commit: at commit {n:,}", walls[n], "ms")
        figure(f"commit: its {found[0][3]} syncs alone, at commit {n:,}", syncs[n], "ms")
        figure(f"commit: wall / its syncs alone, at commit {n:,}", walls[n] / syncs[n], "x", 2)
    figure("commit: 10,000 / 100", walls[10000] / walls[100], "x", 1.3)
    shutil.rmtree(folder)


def many_series():
    n = 1_000_000
    source = file("series", id=pa.array([f"series-{i:07d}" for i in range(n)]), time=times(np.full(n, T0)),
                  v=np.random.default_rng(1).random(n))
    cpu, wall, rss, _ = timelake("import", "series", source, "--time-column", "time", "--series-key", "id")
    figure("1,000,000 series: one append", cpu, "CPU s")
    figure("1,000,000 series: peak RSS", rss, "MB")
    row = file("series-row", id=pa.array(["series-0500000"]), time=times([T0 + 1]), v=[1.0])
    figure("1,000,000 series: one row more, median", one_row_appends("series", row), "ms", 50)
    n = 100_000
    source = file("series100k", id=pa.array([f"s{i % n:06d}" for i in range(10 * n)]),
                  time=times(T0 + np.arange(10 * n) // n * 1_000_000), v=np.random.default_rng(1).random(10 * n))
    cpu, wall, rss, _ = timelake("import", "series100k", source, "--time-column", "time", "--series-key", "id")
    figure("100,000 series, 1,000,000 rows: one append", cpu, "CPU s")


def many_files():
    n = 10_000
    hours = T0 + np.arange(n) * 3_600_000_000
    source = file("hours", id=pa.array(["a"] * n), time=times(hours), v=np.arange(n, dtype=float))
    cpu, wall, rss, _ = timelake("import", "hours", source, "--time-column", "time", "--series-key", "id", "--chunk", "hour",
                                 "--no-maintain")
    figure("10,000 partitions: one append", cpu, "CPU s")
    figure("10,000 partitions: wall", wall, "s")
    figure("10,000 partitions: peak RSS", rss, "MB")
    row = file("hours-row", id=pa.array(["a"]), time=times([hours[-1] + 1]), v=[1.0])
    figure("10,000 data files: one row more, median", one_row_appends("hours", row), "ms")


def many_columns():
    n = 10_000
    rng = np.random.default_rng(2)
    source = file("wide", id=pa.array(["a"] * n), time=times(T0 + np.arange(n) * 1_000_000),
                  **{f"c{i:03d}": rng.random(n) for i in range(500)})
    cpu, wall, rss, _ = timelake("import", "wide", source, "--time-column", "time", "--series-key", "id")
    figure("500 columns, 10,000 rows: one append", cpu, "CPU s")
    figure("500 columns: peak RSS", rss, "MB")


def layouts():
    files = sorted(IIOT.glob("batch-*.parquet"))
    for name, rows in (("ours", None), ("large", "1048576")):
        extra = ["--prop", f"timelake.row-group-rows={rows}"] if rows else []
        timelake("import", name, *files, "--time-column", "time", "--series-key", "machine", *extra)
    con = duckdb.connect()
    con.execute("set timezone='UTC'")
    query = "select count(*), avg(temperature), max(current) from read_parquet('{}/default/{}/data/*/*.parquet') where machine = 'machine-007'"

    def ask(name):
        begin = time.perf_counter()
        con.sql(query.format(LAKE, name)).fetchall()
        return time.perf_counter() - begin

    took = {"ours": [], "large": []}
    for _ in range(2 * RUNS + 1):
        for name in took:
            took[name].append(ask(name))
    ours, large = (statistics.median(took[name]) for name in ("ours", "large"))
    figure("one machine by DuckDB, our layout", ours * 1000, "ms")
    figure("one machine by DuckDB, groups of 1,048,576 rows", large * 1000, "ms")
    figure("one machine by DuckDB, our layout / large groups", ours / large, "x", 0.6)


def main():
    shutil.rmtree(LAKE, ignore_errors=True)
    WORK.mkdir(parents=True, exist_ok=True)
    commits()
    many_series()
    many_files()
    many_columns()
    layouts()
    save("tables")


main()
