"""Data files that go away while a query reads them, that are missing, or that were cut short: through `timelake sql`, through
a program that reads by the C API, and through the extension. A query gives every row or fails and names a file."""
import subprocess
import time

import numpy as np
import pyarrow as pa
import pytest

import harness
import lakes
from test_extension import extension, host  # noqa: F401 (fixtures)

FILES, ROWS = 24, 20_000
T0, DAY = 1_735_689_600_000_000, 86_400_000_000
PATIENCE = 300
QUERY = "select machine, time, v from r"


def rows_of(b):
    """A batch: values that compress badly, so that a query over all files does not fit in what pipes and readers buffer. Every
    third batch sends a row of each machine of the one before again."""
    dice = np.random.default_rng(b)
    machine = np.arange(ROWS) % 50
    t = T0 + (b % 2) * DAY + (b * ROWS + np.arange(ROWS)) * 1000
    if b % 3 == 2:
        t[:50] = t[:50] - 2 * ROWS * 1000
    return pa.table({"machine": pa.array([f"machine-{m:02d}" for m in machine]), "time": pa.array(t, pa.timestamp("us", "UTC")),
                     "v": dice.random(ROWS)})


def keys(table):
    return set(zip(table["machine"].to_pylist(), table["time"].cast(pa.int64()).to_pylist()))


@pytest.fixture
def filled(tl):
    batches = [rows_of(b) for b in range(FILES)]
    tl.create("r", batches[0].schema, "--time-column", "time", "--series-key", "machine")
    tl.ok("alter", "r", "--set", "auto-maintain=false", "--set", "durability=none", "--set", "snapshot-retention=0s", "--set", "min-snapshots=1")
    for table in batches:
        tl.append("r", table)
    tl.keys = set().union(*(keys(t) for t in batches))
    return tl


def data_files(tl):
    return sorted((tl.table_dir("r") / "data").rglob("*.parquet"))


def expire_all(tl):
    """Maintenance after which none of the files is there any more that a query before it reads."""
    old = data_files(tl)
    tl.ok("maintain", "r")
    left = [f.name for f in old if f.exists()]
    assert not left, f"still there: {left}"
    return [f.name for f in old]


def judge(rows, error, tl, old):
    """All rows, or one line that names one of the files."""
    if error is None:
        assert len(rows) == len(tl.keys) and keys(rows) == tl.keys
    else:
        assert any(name in error for name in old), error
        assert "pending query" not in error, error
    return error is None


class Door:
    """A reader in a process of its own that has begun to give rows and waits for someone to take more."""

    def __init__(self, argv, env):
        self.process = subprocess.Popen(list(map(str, argv)), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.head = self.process.stdout.read(1 << 16)
        assert self.head, self.process.communicate(timeout=PATIENCE)[1].decode()

    def finish(self):
        out, err = self.process.communicate(timeout=PATIENCE)
        if self.process.returncode == 0:
            return harness.read_arrow(self.head + out), None
        lines = err.decode().strip().splitlines()
        assert self.process.returncode == 1 and len(lines) == 1, err
        return None, lines[0]


def doors(tl):
    return {"sql": lambda: Door(tl.argv("sql", QUERY, "--format", "arrow"), tl.env), "c": lambda: Door([lakes.SCAN_DUMP, tl.lake, "r"], tl.env)}


@pytest.mark.parametrize("door", ["sql", "c"])
def test_a_snapshot_that_expires_under_a_query(filled, door):
    reading = doors(filled)[door]()
    old = expire_all(filled)
    rows, error = reading.finish()
    judge(rows, error, filled, old)
    assert len(filled.sql(QUERY)) == len(filled.keys), "and the next query sees all"


def test_a_snapshot_that_expires_under_a_query_of_the_extension(host, filled):  # noqa: F811
    go, begun = host.tmp / "go", host.tmp / "begun"
    process = host.start("""
con = connect()
con.execute("set threads = 1")
con.execute(f"select machine, epoch_us(time), v from timelake('{args['table']}')")
rows = con.fetchmany(1000)
open(args["begun"], "w").close()
while not os.path.exists(args["go"]):
    time.sleep(0.01)
try:
    while more := con.fetchmany(10000):
        rows += more
    result = [len(rows), len({r[:2] for r in rows}), None]
except duckdb.Error as e:
    result = [len(rows), 0, str(e)]
""", table=filled.table_dir("r"), go=go, begun=begun)
    while not begun.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    old = expire_all(filled)
    go.touch()
    n, n_keys, error = host.finish(process)
    if error is None:
        assert n == n_keys == len(filled.keys)
    else:
        assert any(name in error for name in old), error
    script = "con = connect()\nresult = one(con, f\"select count(*) from timelake('{args['table']}')\")[0]"
    assert host(script, table=filled.table_dir("r")) == len(filled.keys)


# ---- files that are not there, or not whole ---------------------------------------------------------------------------

@pytest.fixture
def three(tl):
    """Small files, a day each, so that no file needs another one to be read."""
    for b in range(3):
        table = rows_of(b).slice(0, 1000)
        table = table.set_column(1, "time", pa.array(T0 + b * DAY + np.arange(1000) * 1000, pa.timestamp("us", "UTC")))
        if b == 0:
            tl.create("r", table.schema, "--time-column", "time", "--series-key", "machine")
        tl.append("r", table, "--no-maintain")
    return tl


def damage(path, how):
    data = path.read_bytes()
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(data[:{"half": len(data) // 2, "footer": len(data) - 8, "empty": 0}[how]])


@pytest.mark.parametrize("how", ["missing", "half", "footer", "empty"])
def test_no_door_gives_fewer_rows(three, how):
    victim = data_files(three)[1]
    damage(victim, how)
    for query in (QUERY, "select count(v) n from r", "select max(v) m from r where machine = 'machine-07'",
                  "select * from r order by time limit 2000"):
        assert victim.name in three.fails("sql", query), query
    for strategy in ("auto", "keys-first", "merge"):
        with pytest.raises(AssertionError) as e:
            lakes.c_api(three.lake, "r", f"strategy={strategy}")
        assert victim.name in str(e.value), strategy


@pytest.mark.parametrize("how", ["missing", "half", "footer", "empty"])
def test_the_extension_gives_no_fewer_rows(host, three, how):  # noqa: F811
    victim = data_files(three)[1]
    damage(victim, how)
    script = """
con = connect()
ours = f"timelake('{args['table']}'"
result = [fails(con, sql) for sql in (
    f"from {ours})", f"select count(v) from {ours})", f"select max(v) from {ours}) where machine = 'machine-07'",
    f"from {ours}, dedup := false)", f"from {ours}) order by time limit 2000")]
"""
    for message in host(script, table=three.table_dir("r")):
        assert victim.name in message
