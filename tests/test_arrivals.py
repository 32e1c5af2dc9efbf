"""arrivals: how late rows come, against DuckDB's quantiles over the same rows."""
import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

SCHEMA = "site:string,machine:int,time:timestamptz,v:double"


def make(tl, *options, schema=SCHEMA):
    tl.ok("create", "r", "--schema", schema, "--time-column", "time", "--series-key", "site,machine", *options)


def send(tl, rows):
    """rows: (site, machine, time, insertion time)."""
    text = "site,machine,time,_ingest_ts\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    tl.ok("append", "r", "-", "--format", "csv", "--no-maintain", stdin=text)


def hour(h, minute=0, day=1):
    return f"2026-01-{day + h // 24:02d}T{h % 24:02d}:{minute:02d}:00Z"


def near(got, exact):
    """Quantiles are at most 1/32 too high, never too low."""
    return exact <= got <= exact + abs(exact) / 32


def test_delays_overall(tl):
    make(tl)
    # 98 rows come 10 minutes after their time, one a day and one three days after its slot.
    send(tl, [("a", 1, hour(0, i % 60), hour(0, i % 60)) for i in range(48)] + [("a", 2, hour(1, i), hour(1, i + 10)) for i in range(50)])
    send(tl, [("b", 1, hour(0), hour(0, day=2)), ("b", 2, hour(0), hour(12, day=5))])
    got = json.loads(tl.ok("arrivals", "r", "--json"))
    minute = 60_000_000
    assert (got["rows"], got["series"], got["unknown_rows"], got["slot_us"]) == (100, 4, 0, 1440 * minute)
    assert got["least_us"] == 0 and got["greatest_us"] == (4 * 24 + 12) * 60 * minute
    assert near(got["p50_us"], 10 * minute) and near(got["p90_us"], 10 * minute) and near(got["p99_us"], 1440 * minute)
    assert got["late_rows"] == 1  # a day is not more than a day
    assert got["open_us"] == 0  # the row of the day after came as its slot ended
    got = json.loads(tl.ok("arrivals", "r", "--json", "--cover", "100"))
    assert near(got["open_us"], (3 * 24 + 12) * 60 * minute)
    got = json.loads(tl.ok("arrivals", "r", "--json", "--slot", "1h"))
    assert got["slot_us"] == 60 * minute and got["late_rows"] == 2 and near(got["open_us"], 23 * 60 * minute)
    text = tl.ok("arrivals", "r")
    assert text.splitlines()[0] == "default.r: 100 rows of 4 series"
    assert "greatest 4d 12h" in text and "1 rows (1.00 %) came more than a slot (1d) after their time" in text
    assert "a slot can close at its end: 99 % of the rows are in by then" in text


def test_each_series_the_latest_first(tl):
    make(tl)
    send(tl, [("b", 2, hour(0), hour(5)), ("a", 1, hour(0), hour(1)), ("a", 2, hour(0), hour(1)), ("", 1, hour(0), hour(30))])
    rows = [json.loads(line) for line in tl.ok("arrivals", "r", "--series", "--json").splitlines()]
    assert [(r["site"], r["machine"], r["rows"]) for r in rows] == [(None, 1, 1), ("b", 2, 1), ("a", 1, 1), ("a", 2, 1)]
    assert [r["greatest_us"] // 3_600_000_000 for r in rows] == [30, 5, 1, 1]
    assert rows[0]["late_rows"] == 1 and near(rows[0]["open_us"], 6 * 3_600_000_000)
    header = tl.ok("arrivals", "r", "--series", "--format", "csv").splitlines()[0]
    assert header == "site,machine,rows,least_us,p50_us,p90_us,p99_us,greatest_us,late_rows,open_us"


def test_every_copy_counts_and_times_can_be_chosen(tl):
    make(tl)
    send(tl, [("a", 1, hour(h), hour(h)) for h in range(48)])
    send(tl, [("a", 1, hour(h), hour(h, day=4)) for h in range(48)])  # sent again
    assert json.loads(tl.ok("arrivals", "r", "--json"))["rows"] == 96
    got = json.loads(tl.ok("arrivals", "r", "--json", "--from", "2026-01-02T00:00:00Z"))
    assert got["rows"] == 48 and got["late_rows"] == 24
    got = json.loads(tl.ok("arrivals", "r", "--json", "--from", "2026-01-01", "--to", "2026-01-01T06:00:00Z"))
    assert got["rows"] == 12


def test_clocks_that_are_ahead(tl):
    make(tl)
    send(tl, [("a", 1, hour(5), hour(4))])
    got = json.loads(tl.ok("arrivals", "r", "--json"))
    assert got["least_us"] == got["greatest_us"] == -3_600_000_000 and got["p50_us"] == -3_600_000_000
    assert "least -1h, p50 -1h" in tl.ok("arrivals", "r")


@pytest.mark.parametrize("arguments, message", [
    (["--slot", "soon"], '--slot: "soon" is not a length of time like 15m, 1h or 1d'),
    (["--slot", "0s"], '--slot: "0s" is not a length of time'), (["--cover", "101"], '--cover: "101" is not a share in percent'),
    (["--cover", "nan"], '--cover: "nan" is not a share in percent'), (["--from", "noon"], '--from: "noon" is not a time like'),
    (["--format", "csv"], "--format is for --series")])
def test_wrong_usage(tl, arguments, message):
    make(tl)
    assert message in tl.fails("arrivals", "r", *arguments, rc=2)


def test_tables_that_do_not_say(tl):
    make(tl, "--no-ingest-time")
    assert "does not keep when rows came" in tl.fails("arrivals", "r")
    tl.ok("create", "plain", "--schema", "a:int")
    assert "has no time column" in tl.fails("arrivals", "plain")
    assert "other" in tl.fails("arrivals", "other")


def test_an_empty_table(tl):
    make(tl)
    assert tl.ok("arrivals", "r") == "default.r: 0 rows of 0 series\n"
    assert json.loads(tl.ok("arrivals", "r", "--json"))["rows"] == 0
    assert tl.ok("arrivals", "r", "--series", "--json") == ""


def test_random_delays_as_a_sorted_list_counts_them(tl, tmp_path):
    """Delays of every size, in several appends, against exact quantiles."""
    import random
    seed = random.randrange(2**32)
    print("seed", seed)
    dice = random.Random(seed)
    make(tl)
    t0 = 1_767_225_600_000_000
    delays = []
    for _ in range(5):
        rows = []
        for i in range(4000):
            t = t0 + dice.randrange(5 * 86_400_000_000)
            d = int(10 ** dice.uniform(0, 11)) * dice.choice([1, 1, 1, -1])
            rows.append((dice.choice(["a", "b", None]), dice.randrange(4), t, t + d))
        table = pa.table({"site": [r[0] for r in rows], "machine": pa.array([r[1] for r in rows], pa.int32()),
                          "time": pa.array([r[2] for r in rows], pa.timestamp("us", "UTC")),
                          "_ingest_ts": pa.array([r[3] for r in rows], pa.timestamp("us", "UTC"))})
        pq.write_table(table, tmp_path / "x.parquet")
        tl.ok("append", "r", tmp_path / "x.parquet", "--no-maintain")
    kept = tl.sql("select epoch_us(_ingest_ts) - epoch_us(time) as d, (epoch_us(time) // 3600000000 + 1) * 3600000000 as slot_end, "
                  "epoch_us(_ingest_ts) as arrived from r", "--set", "read-dedup=false").to_pylist()
    delays = sorted(r["d"] for r in kept)
    overdue = sorted(max(0, r["arrived"] - r["slot_end"]) for r in kept)
    got = json.loads(tl.ok("arrivals", "r", "--json", "--slot", "1h", "--cover", "95"))
    n = len(delays)
    assert got["rows"] == n and got["series"] == 12

    def at(values, q):
        return values[math.ceil(q * n) - 1]

    assert near(got["p50_us"], at(delays, .5)) and near(got["p90_us"], at(delays, .9)) and near(got["p99_us"], at(delays, .99))
    assert (got["least_us"], got["greatest_us"]) == (delays[0], delays[-1])
    assert got["late_rows"] == sum(d > 3_600_000_000 for d in delays)
    assert near(got["open_us"], at(overdue, .95))
