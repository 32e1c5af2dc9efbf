"""Timelake 0.7.0 and this one share tables: whoever creates, appends or maintains, both see the same rows, raw and
without older copies, and the same newest row of each series.

The rows that must be there come from a plain model: a list of what was appended. One thing 0.7.0 does wrong and is
allowed here: with null or NaN keys in files of its own it shows older copies until it has compacted them.
"""
import datetime
import json
import math
import random
import struct

import pyarrow as pa
import pytest

import lakes

T0 = datetime.datetime(2026, 3, 1, 21, tzinfo=datetime.timezone.utc)
SCHEMA = pa.schema([
    pa.field("site", pa.string()),
    pa.field("time", pa.timestamp("us", "UTC")),
    pa.field("line", pa.int32()),
    pa.field("tag", pa.float64()),
    pa.field("v", pa.float64()),
    pa.field("note", pa.string()),
])
COLUMNS = SCHEMA.names

# name -> (series key, chunk, options of the command, options of 0.7.0, keeps one row per key)
CONTRACTS = {
    "day": (["site"], "day", [], {}, True),
    "hour, two keys": (["site", "line"], "hour", [], {}, True),
    "month, three keys": (["tag", "line", "site"], "month", [], {}, True),
    "float key": (["tag"], "day", [], {}, True),
    "no key": ([], "day", [], {}, False),
    "dedup off": (["site"], "day", ["--no-dedup"], {"dedup": False}, False),
    "no insertion time": (["site", "line"], "day", ["--no-ingest-time"], {"ingest_time": False}, True),
    "no insertion time, dedup off": (["site"], "hour", ["--no-ingest-time", "--no-dedup"], {"ingest_time": False, "dedup": False}, False),
}


def key_of(value):
    """Keys as both systems compare them: NaN equals NaN, -0.0 differs from 0.0, nulls are equal."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack("<d", value)
    return value


def order_of(value):
    """null first, then by value; NaN last, -0.0 before 0.0."""
    if value is None:
        return (0, 0, 0)
    if isinstance(value, float):
        return (2, 0, 0) if math.isnan(value) else (1, value, math.copysign(1, value))
    return (1, value, 0)


class Model:
    """All that was appended, in order; `inside` keeps the last of equal keys inside one append, as both writers do."""

    def __init__(self, series, dedup):
        self.series, self.dedup, self.raw = series, dedup, []

    def key(self, row):
        return tuple(key_of(row[c]) for c in [*self.series, "time"])

    def last(self, rows):
        return list({self.key(r): r for r in rows}.values()) if self.dedup else list(rows)

    def append(self, rows):
        self.raw += self.last(rows)

    def table(self, rows):
        return pa.Table.from_pylist(rows, schema=SCHEMA)

    def clean(self):
        return self.table(self.last(self.raw))

    def compact(self):
        self.raw = self.last(self.raw)

    def newest(self):
        best = {}
        for row in self.raw:
            series = tuple(key_of(row[c]) for c in self.series)
            if series not in best or row["time"] >= best[series]["time"]:
                best[series] = row
        return self.table(sorted(best.values(), key=lambda r: [order_of(r[c]) for c in self.series]))


def some_rows(dice, n, nulls):
    """Few keys and few times, so that most rows have been written before."""
    gaps = [None] if nulls else []
    return [{
        "site": dice.choice(["a", "b", "länger als sonst", *gaps]),
        "time": T0 + datetime.timedelta(minutes=30 * dice.randrange(16)),
        "line": dice.choice([1, 2, *gaps]),
        "tag": dice.choice([1.5, -0.0, 0.0, *gaps, *([math.nan] if nulls else [])]),
        "v": dice.choice([dice.random(), math.nan, -0.0, None]),
        "note": dice.choice(["", "x" * dice.randrange(40), None]),
    } for _ in range(n)]


class Both:
    """One table, two systems, one model."""

    def __init__(self, tl, peer, contract, nulls, seed):
        self.tl, self.peer, self.lake, self.nulls = tl, peer, tl.lake, nulls
        self.series, self.chunk, self.flags, self.options, dedup = CONTRACTS[contract]
        self.model, self.dice = Model(self.series, dedup), random.Random(seed)
        self.peer_hides = True  # whether 0.7.0 can know all older copies

    def create(self, who):
        if who == "timelake":
            key = ["--series-key", ",".join(self.series)] if self.series else []
            self.tl.create("readings", SCHEMA, "--time-column", "time", "--chunk", self.chunk, *key, *self.flags)
        else:
            self.peer.create(self.lake, "readings", SCHEMA, time_column="time", series_key=self.series or None,
                             chunk=self.chunk, **self.options)

    def append(self, who, n=40):
        rows = some_rows(self.dice, n, self.nulls)
        self.model.append(rows)
        if who == "timelake":
            self.tl.append("readings", self.model.table(rows), "--no-maintain")
        else:
            self.peer.append(self.lake, "readings", self.model.table(rows))
            self.peer_hides = self.peer_hides and not self.nulls
        self.check()

    def maintain_by_peer(self):
        self.peer.maintain(self.lake, "readings")
        self.model.compact()
        self.peer_hides = True
        self.check()

    def check(self):
        m = self.model
        raw, clean, newest = m.table(m.raw), m.clean(), m.newest()
        lakes.same(lakes.timelake(self.tl, "readings"), clean, key=COLUMNS, columns=COLUMNS)
        lakes.same(lakes.timelake(self.tl, "readings", dedup=False), raw, key=COLUMNS, columns=COLUMNS)
        lakes.same(lakes.read_latest(self.tl, "readings"), newest, key=None, columns=COLUMNS)
        lakes.same(lakes.c_api(self.lake, "readings"), clean, key=COLUMNS, columns=COLUMNS)
        lakes.same(lakes.c_api(self.lake, "readings", "copies"), raw, key=COLUMNS, columns=COLUMNS)
        assert self.tl.info("readings")["rows"] == len(m.raw)
        peer = lakes.peer_views(self.peer, self.lake, "readings")
        if self.peer_hides:
            lakes.same(peer.clean, clean, key=COLUMNS, columns=COLUMNS)
        lakes.same(peer.raw, raw, key=COLUMNS, columns=COLUMNS)
        lakes.same(peer.latest, newest, key=None, columns=COLUMNS)
        assert peer.info["rows"] == len(m.raw)


@pytest.fixture
def both(tl, peer, request):
    def make(contract, nulls):
        return Both(tl, peer, contract, nulls, seed=f"{contract} {nulls}")
    return make


@pytest.mark.parametrize("nulls", [False, True], ids=["full keys", "null keys"])
@pytest.mark.parametrize("contract", CONTRACTS)
def test_our_table_is_read_appended_to_and_maintained_by_the_peer_and_we_go_on(both, contract, nulls):
    b = both(contract, nulls)
    b.create("timelake")
    b.append("timelake")
    b.append("timelake", 25)
    b.append("peer")
    b.append("timelake")
    b.maintain_by_peer()
    b.append("timelake")
    b.append("peer", 1)
    b.append("timelake", 1)


@pytest.mark.parametrize("nulls", [False, True], ids=["full keys", "null keys"])
@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_table_of_the_peer_is_read_and_appended_to_by_us_and_it_goes_on(both, contract, nulls):
    b = both(contract, nulls)
    b.create("peer")
    b.append("peer")
    b.append("peer", 25)
    b.append("timelake")
    b.append("peer")
    b.append("timelake", 1)
    b.maintain_by_peer()
    b.append("timelake")


def test_dedup_without_a_series_key_goes_by_time_alone(tl, peer):
    schema = pa.schema([pa.field("time", pa.timestamp("us", "UTC")), pa.field("v", pa.int64())])
    peer.create(tl.lake, "readings", schema, time_column="time", dedup=True)
    rows = [pa.table({"time": [T0, T0 + datetime.timedelta(hours=h)], "v": [h, 10 * h]}, schema=schema) for h in (1, 2, 1)]
    peer.append(tl.lake, "readings", rows[0])
    tl.append("readings", rows[1])
    peer.append(tl.lake, "readings", rows[2])
    expected = pa.table({"time": [T0, T0 + datetime.timedelta(hours=1), T0 + datetime.timedelta(hours=2)], "v": [1, 10, 20]}, schema=schema)
    lakes.same(tl.sql("select time, v from readings"), expected, key=["time"])
    lakes.same(lakes.peer(peer, tl.lake, "readings"), expected, key=["time"], columns=["time", "v"])
    for latest in (lakes.read_latest(tl, "readings"), peer.latest(tl.lake, "readings")):
        lakes.same(latest, expected.slice(2), columns=["time", "v"])


def test_a_supplied_insertion_time_decides_in_both(tl, peer):
    schema = pa.schema([pa.field("site", pa.string()), pa.field("time", pa.timestamp("us", "UTC")), pa.field("v", pa.int64()),
                        pa.field("_ingest_ts", pa.timestamp("us", "UTC"))])
    tl.create("readings", pa.schema([f for f in schema if f.name != "_ingest_ts"]), "--time-column", "time", "--series-key", "site")

    def row(v, ingest_minute):
        return pa.table({"site": ["a"], "time": [T0], "v": [v], "_ingest_ts": [T0 + datetime.timedelta(minutes=ingest_minute)]}, schema=schema)

    def both_see(v):
        assert tl.sql("select v from readings").to_pylist() == [{"v": v}]
        assert lakes.peer(peer, tl.lake, "readings").column("v").to_pylist() == [v]
        assert lakes.read_latest(tl, "readings").column("v").to_pylist() == peer.latest(tl.lake, "readings").column("v").to_pylist() == [v]

    tl.append("readings", row(1, 10))
    both_see(1)
    peer.append(tl.lake, "readings", row(2, 5))   # written later, but inserted earlier: loses
    both_see(1)
    tl.append("readings", row(3, 10))             # the same insertion time: the later commit wins
    both_see(3)
    peer.append(tl.lake, "readings", row(4, 20))
    both_see(4)
    tl.append("readings", row(5, 15))
    both_see(4)
    peer.maintain(tl.lake, "readings")
    both_see(4)


def test_null_and_nan_keys_beside_other_keys_are_hidden_by_the_peer_too(tl, peer):
    """0.7.0 takes files for disjoint by their bounds, which leave nulls and NaN out; we write none for such key columns."""
    for name, kind, odd, keys in (("nulls", pa.string(), None, ["a", "b"]), ("nans", pa.float64(), math.nan, [1.0, 2.0])):
        schema = pa.schema([pa.field("k", kind), pa.field("time", pa.timestamp("us", "UTC")), pa.field("v", pa.int64())])
        tl.create(name, schema, "--time-column", "time", "--series-key", "k")
        for v, key in enumerate(keys):
            tl.append(name, pa.table({"k": pa.array([odd, key], kind), "time": [T0, T0], "v": [v, v]}, schema=schema), "--no-maintain")
        expected = pa.table({"k": pa.array([odd, *keys], kind), "time": [T0] * 3, "v": [1, 0, 1]}, schema=schema)
        for rows in (lakes.timelake(tl, name), lakes.peer(peer, tl.lake, name), lakes.read_latest(tl, name), peer.latest(tl.lake, name)):
            lakes.same(rows, expected, key=["k"], columns=["k", "time", "v"])


def test_a_plain_table_keeps_every_row_of_both(tl, peer):
    schema = pa.schema([pa.field("n", pa.int64()), pa.field("s", pa.string())])
    first, second = pa.table({"n": [1, 1, None], "s": ["a", "a", None]}), pa.table({"n": [1, 2], "s": ["a", "b"]})
    for name, creator, writers in (("ours", "timelake", "tp"), ("theirs", "peer", "pt")):
        if creator == "timelake":
            tl.create(name, schema)
        else:
            peer.create(tl.lake, name, schema)
        for who, rows in zip(writers, (first, second)):
            if who == "t":
                tl.append(name, rows)
            else:
                peer.append(tl.lake, name, rows)
        for rows in (lakes.timelake(tl, name), lakes.peer(peer, tl.lake, name)):
            lakes.same(rows, pa.concat_tables([first, second]), key=["n", "s"])
        peer.maintain(tl.lake, name)
        lakes.same(lakes.timelake(tl, name), pa.concat_tables([first, second]), key=["n", "s"])


def test_batch_ids_are_known_to_both(tl, peer):
    tl.create("readings", SCHEMA, "--time-column", "time", "--series-key", "site", "--no-dedup")
    rows = pa.Table.from_pylist(some_rows(random.Random(3), 5, False), schema=SCHEMA)
    tl.append("readings", rows, "--batch-id", "ours", "--rows-per-commit", "0")
    [ours] = snapshot_batch_ids(tl, "readings")
    assert ours.startswith("ours")  # the command appends -<n> for its n-th commit
    assert peer.append(tl.lake, "readings", rows, batch_id=ours)["duplicate"] is True
    peer.append(tl.lake, "readings", rows, batch_id="theirs-0")
    said = tl.append("readings", rows, "--batch-id", "theirs", "--rows-per-commit", "0")
    tl.append("readings", rows, "--batch-id", "ours", "--rows-per-commit", "0")
    assert tl.info("readings")["rows"] == 10, said
    assert peer.info(tl.lake, "readings")["rows"] == 10


def metadata(tl, name):
    return json.loads(lakes.metadata_file(tl.table_dir(name)).read_text())


def snapshot_batch_ids(tl, name):
    return [s["summary"]["timelake.batch-id"] for s in metadata(tl, name)["snapshots"] if "timelake.batch-id" in s["summary"]]


def test_rollback_and_settings_are_seen_by_both(tl, peer):
    tl.create("readings", SCHEMA, "--time-column", "time", "--series-key", "site")
    dice = random.Random(4)
    first, second = (pa.Table.from_pylist(some_rows(dice, 12, False), schema=SCHEMA) for _ in range(2))
    tl.append("readings", first)
    before = lakes.timelake(tl, "readings")
    snapshot = tl.info("readings")["snapshots"][0]["id"]
    peer.append(tl.lake, "readings", second)
    tl.ok("rollback", "readings", snapshot)
    for rows in (lakes.timelake(tl, "readings"), lakes.peer(peer, tl.lake, "readings")):
        lakes.same(rows, before, key=["site", "time"])
    peer("t = timelake.Lake(args['lake']).table('readings')\nt.set_properties({'timelake.read-dedup': 'false'})", lake=str(tl.lake))
    tl.append("readings", first)
    assert lakes.timelake(tl, "readings").num_rows == lakes.peer(peer, tl.lake, "readings", dedup=False).num_rows > before.num_rows
    tl.ok("alter", "readings", "--unset", "read-dedup")
    for rows in (lakes.timelake(tl, "readings"), lakes.peer(peer, tl.lake, "readings")):
        lakes.same(rows, before, key=["site", "time"], columns=COLUMNS)
    tl.ok("alter", "readings", "--set", "retention=730d", "--set", "row-group-rows=1000")
    assert metadata(tl, "readings")["properties"]["timelake.retention"] == "730d"
    tl.append("readings", second)
    peer("t = timelake.Lake(args['lake']).table('readings')\nt.upgrade()", lake=str(tl.lake))
    assert lakes.timelake(tl, "readings").num_rows == lakes.peer(peer, tl.lake, "readings").num_rows


def test_both_list_and_drop_each_others_tables(tl, peer):
    schema = pa.schema([pa.field("n", pa.int64())])
    tl.create("ours", schema)
    tl.create("iot.ours", schema)
    peer.create(tl.lake, "theirs", schema)
    everything = ["default.ours", "default.theirs", "iot.ours"]
    assert tl.ok("ls").split() == everything
    assert sorted(peer("result = timelake.Lake(args['lake']).tables()", lake=str(tl.lake))) == everything
    tl.ok("drop", "theirs", "--yes")
    peer("timelake.Lake(args['lake']).drop_table('iot.ours')", lake=str(tl.lake))
    assert tl.ok("ls").split() == ["default.ours"]
    assert peer("result = timelake.Lake(args['lake']).tables()", lake=str(tl.lake)) == ["default.ours"]


def test_twenty_commits_of_each_in_turn_lose_nothing(tl, peer):
    """Through manifest merges, heads and last-value indexes of both, with inline maintenance on."""
    tl.create("readings", SCHEMA, "--time-column", "time", "--series-key", "site,line")
    model, dice = Model(["site", "line"], True), random.Random(5)
    for i in range(20):
        for who in ("timelake", "peer"):
            rows = some_rows(dice, 7, False)
            model.append(rows)
            if who == "timelake":
                tl.append("readings", model.table(rows))
            else:
                peer.append(tl.lake, "readings", model.table(rows), maintain=True)
        if i % 5 == 4:
            for rows in (lakes.timelake(tl, "readings"), lakes.peer(peer, tl.lake, "readings")):
                lakes.same(rows, model.clean(), key=COLUMNS, columns=COLUMNS)
            for rows in (lakes.read_latest(tl, "readings"), peer.latest(tl.lake, "readings")):
                lakes.same(rows, model.newest(), columns=COLUMNS)
