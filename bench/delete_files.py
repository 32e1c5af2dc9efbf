"""What live delete files cost readers, and what applying them costs: the measure behind the default of max-delete-files.

    make bench-deletes

One partition of 256 data files (2.56 million rows of 40 machines, one day) with write-policy upsert. Then K of the files get
a row replaced, each by a delete file of its own, in one commit. Queries take turns over tables with different K; each is
compared with the table without deletes. `compacted` is the same table after its deletes were applied, and what that took.
"""
import shutil
import subprocess
import time

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from duckdb_extensions import import_extension

from common import BUILD, RUNS, WORK, figure, interleaved, program, save

FILES, MACHINES, TICKS = 256, 40, 250  # ticks in a file
COUNTS = (0, 8, 16, 32, 64, 128, 256)
DAY = 1_767_225_600_000_000
TICK = 86_400_000_000 // (FILES * TICKS)
QUERIES = {
    "one machine": "select count(*), avg(a), max(b) from {t} where machine = 'machine-07'",
    "sums": "select sum(a), sum(b), sum(c) from {t}",
}
PLACE = WORK / "delete-files"
NAMES = pa.array([f"machine-{i:02d}" for i in range(MACHINES)])


def rows(machine, tick, seed):
    dice = np.random.default_rng(seed)
    values = {name: pa.array(np.round(dice.normal(50, 10, len(tick)), 2)) for name in "abc"}
    return pa.table({"machine": NAMES.take(pa.array(machine)),
                     "time": pa.array(DAY + tick * TICK, pa.timestamp("us", "UTC")), **values})


def inputs():
    for i in range(FILES):
        tick = np.repeat(np.arange(TICKS) + i * TICKS, MACHINES)
        pq.write_table(rows(np.tile(np.arange(MACHINES), TICKS), tick, i), PLACE / f"in-{i:03d}.parquet")
    for k in COUNTS[1:]:  # every file that gets a delete has its middle row replaced
        tick = np.arange(k) * (FILES // k) * TICKS + TICKS // 2
        pq.write_table(rows(np.full(k, 7), tick, 1000 + k), PLACE / f"late-{k}.parquet")


def timelake(table, *args):
    return program([BUILD / "timelake", "-w", PLACE / table, *args], stderr=subprocess.DEVNULL)


def folder(table):
    return PLACE / table / "default" / "readings"


def metadata_of(table):
    return max(folder(table).glob("metadata/v*.metadata.json"), key=lambda p: int(p.name[1:].split(".")[0]))


def load():
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    inputs()
    files = sorted(PLACE.glob("in-*.parquet"))
    timelake("0", "create", "readings", "--from", files[0], "--time-column", "time", "--series-key", "machine", "--policy", "upsert")
    timelake("0", "append", "readings", *files, "--rows-per-commit", "0", "--no-maintain")
    for k in COUNTS[1:]:
        # A table of its own rather than a copy: its metadata names files by where they are.
        timelake(str(k), "create", "readings", "--from", files[0], "--time-column", "time", "--series-key", "machine", "--policy", "upsert")
        timelake(str(k), "append", "readings", *files, PLACE / f"late-{k}.parquet", "--rows-per-commit", "0", "--no-maintain")


def timed(connection, sql):
    begin = time.perf_counter()
    connection.execute(sql).fetchall()
    return (time.perf_counter() - begin) * 1000


def compare(who, connection, source, tables):
    for name, sql in QUERIES.items():
        calls = {t: lambda t=t: timed(connection, sql.format(t=source(t))) for t in tables}
        for call in calls.values():
            call()
        took = interleaved(calls, 2 * RUNS + 1)
        for t in tables:
            figure(f"{who}, {name}, {t}: ms", took[t], "ms")
            figure(f"{who}, {name}, {t} / no deletes", took[t] / took["0"], "x")


def main():
    load()
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true", "threads": 2})
    for extension in ("avro", "iceberg"):
        import_extension(extension, con=connection)
    connection.execute("load iceberg")
    connection.execute(f"load '{BUILD / 'timelake.duckdb_extension'}'")
    tables = [str(k) for k in COUNTS]
    compare("DuckDB iceberg", connection, lambda t: f"iceberg_scan('{metadata_of(t)}')", tables)
    compare("our extension", connection, lambda t: f"timelake('{folder(t)}')", tables)
    cpu, wall, _, _ = timelake("64", "maintain", "readings", "--no-expire")
    figure("applying 64 deletes by compaction of the partition: wall", wall * 1000, "ms")
    figure("applying 64 deletes by compaction of the partition: CPU", cpu * 1000, "ms")
    compare("DuckDB iceberg, compacted", connection, lambda t: f"iceberg_scan('{metadata_of(t)}')", ["0", "64"])
    save("delete-files")


if __name__ == "__main__":
    main()
