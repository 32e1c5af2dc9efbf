"""Finding older copies (pass 1 of dedup on read), by older_bench: the machine readings of ../shared/bench/iiot.py in 226
un-compacted commits; the same with an insertion time of its own for each row, with machines that have no name, and as files
of other writers; 10,000 small files; 1,000,000 series; files that do not overlap.

    make bench-older

Times are CPU milliseconds of planning a read (live files, grouping, key columns, comparing): other work of the machine
weighs less on them than on wall time, which older_bench prints as well.
"""
import re
import shutil
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from common import BUILD, PEER, ROOT, RUNS, WORK, figure, program, save

sys.path.insert(0, str(ROOT / "tests"))

IIOT = ROOT / ".deps" / "iiot"
T0, DAY, MINUTE = 1_764_547_200_000_000, 86_400_000_000, 60_000_000


def times(us):
    return pa.array(us, pa.timestamp("us", tz="UTC"))


def varying():
    """Insertion times that differ from row to row, as compaction leaves them."""
    dice = np.random.default_rng(5)
    for i, path in enumerate(sorted(IIOT.glob("batch-*.parquet"))):
        t = pq.read_table(path)
        yield t.append_column("_ingest_ts", times(T0 + (i + 1) * 60 * MINUTE + dice.integers(0, MINUTE, len(t))))


def null_keys():
    """A machine in fifty has no name."""
    for path in sorted(IIOT.glob("batch-*.parquet")):
        t = pq.read_table(path)
        yield t.set_column(0, "machine", pc.if_else(pc.equal(t["machine"], "machine-007"), pa.scalar(None, pa.string()), t["machine"]))


# ---- files of other writers: neither their order nor that a file holds a key but once is known ----

def foreign(table_dir, is_sorted, row_group=None):
    """The batches as pyarrow writes them: dictionaries, optional columns, no field ids, no sort order. As they come in the rows
    of a batch stand by time, so that no two neighbours are of one machine."""
    from foreign import FolderCatalog
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.transforms import DayTransform
    from pyiceberg.types import DoubleType, IntegerType, NestedField, StringType, TimestamptzType
    schema = Schema(NestedField(1, "machine", StringType()), NestedField(2, "time", TimestamptzType(), required=False),
                    *(NestedField(3 + i, name, DoubleType()) for i, name in enumerate(("temperature", "vibration", "pressure", "current"))),
                    NestedField(7, "status", IntegerType()), NestedField(8, "_ingest_ts", TimestamptzType()))
    table = FolderCatalog(table_dir.parent.parent).create_table("default.readings", schema, partition_spec=PartitionSpec(
        PartitionField(2, 1000, DayTransform(), "day")), properties={
            "timelake.time-column": "time", "timelake.series-key": "machine", "timelake.ingest-time-column": "_ingest_ts",
            "timelake.dedup": "true"})
    for i, path in enumerate(sorted(IIOT.glob("batch-*.parquet"))):
        t = pq.read_table(path)
        t = t.append_column("_ingest_ts", times(np.full(len(t), T0 + (i + 1) * 60 * MINUTE)))
        t = t.sort_by([("machine", "ascending"), ("time", "ascending")]) if is_sorted else t
        day = t["time"].cast(pa.int64()).to_numpy() // DAY
        added = [table_dir / "data" / f"{i:05d}-{d}.parquet" for d in np.unique(day)]
        for d, path in zip(np.unique(day), added):
            path.parent.mkdir(exist_ok=True)
            pq.write_table(t.filter(day == d), path, compression="zstd", row_group_size=row_group)
        table.add_files([path.as_uri() for path in added])


PEER_APPENDS = """
import sys, timelake, pyarrow.parquet as pq
lake = timelake.Lake(sys.argv[1])
t = lake.create_table("readings", pq.read_schema(sys.argv[2]), time_column="time", series_key=["machine"], chunk="day", dedup=True)
for path in sys.argv[2:]:
    t.append(pq.read_table(path), maintain=False)
"""

OTHERS = {
    "pyarrow, rows by time": lambda d: foreign(d, False),
    "pyarrow, rows by machine": lambda d: foreign(d, True),
    "pyarrow, row groups of 10,000 rows": lambda d: foreign(d, True, 10_000),
    "Timelake 0.7.0": lambda d: program([PEER, "-c", PEER_APPENDS, d.parent.parent, *sorted(IIOT.glob("batch-*.parquet"))]),
}


def in_order():
    """Each key once, an hour a commit: no two files overlap."""
    t = pq.read_table(IIOT / "expected.parquet").sort_by([("time", "ascending")])
    hours = t["time"].cast(pa.int64()).to_numpy() // (60 * MINUTE)
    cuts = [0, *(np.flatnonzero(np.diff(hours)) + 1), len(t)]
    for begin, end in zip(cuts, cuts[1:]):
        yield t.slice(begin, end - begin)


def many_files():
    """100 commits to 100 days each, all files of a day over each other."""
    dice = np.random.default_rng(1)
    day, machine, k = np.repeat(np.arange(100), 100), np.tile(np.repeat(np.arange(5), 20), 100), np.tile(np.arange(20), 500)
    names = pa.array([f"machine-{m:03d}" for m in machine])
    for b in range(100):
        t = T0 + day * DAY + (k * 100 + b - (dice.random(len(day)) < .1)) * 40_000_000
        yield pa.table({"machine": names, "time": times(t), "v": pa.array(dice.random(len(t)))})


def many_series():
    """8 commits of a million series each; 3 % send the row before again."""
    dice = np.random.default_rng(1)
    names = pa.array([f"sensor-{s:07d}" for s in range(1_000_000)])
    for b in range(8):
        t = T0 + (b - (dice.random(1_000_000) < .03)) * MINUTE
        yield pa.table({"machine": names, "time": times(t), "v": pa.array(dice.random(1_000_000))})


def lake(name, tables):
    """A lake of one commit a table; made once."""
    out = WORK / "older" / re.sub("[^a-z0-9.]+", "-", name.replace(",", "").lower())
    if (out / "made").exists():
        return out
    shutil.rmtree(out, ignore_errors=True)
    if name in OTHERS:
        OTHERS[name](out / "lake" / "default" / "readings")
        (out / "made").touch()
        return out
    files = sorted(IIOT.glob("batch-*.parquet"))
    if tables:
        files = []
        for i, t in enumerate(tables()):
            (out / "input").mkdir(parents=True, exist_ok=True)
            files.append(out / "input" / f"batch-{i:05d}.parquet")
            pq.write_table(t, files[-1])
    program([BUILD / "hourly_bench", out / "lake", "time", "machine", *files])
    (out / "made").touch()
    return out


def run(name, tables, copies=0):
    """Figures by line: (wall, CPU, rest)."""
    _, _, _, out = program([BUILD / "older_bench", lake(name, tables) / "lake", "readings", RUNS, copies])
    found = {}
    for line in out.splitlines():
        m = re.match(r"(.*?) +([0-9.]+) ms +least +([0-9.]+) +cpu +([0-9.]+)(.*)", line)
        found[m[1]] = (float(m[2]), float(m[4]), m[5])
    return found


def main():
    iiot = run("iiot", None, 8)
    base = iiot["plan: copies kept"][1]
    for line in ("load the table", "live files", "plan: copies kept", "plan: all, known"):
        figure(f"iiot, {line}", iiot[line][1], "ms")
    for line, bar in (("all, one thread", 40), ("all, two threads", None), ("one hour", 4), ("one series", 15),
                      ("all, one commit more", None)):
        figure(f"iiot, {line}: beyond live files", iiot[f"plan: {line}"][1] - base, "ms", bar)
    figure("iiot, all, two threads: wall, beyond live files", iiot["plan: all, two threads"][0] - iiot["plan: copies kept"][0], "ms", 25)
    figure("iiot, kept beside the table: cold - known", iiot["load the table"][1] + iiot["plan: all, kept beside"][1] -
           iiot["plan: all, known"][1], "ms", 10)
    read = re.search(r"read ([0-9.]+) of ([0-9.]+) MB; peak (\d+)", iiot["plan: all, one thread"][2])
    figure("iiot, share of the bytes read", 100 * float(read[1]) / float(read[2]), "%", 2)
    figure("iiot, peak memory of the process", float(read[3]), "MB", 32)
    for copies in (2, 4, 8):
        figure(f"iiot, {copies} full copies / one, for each copy", iiot[f"older copies: {copies} full copies"][1] /
               iiot["older copies: 1 full copies"][1] / copies, "x")
    figure("insertion times that differ / iiot", (run("varying", varying)["plan: all, one thread"][1] - base) /
           (iiot["plan: all, one thread"][1] - base), "x", 3)
    for name, tables in (("null keys", null_keys), *((other, None) for other in OTHERS)):
        found = run(name, tables)
        for line in ("all, one thread", "one series"):
            figure(f"{name} / iiot, {line}", (found[f"plan: {line}"][1] - found["plan: copies kept"][1]) /
                   (iiot[f"plan: {line}"][1] - base), "x", 3)
    apart = run("in-order", in_order)
    figure("no overlap, all - copies kept", apart["plan: all, one thread"][1] - apart["plan: copies kept"][1], "ms")
    for name, tables in (("10,000 files", many_files), ("1,000,000 series", many_series)):
        found = run(name, tables)
        for line in ("plan: copies kept", "plan: all, one thread", "plan: all, one commit more", "plan: all, known"):
            figure(f"{name}, {line}", found[line][1], "ms")
        figure(f"{name}, peak memory", float(re.search(r"peak (\d+)", found["plan: all, one thread"][2])[1]), "MB")
    save("older")


if __name__ == "__main__":
    main()
