"""Appending against Timelake 0.7.0, pyarrow, DuckDB and polars, one run, interleaved: the machine readings of
../shared/bench/iiot.py.

    make bench-append

One append of all rows (input in memory for all), portable and compact, in arrival order, shuffled and sorted; then the
hourly files one by one: durable for us, without any sync for the peer. The other libraries have no tables to append to:
they do what they can of the same job, one Parquet file a day sorted by machine and time, zstd 3, row groups of 122,880;
no last write of a key is kept, nothing is committed or synced.

Every turn has a new folder, and all of them are removed at the end: on ext4 a file that is made soon after many were
deleted costs more, whoever makes it.
"""
import itertools
import json
import re
import shutil
import statistics
import subprocess
import sys

from common import BUILD, PEER, ROOT, RUNS, WORK, figure, program, save

IIOT = ROOT / ".deps" / "iiot"
LAKE = WORK / "lake"
PEER_CODE = """
import glob, json, os, resource, shutil, sys, time
import pyarrow as pa, pyarrow.parquet as pq, timelake
mode, lake, files = sys.argv[1], sys.argv[2], sorted(glob.glob(sys.argv[3] + "/batch-*.parquet"))
batches = [pq.read_table(f) for f in files]
big = pa.concat_tables(batches).combine_chunks()
shutil.rmtree(lake, ignore_errors=True)
os.makedirs(lake)
t = timelake.Lake(lake).create_table("readings", big.schema, time_column="time", series_key=["machine"], chunk="day", dedup=True)
before, begin = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
if mode == "one":
    bytes_ = t.append(big, maintain=False)["bytes"]
else:
    bytes_ = sum(t.append(b, batch_id=f, maintain=False)["bytes"] for f, b in zip(files, batches))
wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"wall": wall, "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
                  "rows": big.num_rows, "bytes": bytes_, "rss": after.ru_maxrss / 1024}))
"""


WRITER_CODE = """
import datetime, glob, json, os, resource, sys, time
import pyarrow as pa, pyarrow.compute as pc, pyarrow.parquet as pq
name, out, files = sys.argv[1], sys.argv[2], sorted(glob.glob(sys.argv[3] + "/batch-*.parquet"))
big = pa.concat_tables([pq.read_table(f) for f in files]).combine_chunks()
parquet = dict(compression="zstd", compression_level=3, row_group_size=122880)
os.makedirs(out)

def run_pyarrow():
    x = big.append_column("day", big["time"].cast(pa.date32()))
    x = x.sort_by([("day", "ascending"), ("machine", "ascending"), ("time", "ascending")])
    at = 0
    for run in pc.value_counts(x["day"]):
        n = run["counts"].as_py()
        pq.write_table(x.slice(at, n).drop_columns("day"), f"{out}/{run['values']}.parquet", **parquet)
        at += n

def run_duckdb():
    ends = pc.min_max(big["time"]).as_py()
    day = ends["min"].replace(hour=0, minute=0, second=0, microsecond=0)
    while day <= ends["max"]:
        end = day + datetime.timedelta(days=1)
        con.execute(f"copy (select * from big where time >= timestamptz '{day}' and time < timestamptz '{end}' "
                    f"order by machine, time) to '{out}/{day.date()}.parquet' "
                    f"(format parquet, codec zstd, compression_level 3, row_group_size 122880)")
        day = end

def run_polars():
    x = frame.with_columns(pl.col("time").dt.date().alias("day")).sort("day", "machine", "time")
    for part in x.partition_by("day", maintain_order=True):
        part.drop("day").write_parquet(f"{out}/{part['day'][0]}.parquet", **parquet)

if name == "duckdb":
    import duckdb
    con = duckdb.connect()
    con.execute("set timezone = 'UTC'; set enable_progress_bar = false")
elif name == "polars":
    import polars as pl
    frame = pl.from_arrow(big)
job = {"pyarrow": run_pyarrow, "duckdb": run_duckdb, "polars": run_polars}[name]
before, begin = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
job()
wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"wall": wall, "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
                  "bytes": sum(os.path.getsize(f"{out}/{f}") for f in os.listdir(out)), "rss": after.ru_maxrss / 1024}))
"""
NUMBERS = itertools.count()


def folder(name):
    """A new one each time."""
    LAKE.mkdir(parents=True, exist_ok=True)
    return LAKE / f"{name.replace(' ', '-')}-{next(NUMBERS)}"


def writer(name):
    out = subprocess.run([sys.executable, "-c", WRITER_CODE, name, folder(name), IIOT], check=True, capture_output=True,
                         text=True)
    return json.loads(out.stdout)


def peer(mode):
    out = subprocess.run([PEER, "-c", PEER_CODE, mode, folder("peer"), IIOT], check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def ours(order, *options):
    """One append by append_bench: CPU and wall seconds of align + append, without the input's reading."""
    lake = folder("ours")
    lake.mkdir()
    files = [WORK / f"{order}.arrow"] if order != "arrival" else sorted(IIOT.glob("batch-*.parquet"))
    _, _, rss, out = program([BUILD / "append_bench", "--time", "time", "--series", "machine", *options,
                              lake, *files])
    m = re.search(r"cpu ([0-9.]+) wall ([0-9.]+) .*\| (\d+) rows ([0-9.]+) MB (\d+) files, \+(\d+) MB", out)
    return {"cpu": float(m[1]), "wall": float(m[2]), "bytes": float(m[4]) * 1e6, "extra": float(m[6]), "rss": rss}


def hourly():
    """226 commits through the C API, durable, input in memory."""
    files = sorted(IIOT.glob("batch-*.parquet"))
    _, _, rss, out = program([BUILD / "hourly_bench", folder("hourly"), "time", "machine", *files])
    m = re.search(r"cpu ([0-9.]+) wall ([0-9.]+)", out)
    return {"cpu": float(m[1]), "wall": float(m[2]), "rss": rss}


def make_orders():
    if (WORK / "sorted.arrow").exists():
        return
    WORK.mkdir(parents=True, exist_ok=True)
    code = """
import glob, sys, numpy as np, pyarrow as pa, pyarrow.parquet as pq
t = pa.concat_tables([pq.read_table(f) for f in sorted(glob.glob(sys.argv[1] + "/batch-*.parquet"))]).combine_chunks()
for name, x in (("shuffled", t.take(pa.array(np.random.default_rng(3).permutation(len(t))))),
                ("sorted", t.sort_by([("machine", "ascending"), ("time", "ascending")]))):
    with pa.ipc.new_stream(f"{sys.argv[2]}/{name}.arrow", t.schema) as w:
        w.write_table(x.combine_chunks(), max_chunksize=1 << 20)
"""
    subprocess.run([ROOT / ".deps/venv/bin/python", "-c", code, IIOT, WORK], check=True)


def main():
    make_orders()
    shutil.rmtree(LAKE, ignore_errors=True)
    contenders = {
        "peer": lambda: peer("one"),
        "portable": lambda: ours("arrival", "--threads", "2"),
        "portable, one thread": lambda: ours("arrival", "--threads", "1"),
        "compact": lambda: ours("arrival", "--threads", "2", "--compact"),
        "shuffled": lambda: ours("shuffled", "--threads", "1"),
        "sorted": lambda: ours("sorted", "--threads", "1"),
        "pyarrow": lambda: writer("pyarrow"),
        "duckdb": lambda: writer("duckdb"),
        "polars": lambda: writer("polars"),
        "hourly peer": lambda: peer("many"),
        "hourly": hourly,
    }
    took = {name: [] for name in contenders}
    for _ in range(RUNS):
        for name, call in contenders.items():
            took[name].append(call())
    m = {name: {k: statistics.median(r[k] for r in runs) for k in runs[0]} for name, runs in took.items()}
    shutil.rmtree(LAKE, ignore_errors=True)
    for name, values in m.items():
        for k, unit in (("cpu", "s"), ("wall", "s"), ("rss", "MB")):
            figure(f"append {name}: {k if k != 'rss' else 'peak RSS, input included'}", values[k], unit)
    rows = m["peer"]["rows"]
    figure("append: rows/s, ours / peer (two free cores)", m["peer"]["wall"] / m["portable"]["wall"], "x", 5, at_most=False)
    figure("append: CPU, ours / peer", m["portable"]["cpu"] / m["peer"]["cpu"], "x", 0.25)
    for name in ("pyarrow", "duckdb", "polars"):
        figure(f"append: rows/s, ours / {name}", m[name]["wall"] / m["portable"]["wall"], "x")
        figure(f"append: CPU, ours / {name}", m["portable"]["cpu"] / m[name]["cpu"], "x")
        figure(f"append: bytes, portable / {name}", m["portable"]["bytes"] / m[name]["bytes"], "x")
    figure("append: bytes, portable / peer", m["portable"]["bytes"] / m["peer"]["bytes"], "x", 0.58)
    figure("append: bytes, compact / peer", m["compact"]["bytes"] / m["peer"]["bytes"], "x", 0.52)
    figure("append: memory beyond the input", m["portable"]["extra"], "MB", rows * 24 / 1e6 + 128)
    figure("append: shuffled / arrival order (CPU)", m["shuffled"]["cpu"] / m["portable, one thread"]["cpu"], "x", 1.6)
    figure("append: sorted / arrival order (CPU)", m["sorted"]["cpu"] / m["portable, one thread"]["cpu"], "x", 0.7)
    figure("hourly: rows/s, ours (durable) / peer", m["hourly peer"]["wall"] / m["hourly"]["wall"], "x", 3, at_most=False)
    figure("hourly: CPU, ours / peer", m["hourly"]["cpu"] / m["hourly peer"]["cpu"], "x")
    save("append")


main()
