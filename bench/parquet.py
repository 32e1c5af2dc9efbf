"""The Parquet core against Arrow C++ (pyarrow), one thread, one run, interleaved: writing, reading all columns, reading
the key columns. Data: ../shared/bench/parquet_rows.py (5 million rows, 335 MB of Arrow).

    make bench-parquet
"""
import os
import re
import subprocess
import sys

from common import BUILD, RUNS, SHARED, WORK, cpu_of, figure, interleaved, save

import pyarrow as pa
import pyarrow.parquet as pq

pa.set_cpu_count(1)
pa.set_io_thread_count(1)
DATA = WORK / "rows"
ARROW, TUNED = DATA / "rows.arrow", DATA / "tuned.parquet"


def make_data():
    if not TUNED.exists():
        DATA.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, SHARED / "bench" / "parquet_rows.py", DATA], check=True)


def ours(*args):
    out = subprocess.run([str(a) for a in args], check=True, capture_output=True, text=True).stdout
    return {m[0]: float(m[1]) for m in re.findall(r"(write|all columns|keys)\W*([0-9.]+) CPU s", out)}


def main():
    make_data()
    with pa.memory_map(str(ARROW)) as source:
        table = pa.ipc.open_file(source).read_all()
    arrow_file, our_file = DATA / "arrow.parquet", DATA / "ours.parquet"

    def arrow_write():
        pq.write_table(table, arrow_file, row_group_size=1_000_000, compression="zstd", compression_level=3,
                       write_page_index=True, use_dictionary=["machine", "status", "_ingest_ts"],
                       column_encoding={"ts": "DELTA_BINARY_PACKED", **{f"d{i}": "BYTE_STREAM_SPLIT" for i in range(4)}})

    def arrow_read(**options):
        return lambda: cpu_of(lambda: pq.read_table(TUNED, use_threads=False, pre_buffer=False, **options))[0]

    keys = dict(columns=["machine", "ts"])
    t = interleaved({
        "arrow write": lambda: cpu_of(arrow_write)[0],
        "our write": lambda: ours(BUILD / "write_bench", ARROW, our_file, "--runs", 1)["write"],
        "arrow all": arrow_read(),
        "our all": lambda: ours(BUILD / "read_bench", TUNED)["all columns"],
        "arrow keys": arrow_read(read_dictionary=["machine"], **keys),
        "our keys": lambda: ours(BUILD / "read_bench", TUNED)["keys"],
    })
    for name, value in t.items():
        figure(f"parquet: {name}", value, "CPU s")
    figure("parquet: our write / Arrow C++", t["our write"] / t["arrow write"], "x", 1.0)
    figure("parquet: our file bytes / Arrow C++", os.path.getsize(our_file) / os.path.getsize(arrow_file), "x")
    figure("parquet: our read of all columns / Arrow C++", t["our all"] / t["arrow all"], "x", 0.7)
    figure("parquet: our read of keys / Arrow C++ dictionary mode", t["our keys"] / t["arrow keys"], "x", 0.4)
    assert pq.read_table(our_file).equals(table), "our file does not read equal"
    save("parquet")


main()
