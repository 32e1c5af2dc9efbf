"""Policy upsert: what it costs writers and readers. One run; contenders take turns.

    make bench-upsert

The IIoT input (226 files, a commit each) into three tables: policy append, upsert with position deletes, upsert with deletion
vectors, none of them compacted. Readers are DuckDB's iceberg extension, which sees every copy in the first, and ours, which sees
the last writes in all.
"""
import json
import os
import shutil
import statistics
import subprocess
import time

import duckdb
import fastavro
from duckdb_extensions import import_extension

from common import BUILD, ROOT, RUNS, WORK, figure, program, save

IIOT = ROOT / ".deps" / "iiot"
TABLES = {"append": [], "upsert": ["--policy", "upsert"], "vectors": ["--policy", "upsert", "--prop", "delete-format=dv"]}
QUERIES = {
    "count": "select count(*) from {t}",
    "one machine": "select count(*), avg(temperature), max(vibration) from {t} where machine = 'machine-007'",
    "sum of all": "select sum(temperature), sum(vibration), sum(pressure), sum(current) from {t}",
}


made = 0


def lake(table):
    """A new folder for each load: file systems without a journal are slow where files were just deleted."""
    return WORK / "upsert" / f"{table}-{os.getpid()}-{made}"


def folder(table):
    return lake(table) / "default" / "readings"


def load(table):
    """Seconds for all appends (wall, CPU)."""
    lake(table).mkdir(parents=True)
    batches = sorted(IIOT.glob("batch-*.parquet"))
    timelake = [BUILD / "timelake", "-w", lake(table)]
    program([*timelake, "create", "readings", "--from", batches[0], "--time-column", "time", "--series-key", "machine",
             *TABLES[table]])
    cpu, wall, _, _ = program([*timelake, "append", "readings", *batches, "--rows-per-commit", "0", "--no-maintain"],
                              stderr=subprocess.DEVNULL)
    return wall, cpu


def appends():
    global made
    took = {t: [] for t in TABLES}
    for made in range(max(RUNS - 1, 2)):
        for t in TABLES:
            took[t].append(load(t))
    least = {t: [min(x[i] for x in runs) for i in (0, 1)] for t, runs in took.items()}
    for t in TABLES:
        figure(f"226 appends, {t}: wall (least)", least[t][0], "s")
        figure(f"226 appends, {t}: CPU (least)", least[t][1], "s")
    print("seconds (wall, CPU) of each turn:", {t: [tuple(round(x, 2) for x in r) for r in runs] for t, runs in took.items()})
    for t in ("upsert", "vectors"):
        figure(f"226 appends, {t}: wall against policy append", least[t][0] / least["append"][0], "x", bar=1.3)
        figure(f"226 appends, {t}: CPU against policy append", least[t][1] / least["append"][1], "x", bar=1.3)
        for i, what in enumerate(("wall", "CPU")):
            ratios = [a[i] / b[i] for a, b in zip(took[t], took["append"])]
            figure(f"226 appends, {t}: {what} against policy append, median of turns", statistics.median(ratios), "x", bar=1.3)


def metadata_of(table):
    return max(folder(table).glob("metadata/v*.metadata.json"), key=lambda p: int(p.name[1:].split(".")[0]))


def delete_files(table):
    """(live delete files, their bytes)."""
    metadata = json.loads(metadata_of(table).read_text())
    [snapshot] = [s for s in metadata["snapshots"] if s["snapshot-id"] == metadata["current-snapshot-id"]]

    def entries(uri):
        with open(uri.removeprefix("file://"), "rb") as f:
            yield from fastavro.reader(f)

    files = [e["data_file"] for m in entries(snapshot["manifest-list"]) if m["content"] == 1
             for e in entries(m["manifest_path"]) if e["status"] != 2]
    return len(files), sum(f["content_size_in_bytes"] or f["file_size_in_bytes"] for f in files)


def timed(connection, query):
    """Milliseconds (wall, CPU of all threads)."""
    begin, cpu = time.perf_counter(), time.process_time()
    connection.execute(query).fetchall()
    return (time.perf_counter() - begin) * 1000, (time.process_time() - cpu) * 1000


def compare(name, connection, source, bars):
    """The queries on each table, which take turns: milliseconds, and against policy append. The wall clock by the least of the
    runs; CPU time by the median, which other work on the machine moves less."""
    for query, sql in QUERIES.items():
        took = {t: [] for t in TABLES}
        for _ in range(2 * RUNS + 1):
            for t in TABLES:
                took[t].append(timed(connection, sql.format(t=source(t))))
        wall = {t: min(w for w, _ in runs) for t, runs in took.items()}
        cpu = {t: statistics.median(c for _, c in runs) for t, runs in took.items()}
        for t in TABLES:
            figure(f"{name}, {query}: {t}", wall[t], "ms")
        for t in ("upsert", "vectors"):
            figure(f"{name}, {query}: {t} against policy append, wall", wall[t] / wall["append"], "x", bar=bars.get(query))
            figure(f"{name}, {query}: {t} against policy append, CPU", cpu[t] / cpu["append"], "x", bar=bars.get(query))


def main():
    shutil.rmtree(WORK / "upsert", ignore_errors=True)
    appends()
    for t in ("upsert", "vectors"):
        n, size = delete_files(t)
        figure(f"live delete files, {t}", n, "", bar=244)
        figure(f"bytes of live delete files, {t}", size / 1000, "kB", bar=350)
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for extension in ("avro", "iceberg"):
        import_extension(extension, con=connection)
    connection.execute("load iceberg")
    compare("DuckDB iceberg", connection, lambda t: f"iceberg_scan('{metadata_of(t)}')", {"one machine": 1.8, "sum of all": 1.8})
    ours = BUILD / "timelake.duckdb_extension"
    if ours.is_file():
        connection.execute(f"load '{ours}'")
        compare("our extension", connection, lambda t: f"timelake('{folder(t)}')", {q: 1.05 for q in QUERIES})
    save("upsert")


if __name__ == "__main__":
    main()
