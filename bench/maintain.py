"""Compaction: the un-compacted lake of 226 hourly batches against Timelake 0.7.0 (maintain of the lake that each wrote), what
inline maintenance adds to the appends, row groups taken over byte for byte against decoding, and over time the bytes rewritten
for each byte appended and the copies that a reader without dedup sees, for the hourly batches and for a backfill of a year.

TL_RUNS=1 python bench/maintain.py
"""
import json
import os
import pathlib
import shutil
import statistics
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from common import BUILD, PEER, RUNS, WORK, figure, program, save

INPUT = pathlib.Path(os.environ.get("TL_IIOT", WORK.parent / "iiot"))
COMMAND = pathlib.Path(os.environ.get("TL_COMMAND", BUILD / "timelake"))
BENCH = pathlib.Path(os.environ.get("TL_COMPACT_BENCH", BUILD / "compact_bench"))

PEER_LOAD = """
import sys, timelake, pyarrow.parquet as pq
lake = timelake.Lake(sys.argv[1])
t = lake.create_table("readings", pq.read_schema(sys.argv[2]), time_column="time", series_key=["machine"])
for f in sys.argv[2:]:
    t.append(pq.read_table(f), maintain=False)
"""
PEER_MAINTAIN = """
import json, resource, sys, time, timelake
t = timelake.Lake(sys.argv[1]).table("readings")
begin, u = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
t.maintain(expire=False)
v = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"wall": time.perf_counter() - begin, "cpu": v.ru_utime + v.ru_stime - u.ru_utime - u.ru_stime, "rss": v.ru_maxrss / 1024}))
"""


def command(lake, *args):
    return program([COMMAND, "-w", lake, *args], stderr=-3)


def create(lake, like, *options):
    shutil.rmtree(lake, ignore_errors=True)
    command(lake, "create", "readings", "--from", like, "--time-column", "time", "--series-key", "machine", *options)


def info(lake):
    return json.loads(command(lake, "info", "readings", "--json")[3])


def copy_of(lake):
    """A lake that was moved is understood by ours."""
    other = pathlib.Path(f"{lake}-run")
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(lake, other)
    return other


def compact(lake, *options):
    return json.loads(program([BENCH, copy_of(lake), "readings", "2", "0", *options])[3])


def against_peer(batches):
    ours, theirs, times = WORK / "maintain-ours", WORK / "maintain-peer", []
    create(ours, batches[0])
    command(ours, "append", "readings", *batches, "--rows-per-commit", "0", "--no-maintain")
    for _ in range(RUNS):
        shutil.rmtree(theirs, ignore_errors=True)
        program([PEER, "-c", PEER_LOAD, theirs, *batches])
        peer = json.loads(program([PEER, "-c", PEER_MAINTAIN, theirs])[3])
        peer["bytes"] = sum(f.stat().st_size for f in sorted(theirs.glob("default/readings/data/*/*.parquet"), key=lambda f: f.stat().st_mtime)[-9:])
        times.append((compact(ours), peer))
    mid = lambda who, key: statistics.median(t[who][key] for t in times)
    figure("maintain: wall, ours", mid(0, "seconds"), "s")
    figure("maintain: wall, peer", mid(1, "wall"), "s")
    figure("maintain: speed, ours / peer", mid(1, "wall") / mid(0, "seconds"), "x", 3, at_most=False)
    figure("maintain: CPU, ours / peer", mid(0, "cpu_seconds") / mid(1, "cpu"), "x")
    figure("maintain: peak RSS", mid(0, "peak_mb"), "MB", 512)
    figure("maintain: bytes, ours / peer", mid(0, "bytes_out") / mid(1, "bytes"), "x", 0.9)
    shutil.rmtree(theirs)
    return ours


def inline(batches):
    """In a folder of its own each time: creating files is slow for a while where many were deleted."""
    took, lakes = {"without": [], "with": []}, []
    for i in range(RUNS):
        for name, options in (("without", ["--no-maintain"]), ("with", [])):
            lakes.append(WORK / f"maintain-inline-{name}-{os.getpid()}-{i}")
            create(lakes[-1], batches[0])
            took[name].append(command(lakes[-1], "append", "readings", *batches, "--rows-per-commit", "0", *options)[:2])
    cpu, wall = ({n: statistics.median(t[k] for t in took[n]) for n in took} for k in (0, 1))
    figure("inline: added to the time of 226 appends", 100 * (wall["with"] / wall["without"] - 1), "%", 30)
    figure("inline: the same, of the shortest times", 100 * (min(t[1] for t in took["with"]) / min(t[1] for t in took["without"]) - 1), "%")
    figure("inline: added to their CPU time", 100 * (cpu["with"] / cpu["without"] - 1), "%")
    figure("inline: files after them", info(lakes[-1])["files"])
    for lake in lakes:
        shutil.rmtree(lake)


def copying():
    """224 hours of one machine, ten rows a second: row groups that do not interleave."""
    folder, rng = WORK / "hours", np.random.default_rng(1)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    n, start = 36000, 1761955200_000000
    for h in range(224):
        pq.write_table(pa.table({
            "machine": pa.array(["m1"] * n), "time": pa.array(start + h * 3600_000000 + np.arange(n) * 100000, pa.timestamp("us", "UTC")),
            "temperature": np.round(20 + np.cumsum(rng.normal(0, .05, n)), 2), "vibration": np.round(rng.gamma(2, .5, n), 3),
            "pressure": np.round(rng.normal(5, .2, n), 2), "current": np.round(rng.normal(12, 1, n), 1),
            "status": pa.array(rng.integers(0, 4, n).astype("int32"))}), folder / f"{h:03}.parquet")
    files, lake = sorted(folder.glob("*.parquet")), WORK / "maintain-hours"
    create(lake, files[0], "--chunk", "month")
    command(lake, "append", "readings", *files, "--rows-per-commit", "0", "--no-maintain")
    runs = [(compact(lake), compact(lake, "decode")) for _ in range(RUNS)]
    assert all(a["copied_bytes"] == a["bytes_out"] and b["copied_bytes"] == 0 for a, b in runs)
    figure("copying: CPU, decoding / copying", statistics.median(b["cpu_seconds"] / a["cpu_seconds"] for a, b in runs), "x", 10, at_most=False)
    figure("copying: wall, decoding / copying", statistics.median(b["seconds"] / a["seconds"] for a, b in runs), "x")


def rewritten(name, files, chunk, every):
    """Appends one by one; at each mark bytes of data files ever written / bytes appended, and rows there / rows that count."""
    lake = WORK / "maintain-amplification"
    create(lake, files[0], "--chunk", chunk)
    for i, f in enumerate(files):
        command(lake, "append", "readings", f)
        if (i + 1) % every == 0 or i + 1 == len(files):
            snapshots = json.loads(max(lake.glob("default/readings/metadata/v*.metadata.json"), key=lambda p: int(p.name[1:].split(".")[0])).read_text())["snapshots"]
            for s in snapshots:
                SEEN[name, s["snapshot-id"]] = s["summary"]
            parts = {op: sum(int(v.get("added-files-size", 0)) for (n, _), v in SEEN.items() if n == name and v["operation"] == op) for op in ("append", "replace")}
            now = info(lake)
            live = int(command(lake, "sql", "select count(*) as n from readings", "--format", "csv")[3].split()[-1])
            print(f"  {name}: after {i + 1:4d} appends {parts['replace'] / parts['append']:.2f} bytes rewritten for each appended, "
                  f"{now['files']} files, {now['rows'] - live} copies visible in {now['rows']} rows", flush=True)
    figure(f"write amplification, {name}", parts["replace"] / parts["append"], "x")


SEEN = {}


def backfill():
    """A year of two machines, a day at a time, in no order, after its last day."""
    folder, rng = WORK / "year", np.random.default_rng(2)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    n, start = 1440, 1735689600_000000
    order = [364, *rng.permutation(364)]
    for k, day in enumerate(order):
        t = start + day * 86400_000000 + np.arange(n) * 60_000000
        pq.write_table(pa.table({"machine": pa.array(["m1", "m2"] * (n // 2)), "time": pa.array(t, pa.timestamp("us", "UTC")),
                                 "temperature": np.round(rng.normal(20, 3, n), 2)}), folder / f"{k:03}.parquet")
    return sorted(folder.glob("*.parquet"))


def main():
    batches = sorted(INPUT.glob("batch-*.parquet"))
    if not batches:
        sys.exit(f"no batches in {INPUT}; set TL_IIOT")
    WORK.mkdir(parents=True, exist_ok=True)
    against_peer(batches)
    inline(batches)
    copying()
    rewritten("hourly batches", batches, "day", 50)
    rewritten("a year's backfill", backfill(), "month", 73)
    save("maintain")


main()
