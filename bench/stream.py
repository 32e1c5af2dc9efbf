"""One append of 100,000,000 distinct readings (6.3 GB of Arrow, made a batch at a time) with memory-limit 512 MiB: the most
memory that the process had. Takes minutes and about 5 GB of disk for a while.

    make bench-stream
"""
import re
import shutil

from common import BUILD, WORK, figure, program, save

ROWS, LIMIT = 100_000_000, 512 << 20


def main():
    lake = WORK / "stream"
    shutil.rmtree(lake, ignore_errors=True)
    lake.mkdir(parents=True)
    _, _, _, out = program([BUILD / "stream_bench", lake, ROWS, LIMIT])
    m = re.search(r"(\d+) rows in, (\d+) written, (\d+) files, ([0-9.]+) MB, cpu ([0-9.]+) wall ([0-9.]+), peak RSS (\d+)", out)
    rows, written, files, size, cpu, wall, rss = (float(x) for x in m.groups())
    shutil.rmtree(lake)
    assert rows == ROWS
    figure("stream: rows written", written / 1e6, "million")
    figure("stream: bytes", size, "MB")
    figure("stream: CPU", cpu, "s")
    figure("stream: rows/s", rows / wall / 1e6, "million")
    figure("stream: peak RSS with memory-limit 512 MiB", rss, "MB", 900)
    save("stream")


main()
