"""Many writers, one table: no row is lost, none is there twice, whoever is killed and whatever is repeated."""
import collections
import json
import random
import signal
import subprocess
import threading
import time

import pyarrow as pa
import pytest

import harness
import lakes

SCHEMA = pa.schema([pa.field("writer", pa.int64()), pa.field("time", pa.timestamp("us", "UTC")), pa.field("n", pa.int64())])
T0 = 1_767_225_600_000_000


def rows_of(writer, numbers):
    return pa.table([[writer] * len(numbers), pa.array([T0 + n * 1_000_000 for n in numbers], pa.int64()).cast(SCHEMA.field("time").type), list(numbers)],
                    schema=SCHEMA)


def create(tl):
    """Without dedup, so that a row that was written twice is seen twice."""
    tl.create("readings", SCHEMA, "--time-column", "time", "--series-key", "writer", "--no-dedup")


def finish(processes):
    """Waits for all; asserts that each says it is done."""
    for p in processes:
        out, err = p.communicate(timeout=900)
        assert p.returncode == 0, f"exit {p.returncode}: {err.decode()}"


def check_rows(tl, expected):
    """Each (writer, n) exactly once, for us and for pyiceberg, and the books are right."""
    for table in (tl.sql("select writer, n from readings"), lakes.pyiceberg(tl.table_dir("readings"), selected_fields=("writer", "n"))):
        counts = collections.Counter(zip(table["writer"].to_pylist(), table["n"].to_pylist()))
        assert not [k for k, c in counts.items() if c > 1], "doubled"
        assert not expected - set(counts), "lost"
        assert not set(counts) - expected, "from nowhere"
    metadata = json.loads(lakes.metadata_file(tl.table_dir("readings")).read_text())
    [current] = [s for s in metadata["snapshots"] if s["snapshot-id"] == metadata["current-snapshot-id"]]
    assert current["summary"]["total-records"] == str(len(expected))
    sequences = [s["sequence-number"] for s in metadata["snapshots"]]
    assert len(set(sequences)) == len(sequences) and max(sequences) == metadata["last-sequence-number"]
    return metadata


@pytest.mark.slow
def test_eight_processes_append_two_hundred_one_row_commits_each(tl, tmp_path):
    create(tl)
    processes = []
    for writer in range(8):
        with pa.ipc.new_file(tmp_path / f"{writer}.arrow", SCHEMA) as w:
            for n in range(200):
                w.write_table(rows_of(writer, [n]))
        processes.append(tl.start("append", "readings", tmp_path / f"{writer}.arrow", "--rows-per-commit", "1"))
    finish(processes)
    metadata = check_rows(tl, {(w, n) for w in range(8) for n in range(200)})
    assert metadata["last-sequence-number"] >= 1600
    latest = lakes.read_latest(tl, "readings")
    assert dict(zip(latest["writer"].to_pylist(), latest["n"].to_pylist())) == {w: 199 for w in range(8)}


def test_a_process_for_each_row(tl, tmp_path):
    """The same from shells: eight loops, each starting the command anew for each row."""
    create(tl)
    failures = []

    def loop(writer):
        for n in range(12):
            with harness.ipc_file(rows_of(writer, [n])) as path:
                result = tl("append", "readings", path)
            if result.rc != 0:
                failures.append(result)

    run_all(loop, range(8))
    assert not failures
    check_rows(tl, {(w, n) for w in range(8) for n in range(12)})
    latest = lakes.read_latest(tl, "readings")
    assert sorted(latest["n"].to_pylist()) == [11] * 8


def run_all(function, arguments):
    """Runs function(argument) for each, at a time; an exception of one is raised here."""
    errors = []

    def guarded(argument):
        try:
            function(argument)
        except BaseException as e:  # noqa: BLE001 - shown below
            errors.append(e)

    threads = [threading.Thread(target=guarded, args=(a,)) for a in arguments]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


def test_killed_at_any_time_and_repeated_with_the_same_batch_id(tl):
    """What a supervisor does: start, and start again until it says done. Rows of a commit are there once even when the
    process died between the commit and its exit."""
    create(tl)
    with harness.ipc_file(rows_of(99, [0])) as path:
        start = time.monotonic()
        tl.ok("append", "readings", path)
        usual = time.monotonic() - start
    kills, seed = [], random.randrange(2**32)
    print("seed", seed)

    def supervise(writer):
        dice = random.Random(seed + writer)
        for n in range(10):
            with harness.ipc_file(rows_of(writer, [2 * n, 2 * n + 1])) as path:
                for attempt in range(200):
                    p = tl.start("append", "readings", path, "--batch-id", f"batch-{writer}-{n}")
                    try:
                        p.communicate(timeout=dice.uniform(0, 3 * usual) * (1 + attempt / 8))
                    except subprocess.TimeoutExpired:
                        p.send_signal(signal.SIGKILL)
                        p.communicate()
                    if p.returncode == 0:
                        break
                    assert p.returncode == -signal.SIGKILL, p.returncode
                    kills.append(n)
                else:
                    raise AssertionError("never done")

    run_all(supervise, range(4))
    assert kills, "nothing was killed: the test proves nothing"
    check_rows(tl, {(99, 0)} | {(w, n) for w in range(4) for n in range(20)})


def versions(tl, table):
    return len(list((tl.table_dir(table) / "metadata").glob("v*.metadata.json")))


def kill_after_commits(tl, p, table, commits):
    """SIGKILL as soon as the process has made so many commits, however fast the machine is; it may also end first."""
    start = versions(tl, table)
    while p.poll() is None and versions(tl, table) < start + commits:
        pass
    p.send_signal(signal.SIGKILL)
    p.communicate()


def load_killed_at_random(tl, paths, rows, dice):
    """Appends the files until an attempt says it is done; how often one died with something, but not all, added."""
    command = ("append", "readings", *paths, "--rows-per-commit", "0", "--batch-id", "load")
    done, partly = [0], 0
    for attempt in range(100):
        p = tl.start(*command)
        kill_after_commits(tl, p, "readings", dice.randrange(20) if attempt < 50 else 10**6)
        [row] = tl.sql("select count(*) as n from readings").to_pylist()
        assert row["n"] % rows == 0 and row["n"] >= done[-1], "half a commit, or one that went away"
        partly += done[-1] < row["n"] < len(paths) * rows
        done.append(row["n"])
        if p.returncode == 0:
            break
        assert p.returncode == -signal.SIGKILL, p.returncode
    assert p.returncode == 0
    check_rows(tl, {(1, n) for n in range(len(paths) * rows)})
    assert "appended 0 rows in 0 commits" in tl.ok(*command), "once more: nothing is missing"
    return partly


def test_an_append_of_many_files_is_killed_and_repeated_until_done(tl, tmp_path):
    """One commit a file under one batch id: each repetition adds exactly the files that are missing."""
    paths, rows = [], 50
    for f in range(60):
        paths.append(tmp_path / f"{f:02}.arrow")
        with pa.ipc.new_file(paths[-1], SCHEMA) as w:
            w.write_table(rows_of(1, range(f * rows, (f + 1) * rows)))
    seed = random.randrange(2**32)
    print("seed", seed)
    dice = random.Random(seed)
    for _ in range(10):  # a machine that does all the commits between two looks has proved nothing yet
        create(tl)
        if load_killed_at_random(tl, paths, rows, dice):
            return
        tl.ok("drop", "readings", "--yes")
    raise AssertionError("never killed between two commits")


def test_readers_see_whole_commits_while_writers_write(tl, tmp_path):
    """A commit has ten rows; every read finds a multiple of ten, and never fewer than the read before."""
    create(tl)
    with pa.ipc.new_file(tmp_path / "rows.arrow", SCHEMA) as w:
        for n in range(60):
            w.write_table(rows_of(1, range(10 * n, 10 * n + 10)))
    writer = tl.start("append", "readings", tmp_path / "rows.arrow", "--rows-per-commit", "10")
    seen = []
    while writer.poll() is None:
        [row] = tl.sql("select count(*) as n, count(distinct n) as d from readings").to_pylist()
        assert row["n"] == row["d"] and row["n"] % 10 == 0
        seen.append(row["n"])
    finish([writer])
    assert seen == sorted(seen)
    check_rows(tl, {(1, n) for n in range(600)})


def test_the_same_batch_sent_by_many_at_once_counts_once(tl, tmp_path):
    create(tl)
    with pa.ipc.new_file(tmp_path / "rows.arrow", SCHEMA) as w:
        w.write_table(rows_of(1, range(50)))
    finish([tl.start("append", "readings", tmp_path / "rows.arrow", "--batch-id", "the-one") for _ in range(8)])
    check_rows(tl, {(1, n) for n in range(50)})


def test_us_and_the_peer_at_once(tl, peer, tmp_path):
    """0.7.0 appends in one process while ours append in two."""
    create(tl)
    processes = []
    for writer in (1, 2):
        with pa.ipc.new_file(tmp_path / f"{writer}.arrow", SCHEMA) as w:
            for n in range(30):
                w.write_table(rows_of(writer, [n]))
        processes.append(tl.start("append", "readings", tmp_path / f"{writer}.arrow", "--rows-per-commit", "1"))
    peer("""
import datetime
t = timelake.Lake(args['lake']).table('readings')
for n in range(30):
    when = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc) + datetime.timedelta(seconds=n)
    rows = pa.table({'writer': [0], 'time': pa.array([when], pa.timestamp('us', 'UTC')), 'n': [n]})
    for attempt in range(20):  # it gives up after ten lost races; then nothing was committed
        try:
            t.append(rows, maintain=False)
            break
        except timelake.ConflictError:
            t = timelake.Lake(args['lake']).table('readings')
    else:
        raise RuntimeError('no luck')
""", lake=str(tl.lake))
    finish(processes)
    check_rows(tl, {(w, n) for w in range(3) for n in range(30)})
    views = lakes.peer_views(peer, tl.lake, "readings")
    assert views.raw.num_rows == 90
    assert dict(zip(views.latest["writer"].to_pylist(), views.latest["n"].to_pylist())) == {0: 29, 1: 29, 2: 29}
