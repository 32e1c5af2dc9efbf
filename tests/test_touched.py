"""What commits tell of the times they touched, per partition and per bucket of series; the bucket is computed here by the
rule in docs/format.md alone."""
import datetime as dt
import json
import random
import struct

import pyarrow as pa

UTC = dt.timezone.utc


def bucket(values, n):
    h = 0xcbf29ce484222325
    for v in values:
        data = b"\0"
        if isinstance(v, str):
            data = b"\1" + struct.pack("<I", len(v.encode())) + v.encode()
        elif v is not None:
            data = b"\1" + struct.pack("<q", v)
        for byte in data:
            h = (h ^ byte) * 0x100000001b3 % (1 << 64)
    return (h >> 32 ^ h & 0xffffffff) % n


def summary(tl, name):
    folder = tl.lake / "default" / name / "metadata"
    newest = max(folder.glob("v*.metadata.json"), key=lambda p: int(p.name[1:].split(".")[0]))
    metadata = json.loads(newest.read_text())
    return next(s["summary"] for s in metadata["snapshots"] if s["snapshot-id"] == metadata["current-snapshot-id"])


def append(tl, rows):
    table = pa.table({"machine": pa.array([r[0] for r in rows], pa.string()), "line": pa.array([r[1] for r in rows], pa.int64()),
                      "time": pa.array([r[2] for r in rows], pa.timestamp("us", "UTC")), "v": [1.0] * len(rows)})
    tl.append("r", table, "--no-maintain")
    return summary(tl, "r")


def make_rows(n, dice):
    start = dt.datetime(2025, 1, 1, tzinfo=UTC)
    machines = [None, "", "ü"] + [f"machine-{i}" for i in range(40)]
    return [(dice.choice(machines), dice.choice([None, -1, 7]), start + dt.timedelta(microseconds=dice.randrange(3 * 86400 * 10**6)))
            for _ in range(n)]


def test_commits_tell_the_times_they_touched_per_bucket_of_series(tl):
    tl.ok("create", "r", "--schema", "machine:string,line:long,time:timestamptz,v:double", "--time-column", "time",
          "--series-key", "machine,line")
    dice = random.Random(7)
    assert "timelake.touched-buckets" not in append(tl, make_rows(50, dice))
    tl.ok("alter", "r", "--set", "touched-series-buckets=16", "--set", "memory-limit=1MiB")  # the last append spills
    for count in (1, 300, 40_000):
        rows = make_rows(count, dice)
        want = {}
        for machine, line, t in rows:
            us = (t - dt.datetime(1970, 1, 1, tzinfo=UTC)) // dt.timedelta(microseconds=1)
            key = bucket([machine, line], 16), us // 86_400_000_000
            low, high = want.get(key, (us, us))
            want[key] = min(low, us), max(high, us)
        text = append(tl, rows)["timelake.touched-buckets"]
        n, _, ranges = text.partition(";")
        assert n == "16"
        got = {}
        for part in ranges.split(","):
            b, first, last, low, high = map(int, part.split(":"))
            assert first == last
            got[b, first] = low, high
        assert got == want
        assert list(got) == sorted(got)


def test_the_number_of_buckets_has_a_limit(tl):
    tl.ok("create", "r", "--schema", "machine:string,time:timestamptz", "--time-column", "time", "--series-key", "machine")
    assert "256" in tl.fails("alter", "r", "--set", "touched-series-buckets=257")
    tl.ok("alter", "r", "--set", "touched-series-buckets=256")
