"""A random walk over one table: appends by us and by Timelake 0.7.0, late rows, rows sent again, skewed clocks, null and NaN
keys, batch ids, maintenance by both, expiry, rollback; every read against a dictionary.

TL_WALK_STEPS and TL_WALK_SEED choose length and seed; a failure prints both and the last steps.
"""
import collections
import datetime
import json
import math
import os
import random
import subprocess
import time

import pyarrow as pa
import pytest

import harness
import lakes

STEPS = int(os.environ.get("TL_WALK_STEPS", "2000"))
US = datetime.timedelta(microseconds=1)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
DAY = 86_400_000_000
T0 = 1_767_225_600_000_000
STAMP = pa.timestamp("us", "UTC")
SCHEMA = pa.schema([("site", pa.string()), ("tag", pa.float64()), pa.field("time", STAMP, nullable=False), ("v", pa.int64()), ("note", pa.string())])
STAMPED = SCHEMA.append(pa.field("_ingest_ts", STAMP))

PEER_LOOP = """
import json, sys
import pyarrow as pa, timelake
for line in sys.stdin:
    ask = json.loads(line)
    try:
        table = timelake.Lake(ask["lake"]).table("readings")
        if ask["do"] == "append":
            rows = pa.ipc.open_file(ask["rows"]).read_all()
            table.append(rows.take(pa.array(range(rows.num_rows), pa.int64())), maintain=ask["maintain"])
        else:
            table.maintain()
        answer = {"ok": True}
    except Exception as e:
        answer = {"ok": False, "error": str(e)}
    print(json.dumps(answer), flush=True)
"""


def key_of(value):
    """NaN is one key, -0.0 another than 0.0 (spec e)."""
    if isinstance(value, float):
        return ("nan",) if math.isnan(value) else (value, math.copysign(1, value))
    return value


class Model:
    """What the table must show: of each key the write with the greatest (insertion time, order of writing)."""

    def __init__(self):
        self.rows = {}     # key -> (insertion time, order, row)
        self.kept = {}     # snapshot id -> rows
        self.order = 0

    def append(self, rows, stamp):
        for row in rows:
            self.order += 1
            key = (row["site"], key_of(row["tag"]), row["time"])
            given = row.get("_ingest_ts")
            write = (stamp if given is None else given, self.order, row)
            if key not in self.rows or write[:2] >= self.rows[key][:2]:
                self.rows[key] = write

    def shown(self, wanted=lambda row: True):
        return collections.Counter(shape(w[2]) for w in self.rows.values() if wanted(w[2]))

    def newest(self):
        best = {}
        for (site, tag, t), write in self.rows.items():
            if (site, tag) not in best or t > best[site, tag]["time"]:
                best[site, tag] = write[2]
        return collections.Counter(shape(row) for row in best.values())


def shape(row):
    return (row["site"], key_of(row["tag"]), row["time"], row["v"], row["note"])


class Walk:
    def __init__(self, tl, peer_python, seed, tmp_path):
        self.tl, self.dice, self.model, self.tmp = tl, random.Random(seed), Model(), tmp_path
        self.steps, self.sent, self.count, self.batches = collections.deque(maxlen=30), [], 0, []
        self.done = collections.Counter()
        self.peer_process = subprocess.Popen([peer_python, "-c", PEER_LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        options = ["--prop", "max-snapshots=40", "--prop", "min-snapshots=20"]
        tl.create("readings", SCHEMA, "--time-column", "time", "--series-key", "site,tag", *options)

    def close(self):
        self.peer_process.stdin.close()
        self.peer_process.wait(60)
        self.peer_process.stdout.close()

    # ---- rows ----

    def row(self):
        self.count += 1
        d = self.dice
        day = d.choice([0, 0, 0, 1, 2, -20_000])  # today, late ones, one before 1970
        return {"site": d.choice(["a", "b", "", None]), "tag": d.choice([1.5, -0.0, 0.0, None, math.nan]),
                "time": T0 + day * DAY + d.randrange(24) * 600_000_000, "v": self.count, "note": d.choice(["", None, "x" * d.randrange(50)])}

    def rows(self):
        d = self.dice
        rows = [self.row() for _ in range(d.choice([1, 1, 2, 5, 30]))]
        if self.sent and d.random() < 0.3:
            rows += d.sample(self.sent, min(len(self.sent), 10))  # sent again, unchanged
        if d.random() < 0.2:
            rows += rows[:d.randrange(len(rows)) + 1]  # twice in one append
        self.sent = (self.sent + rows)[-200:]
        return rows

    def table(self, rows, schema):
        columns = [pa.array([r.get(f.name) for r in rows], pa.int64()).cast(STAMP) if pa.types.is_timestamp(f.type)
                   else pa.array([r.get(f.name) for r in rows], f.type) for f in schema]
        return pa.Table.from_arrays(columns, schema=schema)

    # ---- steps ----

    def append(self):
        rows, schema, d = [{k: v for k, v in r.items() if k != "_ingest_ts"} for r in self.rows()], SCHEMA, self.dice
        if d.random() < 0.3:  # clocks of others: days behind or ahead of ours, equal ones, unknown ones
            schema = STAMPED
            now = int(time.time()) * 1_000_000
            for r in rows:
                r["_ingest_ts"] = d.choice([None, now - d.randrange(2, 9) * DAY, now + d.randrange(2, 9) * DAY])
        extra = ["--no-maintain"] if d.random() < 0.5 else []
        twice = d.random() < 0.1
        if twice:
            self.batches.append(f"batch {self.count}")
            extra += ["--batch-id", self.batches[-1]]
        stamp = time.time_ns() // 1000
        with harness.ipc_file(self.table(rows, schema)) as path:
            self.tl.ok("append", "readings", path, *extra)
            if twice:
                assert "appended 0 rows" in self.tl.ok("append", "readings", path, *extra)
        self.model.append(rows, stamp)

    def old_batch(self):
        """Sent again long after: its snapshot may have expired, its id is remembered."""
        if self.batches:
            with harness.ipc_file(self.table([self.row()], SCHEMA)) as path:
                assert "appended 0 rows" in self.tl.ok("append", "readings", path, "--batch-id", self.dice.choice(self.batches))

    def peer(self, do, **more):
        self.peer_process.stdin.write(json.dumps({"do": do, "lake": str(self.tl.lake), **more}) + "\n")
        self.peer_process.stdin.flush()
        answer = json.loads(self.peer_process.stdout.readline())
        assert answer["ok"], answer["error"]

    def peer_append(self):
        rows = [{k: v for k, v in r.items() if k != "_ingest_ts"} for r in self.rows()]
        # within one append 0.7.0 keeps the last of equal keys, as we do
        stamp = time.time_ns() // 1000
        with harness.ipc_file(self.table(rows, SCHEMA)) as path:
            self.peer("append", rows=path, maintain=self.dice.random() < 0.5)
        self.model.append(rows, stamp)

    def peer_maintain(self):
        self.peer("maintain")

    def maintain(self):
        self.tl.ok("maintain", "readings")

    def remember(self):
        """The current snapshot, which after a rollback is not the newest."""
        metadata = json.loads(lakes.metadata_file(self.tl.table_dir("readings")).read_text())
        if metadata.get("current-snapshot-id", -1) != -1:  # there is none before the first append
            self.model.kept[str(metadata["current-snapshot-id"])] = dict(self.model.rows)

    def roll_back(self):
        """To a snapshot that is still kept; ids of batches after it may be used again."""
        kept = {s["id"] for s in self.tl.info("readings")["snapshots"]} & set(self.model.kept)
        if kept:
            to = self.dice.choice(sorted(kept))
            self.tl.ok("rollback", "readings", to)
            self.model.rows = dict(self.model.kept[to])
            self.batches.clear()

    # ---- reads ----

    def read(self):
        """All rows, or those that pass a filter on keys, on time or on values: old values must not come back."""
        d, m = self.dice, self.model
        low = T0 + d.choice([0, 0, 1, -20_000]) * DAY + d.randrange(24) * 600_000_000
        high, v = low + d.randrange(1, 12) * 600_000_000, d.randrange(self.count + 1)
        site = d.choice(["a", "b", ""])
        condition, wanted = d.choice([
            ("true", lambda r: True), (f"v >= {v}", lambda r: r["v"] >= v), (f"v < {v}", lambda r: r["v"] < v),
            (f"epoch_us(time) >= {low} and epoch_us(time) < {high}", lambda r: low <= r["time"] < high),
            (f"time >= make_timestamptz({low}) and time < make_timestamptz({high})", lambda r: low <= r["time"] < high),
            (f"site = '{site}'", lambda r: r["site"] == site), ("site is null and tag is null", lambda r: r["site"] is None and r["tag"] is None),
            ("isnan(tag)", lambda r: r["tag"] is not None and math.isnan(r["tag"])), ("note is null", lambda r: r["note"] is None),
            (f"site = '{site}' and time >= make_timestamptz({low}) and v > {v}", lambda r: r["site"] == site and r["time"] >= low and r["v"] > v),
        ])
        strategy = d.choice(["auto", "keys-first", "merge"])
        got = self.tl.sql(f"select * exclude (time), epoch_us(time) as time from readings where {condition}", "--set", f"read-dedup-strategy={strategy}")
        self.equal(got, m.shown(wanted), condition)
        if condition == "true":
            [row] = self.tl.sql("select count(*) as n, sum(v) as s from readings").to_pylist()
            assert row["n"] == len(m.rows) and (row["s"] or 0) == sum(w[2]["v"] for w in m.rows.values())

    def latest(self):
        got = harness.read_arrow(self.tl.ok("latest", "readings", "--format", "arrow", binary=True))
        self.equal(got.set_column(got.schema.get_field_index("time"), "time", got["time"].cast(pa.int64())), self.model.newest(), "latest")

    def equal(self, got, expected, what):
        seen = collections.Counter(shape(row) for row in got.to_pylist())
        assert seen == expected, f"{what}: too many {list((seen - expected).items())[:5]}, missing {list((expected - seen).items())[:5]}"

    def check(self):
        self.equal(self.tl.sql("select * exclude (time), epoch_us(time) as time from readings"), self.model.shown(), "all")
        self.latest()

    def run(self, steps):
        choices = [(self.append, 50), (self.read, 20), (self.peer_append, 8), (self.latest, 5), (self.remember, 4), (self.old_batch, 2),
                   (self.roll_back, 1), (self.peer_maintain, 2), (self.maintain, 4)]
        names, weights = zip(*choices)
        for n in range(steps):
            do = self.dice.choices(names, weights)[0]
            self.steps.append(f"{n} {do.__name__}")
            self.done[do.__name__] += 1
            do()
        self.check()


def test_every_read_shows_the_last_writes(tl, peer, tmp_path):
    seed = int(os.environ.get("TL_WALK_SEED") or random.randrange(2**32))
    walk = Walk(tl, peer.python, seed, tmp_path)
    try:
        walk.run(STEPS)
    except Exception as e:
        raise AssertionError(f"TL_WALK_SEED={seed} TL_WALK_STEPS={STEPS}, after {', '.join(walk.steps)}: {e}") from e
    finally:
        walk.close()
    print(f"seed {seed}: {dict(walk.done)}, {len(walk.model.rows)} keys")
