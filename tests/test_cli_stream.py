"""Appends from pipes that stay open, appends that are told to stop, and disks that are full, read-only or gone: what is
committed stands, what is not leaves nothing behind."""
import contextlib
import fcntl
import gzip
import io
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import termios
import threading
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import harness
import lakes

SCHEMA = "m:string,time:timestamptz,v:double,n:int"
OPTIONS = ("--time-column", "time", "--series-key", "m")
PATIENCE = 30  # seconds until a test gives up on something that takes one or two


@pytest.fixture(autouse=True)
def nothing_runs_on():
    """A test that fails leaves no process behind."""
    yield
    while Pipe.started:
        p = Pipe.started.pop()
        if p.poll() is None:
            p.kill()


@pytest.fixture
def table(tl):
    tl.ok("create", "r", "--schema", SCHEMA, *OPTIONS)
    return tl


def line(i, **other):
    return json.dumps({"m": f"m{i % 7}", "time": f"2025-01-01T{i // 3600 % 24:02}:{i // 60 % 60:02}:{i % 60:02}.{i // 86400:06}Z",
                       "v": i / 4, "n": i % 1000, **other}) + "\n"


def count(tl):
    [row] = tl.sql("select count(*) as n from r").to_pylist()
    return row["n"]


def wait_for(what, *args):
    """Until what(*args) is true; its last value."""
    end = time.monotonic() + PATIENCE
    while not (value := what(*args)) and time.monotonic() < end:
        time.sleep(0.1)
    assert value, "it never came"
    return value


def has_read(p):
    """Whether the process has taken all that was written to its standard input, so that it also listens to signals."""
    waiting = bytearray(4)
    fcntl.ioctl(p.stdin.fileno(), termios.FIONREAD, waiting)
    return not int.from_bytes(waiting, sys.byteorder)


def listens(p, number):
    """Whether the process has its own handler for the signal."""
    [caught] = re.findall(r"^SigCgt:\s*(\w+)$", pathlib.Path(f"/proc/{p.pid}/status").read_text(), re.M)
    return int(caught, 16) >> (number - 1) & 1


class Pipe:
    """A continuous append that is fed by the test."""
    started = []

    def __init__(self, tl, *args, form="ndjson"):
        self.p = tl.start("append", "r", "-", "--format", form, *args, stdin=subprocess.PIPE)
        self.err = b""
        self.reader = threading.Thread(target=self.read_err, daemon=True)
        self.reader.start()
        Pipe.started.append(self.p)

    def read_err(self):
        for text in self.p.stderr:
            self.err += text

    def send(self, text):
        self.p.stdin.write(text if isinstance(text, bytes) else text.encode())
        self.p.stdin.flush()

    def signal(self, number):
        self.p.send_signal(number)
        return self.finish(close=False)

    def finish(self, close=True):
        """Result of the process; with close the input ends."""
        if close:
            self.p.stdin.close()
        try:
            rc = self.p.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.p.kill()
            raise
        finally:
            self.reader.join()
            with contextlib.suppress(OSError):
                self.p.stdin.close()
        out = self.p.stdout.read().decode()
        self.p.stdout.close()
        self.p.stderr.close()
        return harness.Result(rc, out, self.err.decode())


def files_of(folder):
    return sorted(str(p.relative_to(folder)) for p in pathlib.Path(folder).rglob("*") if not p.is_dir())


# ---- a pipe that stays open ----

def test_rows_are_committed_while_the_pipe_is_open_and_idle(table):
    pipe = Pipe(table, "--commit-every", "1s")
    pipe.send(line(0) + line(1) + line(2))
    wait_for(lambda: count(table) == 3)
    pipe.send(line(3) + line(4)[:20])  # a line cut anywhere
    wait_for(lambda: count(table) == 4)
    pipe.send(line(4)[20:])
    wait_for(lambda: count(table) == 5)
    time.sleep(1.5)  # nothing comes: nothing is committed
    result = pipe.finish()
    assert result.rc == 0 and result.out.startswith("default.r: appended 5 rows in 3 commits")
    assert [text.split(",")[0] for text in result.err.splitlines()] == ["commit 1: 3 rows", "commit 2: 1 rows", "commit 3: 1 rows"]


def test_the_end_of_the_input_commits_what_waits(table):
    pipe = Pipe(table, "--commit-every", "1h")
    pipe.send(line(0) + line(1).rstrip())  # the last line without a line break
    result = pipe.finish()
    assert result.rc == 0 and count(table) == 2
    assert Pipe(table, "--commit-every", "1h").finish().rc == 0  # nothing at all came
    assert count(table) == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_commits_what_has_come(table, number):
    pipe = Pipe(table, "--commit-every", "1h", "--json")
    pipe.send(line(0) + line(1) + line(2)[:10])
    wait_for(has_read, pipe.p)
    result = pipe.signal(number)
    assert result.rc == 0, result.err
    assert "stopped inside of a line: its 10 bytes are left out" in result.err
    said = json.loads(result.out)
    assert (said["rows"], said["commits"], said["rejected"]) == (2, 1, 0)
    assert count(table) == 2


def test_a_signal_before_the_first_row(table):
    for form in ("ndjson", "csv", "arrow"):
        pipe = Pipe(table, "--commit-every", "1h", form=form)
        wait_for(listens, pipe.p, signal.SIGTERM)
        result = pipe.signal(signal.SIGTERM)
        assert result.rc == 0 and "appended 0 rows" in result.out, result.err


def test_enough_bytes_are_a_commit(table):
    pipe = Pipe(table, "--commit-every", "1h", "--commit-bytes", "100kB")
    pipe.send("".join(line(i) for i in range(5000)))
    wait_for(lambda: count(table) > 0)
    assert pipe.finish().rc == 0
    assert count(table) == 5000


def test_bad_lines_go_to_the_rejects(table, tmp_path):
    rejects = tmp_path / "bad.ndjson"
    rejects.write_text("older\n")
    pipe = Pipe(table, "--commit-every", "1s", "--rejects", rejects)
    bad = {2: ('{"m":"a","time":"2025-01-01T00:00:00Z","v":"warm"}', "v", '"warm" is not a double'),
           3: ('{"m":"a","time":"2025-01-01T00:00:00Z","n":3000000000}', "n", '"3000000000" does not fit int'),
           5: ("nonsense", None, "not JSON"),
           6: ('{"m":"a","v":1}', "time", "null in a required column"),
           7: ('{"m":"a","time":"2025-01-01T00:00:00Z","x":1}', "x", 'column "x" is not in the table'),
           9: ('[{"m":"a"}]', None, "not a JSON object"),
           10: ('{"m":"a","time":"2025-01-01T00:00:00Z","n":1.5}', "n", '"1.5"')}
    for number in range(1, 12):
        pipe.send(bad[number][0] + "\n" if number in bad else "\n" if number == 4 else line(number))
    pipe.send(b'{"m":"\xff"}\n')
    result = pipe.finish()
    assert result.rc == 0 and result.out.rstrip().endswith("; 8 lines rejected")
    assert count(table) == 3
    first, *lines = rejects.read_text().splitlines()
    assert first == "older"
    said = [json.loads(text) for text in lines]
    assert [s["line"] for s in said] == [*bad, 12]
    for s, (text, column, reason) in zip(said, bad.values()):
        assert (s["text"], s["column"]) == (text, column) and s["reason"].startswith(reason), s
    assert said[-1] == {"line": 12, "column": None, "reason": "the text is not UTF-8", "text": '{"m":"\ufffd"}'}


def test_without_rejects_the_first_bad_line_stops_it(table):
    pipe = Pipe(table, "--commit-every", "1h")
    pipe.send(line(0) + line(1) + line(2, v="warm") + line(3))
    result = pipe.finish(close=False)
    assert result.rc == 1
    assert result.err.splitlines()[-1] == ("Error: after 1 commits (2 rows), which stand: standard input, line 3: column \"v\": "
                                           "\"warm\" is not a double")
    assert count(table) == 2


def test_many_bad_lines_among_good_ones(table, tmp_path):
    """Nothing of a batch is lost or doubled, whichever of its lines are bad; --no-dedup would show it."""
    table.ok("drop", "r", "--yes")
    table.ok("create", "r", "--schema", SCHEMA, *OPTIONS, "--no-dedup")
    seed = random.randrange(2**32)
    print("seed", seed)
    dice = random.Random(seed)
    good, text = [], []
    for i in range(20000):
        bad = dice.random() < (0.3 if 5000 < i < 8000 else 0.001)
        text.append(line(i, n="x") if bad else line(i))
        good += [] if bad else [i / 4]
    pipe = Pipe(table, "--commit-every", "1s", "--rejects", tmp_path / "bad")
    pipe.send("".join(text))
    result = pipe.finish()
    assert result.rc == 0, result.err
    assert sorted(table.sql("select v from r")["v"].to_pylist()) == good
    numbers = [json.loads(s)["line"] for s in (tmp_path / "bad").read_text().splitlines()]
    assert numbers == [i + 1 for i, s in enumerate(text) if '"n": "x"' in s]


@pytest.mark.parametrize("form,mark", [("csv", ","), ("tsv", "\t")])
def test_csv_records_from_a_pipe(table, tmp_path, form, mark):
    rejects = tmp_path / "bad"
    pipe = Pipe(table, "--commit-every", "1s", "--rejects", rejects, "--null", "NA", form=form)
    rows = ["m,time,v", "a,2025-01-01T00:00:00Z,1", '"two\nlines, ""quoted""",2025-01-01T00:00:01Z,NA', "a,2025-01-01T00:00:02Z,hot",
            "a,2025-01-01T00:00:03Z", '"x"y,2025-01-01T00:00:04Z,1', "", 'b,2025-01-01T00:00:05Z,2', '"open,2025-01-01T00:00:06Z,2', "c,2025-01-01T00:00:07Z,3"]
    text = "\n".join(r.replace(",", mark).replace(f"lines{mark}", "lines,") for r in rows)
    for at in range(0, len(text), 7):
        pipe.send(text[at:at + 7])
    result = pipe.finish()
    assert result.rc == 0, result.err
    got = table.sql("select m, v from r order by time").to_pylist()
    assert [(r["m"], r["v"]) for r in got] == [("a", 1), ('two\nlines, "quoted"', None), ("b", 2), ("c", 3)]
    said = [json.loads(s) for s in rejects.read_text().splitlines()]
    assert [(s["line"], s["reason"].split(";")[0]) for s in said] == [
        (5, '"hot" is not a double'), (6, "2 fields where the header has 3"), (7, "text behind a closing quote"),
        (10, "a quoted field begins here and does not end")]


def test_a_header_that_does_not_fit_is_told_at_once(table):
    pipe = Pipe(table, "--commit-every", "1h", form="csv")
    pipe.send("m,time,nope\na,2025-01-01T00:00:00Z,1\n")
    result = pipe.finish(close=False)
    assert result.rc == 1 and result.err.startswith('Error: standard input: ') and '"nope"' in result.err


def test_arrow_batches_from_a_pipe(table):
    schema = pa.schema([("m", pa.string()), ("time", pa.timestamp("us", "UTC")), ("v", pa.float64())])
    pipe = Pipe(table, "--commit-every", "1s", form="arrow")
    batch = [pa.record_batch([["a"] * 10, pa.array(range(10 * k, 10 * k + 10), pa.int64()).cast(schema.field("time").type), [1.5] * 10], schema=schema)
             for k in range(2)]
    sink = io.BytesIO()
    w, sent = pa.ipc.new_stream(sink, schema), 0
    for k, rows in enumerate([10, 20]):
        w.write_batch(batch[k])
        pipe.send(sink.getvalue()[sent:])
        sent = sink.tell()
        if k == 0:
            wait_for(lambda: count(table) == rows)
    pipe.send(b"\xff\xff\xff\xff\x10")  # a message that does not end
    wait_for(has_read, pipe.p)
    result = pipe.signal(signal.SIGTERM)
    assert result.rc == 0, result.err
    assert count(table) == 20


def test_batch_ids_mark_the_commits_of_one_run(table):
    pipe = Pipe(table, "--commit-every", "1s", "--batch-id", "feed")
    pipe.send(line(0))
    wait_for(lambda: count(table) == 1)
    pipe.send(line(1))
    assert pipe.finish().rc == 0
    metadata = json.loads(lakes.metadata_file(table.table_dir("r")).read_text())
    assert [s["summary"].get("timelake.batch-id") for s in metadata["snapshots"]] == ["feed-1", "feed-2"]
    pipe = Pipe(table, "--commit-every", "1s", "--batch-id", "feed")  # its first commit would be taken for the old one
    result = pipe.finish(close=False)
    assert result.rc == 1 and "--batch-id feed: the batch feed-1 is in default.r already" in result.err


@pytest.mark.parametrize("args,says", [
    (("x.csv", "--commit-every", "1s"), "give - and no other file"),
    (("-", "--commit-every", "10", "--format", "csv"), '--commit-every wants a duration such as 10s or 5m, not "10"'),
    (("-", "--commit-every", "0s", "--format", "csv"), "wants a duration"),
    (("-", "--commit-bytes", "many", "--format", "csv"), "--commit-bytes wants a size"),
    (("-", "--commit-every", "1s"), "--format csv, tsv, ndjson or arrow"),
    (("-", "--commit-every", "1s", "--format", "parquet"), "--format csv, tsv, ndjson or arrow"),
    (("-", "--rejects", "x", "--format", "arrow"), "--rejects is for lines of text"),
    (("-", "--commit-every", "1s", "--rows-per-commit", "5", "--format", "csv"), "--rows-per-commit does not go with"),
])
def test_wrong_usage(table, args, says):
    assert says in table.fails("append", "r", *args, rc=2)


def test_compressed_text_and_rejects_that_cannot_be_written(table, tmp_path):
    assert "this is compressed" in table.fails("append", "r", "-", "--format", "csv", "--commit-every", "1s", stdin=gzip.compress(b"m,time\n"))
    assert "nowhere/bad" in table.fails("append", "r", "-", "--format", "csv", "--rejects", tmp_path / "nowhere" / "bad", stdin="m,time\n")


def test_a_dropped_table_ends_it(table):
    pipe = Pipe(table, "--commit-every", "1s")
    pipe.send(line(0))
    wait_for(lambda: count(table) == 1)
    table.ok("drop", "r", "--yes")
    pipe.send(line(1))
    result = pipe.finish(close=False)
    assert result.rc == 1
    assert "the last 1 rows are not in: " in result.err.splitlines()[-1]


def peak_kb(process):
    [text] = [s for s in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines() if s.startswith("VmHWM")]
    return int(text.split()[1])


def test_memory_does_not_grow_with_the_input(table):
    pipe = Pipe(table, "--commit-every", "1h", "--commit-bytes", "2MB")
    peaks = []
    for part in range(5):
        for k in range(0, 40000, 4000):
            pipe.send("".join(line(part * 40000 + k + i) for i in range(4000)))
        wait_for(lambda: count(table) > part * 40000)  # up to 2 MB, some 35,000 rows, wait for more
        peaks.append(peak_kb(pipe.p))
    assert pipe.finish().rc == 0
    assert count(table) == 200000
    print("peaks, kB:", peaks)
    assert peaks[-1] < peaks[1] + 16 * 1024


def test_help_shows_how(tl):
    page = tl.ok("append", "--help")
    for word in ("mosquitto_sub", "--commit-every", "--commit-bytes", "--rejects", "SIGTERM"):
        assert word in page


# ---- told to stop ----

def stopped(tl, p, number=signal.SIGTERM):
    p.send_signal(number)
    out, err = p.communicate(timeout=PATIENCE)
    assert p.returncode == 1, err
    [last] = [s for s in err.decode().splitlines() if not s.startswith("commit ")]
    assert last.startswith("Error: interrupted; ")
    return last


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("form", ["ndjson", "csv", "arrow"])
def test_an_append_from_a_pipe_is_interrupted(table, tmp_path, number, form):
    before = files_of(table.lake)
    (tmp_path / "tmp").mkdir()
    table.env["TMPDIR"] = str(tmp_path / "tmp")
    p = table.start("append", "r", "-", "--format", form, stdin=subprocess.PIPE)
    p.stdin.write({"ndjson": line(0).encode(), "csv": b"m,time\na,2025-01-01\n", "arrow": b"\xff\xff\xff\xff"}[form])
    p.stdin.flush()
    wait_for(has_read, p)
    assert stopped(table, p, number) == "Error: interrupted; nothing was committed"
    assert files_of(table.lake) == before and files_of(tmp_path / "tmp") == []


def test_an_append_of_files_is_interrupted_between_commits(table, tmp_path):
    (tmp_path / "tmp").mkdir()
    table.env["TMPDIR"] = str(tmp_path / "tmp")
    (tmp_path / "x.ndjson").write_text("".join(line(i) for i in range(200000)))
    p = table.start("append", "r", tmp_path / "x.ndjson", "--rows-per-commit", "1000", "--no-maintain")
    wait_for(lambda: count(table) >= 2000)
    last = stopped(table, p)
    n = count(table)
    assert last == f"Error: interrupted; {n // 1000} commits ({n} rows) are in, the rest is not" and n % 1000 == 0
    assert 2000 <= n < 200000
    data = list((table.table_dir("r") / "data").rglob("*.parquet"))
    assert len(data) == table.info("r")["files"], "files that no commit names"
    assert files_of(tmp_path / "tmp") == []


def test_an_interrupted_import_leaves_no_table(tl, tmp_path):
    before = files_of(tl.lake)
    p = tl.start("import", "r", "-", "--format", "ndjson", "--time-column", "time", stdin=subprocess.PIPE)
    p.stdin.write(line(0).encode())
    p.stdin.flush()
    wait_for(has_read, p)
    stopped(tl, p)
    assert tl.ok("ls") == "" and files_of(tl.lake) == before


def test_told_to_stop_at_any_time_while_sorting_on_the_disk(tl, tmp_path):
    """Reading, spilling, merging, committing: the rows are in and that is said, or nothing is left of it."""
    tl.ok("create", "r", "--schema", SCHEMA, *OPTIONS, "--no-dedup", "--prop", "memory-limit=1MiB")
    (tmp_path / "tmp").mkdir()
    tl.env["TMPDIR"] = str(tmp_path / "tmp")
    rows = 200000
    path = noise(rows, tmp_path / "x.parquet")
    start = time.monotonic()
    tl.ok("append", "r", path)
    usual = time.monotonic() - start
    seed, outcomes, n = random.randrange(2**32), [], rows
    print("seed", seed, "usual", usual)
    dice = random.Random(seed)
    while len(outcomes) < 10 or (1 not in outcomes and len(outcomes) < 100):
        before = files_of(tl.lake)
        p = tl.start("append", "r", path)
        time.sleep(dice.uniform(0, 1.2 * usual))
        p.send_signal(signal.SIGTERM)
        out, err = p.communicate(timeout=PATIENCE)
        outcomes.append(p.returncode)
        assert p.returncode in (0, 1, -signal.SIGTERM), err  # the last: before it had begun
        n += rows if p.returncode == 0 else 0
        if p.returncode == 1:
            assert err == b"Error: interrupted; nothing was committed\n"
        if p.returncode != 0:
            assert files_of(tl.lake) == before
        assert count(tl) == n and files_of(tmp_path / "tmp") == []
    print(outcomes)
    assert 1 in outcomes


# ---- disks ----

@pytest.fixture
def mount(tmp_path):
    """mount(path, options): a file system of the test's own, taken away after it. Needs root."""
    mounted = []

    def do(path, *options):
        path.mkdir(exist_ok=True)
        run = subprocess.run(["mount", *options, str(path)], capture_output=True, text=True)
        if run.returncode != 0:
            pytest.skip(f"mount is not possible here: {run.stderr.strip()}")
        if path not in mounted:
            mounted.append(path)
        return path

    yield do
    for path in reversed(mounted):
        subprocess.run(["umount", str(path)], check=False)


def noise(rows, path, seed=1):
    """Rows that cannot be packed."""
    dice = random.Random(seed)
    t = pa.table({"m": [f"m{i % 50}" for i in range(rows)], "time": pa.array([1735689600000000 + i * 1000003 % 10**11 for i in range(rows)], pa.timestamp("us", "UTC")),
                  "v": [dice.random() for _ in range(rows)]})
    pq.write_table(t, path)
    return path


def test_disk_full_while_writing(tl, tmp_path, mount):
    disk = mount(tmp_path / "disk", "-t", "tmpfs", "-o", "size=1m", "tmpfs")
    tl.lake = disk / "lake"
    tl.ok("create", "r", "--schema", SCHEMA, *OPTIONS)
    tl.ok("append", "r", "-", "--format", "ndjson", stdin=line(0))
    before = files_of(tl.lake)
    said = tl.fails("append", "r", noise(300000, tmp_path / "x.parquet"))
    assert "No space left on device" in said
    assert files_of(tl.lake) == before and count(tl) == 1
    tl.ok("append", "r", "-", "--format", "ndjson", stdin=line(1))
    assert count(tl) == 2


def test_disk_full_at_any_step_of_a_commit(tl, tmp_path, mount):
    """Less and less room: each append is whole or not there at all, and says so."""
    disk = mount(tmp_path / "disk", "-t", "tmpfs", "-o", "size=2m", "tmpfs")
    tl.lake = disk / "lake"
    tl.ok("create", "r", "--schema", SCHEMA, *OPTIONS)
    tl.ok("append", "r", "-", "--format", "ndjson", stdin=line(0))
    rows, outcomes = 1, []
    for free_pages in range(24, -1, -1):
        before = files_of(tl.lake)
        state = os.statvfs(disk)
        filler = disk / "filler"
        filler.write_bytes(b"x" * max(0, state.f_bavail * state.f_frsize - free_pages * 4096))
        result = tl("append", "r", "-", "--format", "ndjson", stdin=line(rows))
        filler.unlink()
        assert result.rc in (0, 1), result.err
        rows += result.rc == 0
        outcomes.append(result.rc)
        if result.rc:
            assert "No space left on device" in result.err and files_of(tl.lake) == before, result.err
        assert count(tl) == rows
    print(outcomes)
    assert set(outcomes) == {0, 1}


def test_disk_full_while_spilling(table, tmp_path, mount):
    table.ok("alter", "r", "--set", "memory-limit=1MiB")
    table.env["TMPDIR"] = str(mount(tmp_path / "tmp", "-t", "tmpfs", "-o", "size=1m", "tmpfs"))
    before = files_of(table.lake)
    said = table.fails("append", "r", noise(300000, tmp_path / "x.parquet"))
    assert "No space left on device" in said
    assert files_of(table.lake) == before and files_of(tmp_path / "tmp") == []
    assert os.statvfs(tmp_path / "tmp").f_bfree == os.statvfs(tmp_path / "tmp").f_blocks


def test_a_full_disk_keeps_the_rows_of_a_pipe(tl, tmp_path, mount):
    """Commits fail, are told, and succeed once there is room again; nothing is lost or doubled."""
    disk = mount(tmp_path / "disk", "-t", "tmpfs", "-o", "size=2m", "tmpfs")
    tl.lake = disk / "lake"
    tl.ok("create", "r", "--schema", SCHEMA, *OPTIONS)
    pipe = Pipe(tl, "--commit-every", "1s")
    pipe.send(line(0))
    wait_for(lambda: count(tl) == 1)
    state = os.statvfs(disk)
    (disk / "filler").write_bytes(b"x" * (state.f_bavail * state.f_frsize))
    pipe.send(line(1))
    wait_for(lambda: b"commit 2 failed, its rows are kept and tried again: " in pipe.err)
    pipe.send(line(2))
    (disk / "filler").unlink()
    wait_for(lambda: count(tl) == 3)
    result = pipe.finish()
    assert result.rc == 0 and "appended 3 rows" in result.out


def full_lake(tl, disk):
    """A lake on a disk without room, with an open pipe of one row that waits for it; and what takes the room."""
    tl.lake = disk / "lake"
    tl.ok("create", "r", "--schema", SCHEMA, *OPTIONS)
    state = os.statvfs(disk)
    filler = disk / "filler"
    filler.write_bytes(b"x" * (state.f_bavail * state.f_frsize))
    pipe = Pipe(tl, "--commit-every", "1s", "--commit-bytes", "100kB")
    pipe.send(line(0))
    wait_for(lambda: b"commit 1 failed" in pipe.err)
    return pipe, filler


def test_a_writer_that_is_too_fast_has_to_wait(tl, tmp_path, mount):
    pipe, filler = full_lake(tl, mount(tmp_path / "disk", "-t", "tmpfs", "-o", "size=4m", "tmpfs"))
    feeding = threading.Thread(target=lambda: pipe.send("".join(line(i) for i in range(1, 40000))), daemon=True)
    feeding.start()
    feeding.join(3)
    assert feeding.is_alive(), "3 MB went into a buffer of 400 kB"
    assert peak_kb(pipe.p) < 100 * 1024
    filler.unlink()
    feeding.join(PATIENCE)
    assert pipe.finish().rc == 0 and count(tl) == 40000


def test_told_to_stop_while_commits_fail(tl, tmp_path, mount):
    pipe, _ = full_lake(tl, mount(tmp_path / "disk", "-t", "tmpfs", "-o", "size=2m", "tmpfs"))
    before = files_of(tl.lake)
    result = pipe.signal(signal.SIGTERM)
    assert result.rc == 1 and result.err.splitlines()[-1].startswith("Error: the last 1 rows are not in: ")
    assert "No space left on device" in result.err.splitlines()[-1]
    assert count(tl) == 0 and files_of(tl.lake) == before


def test_a_second_signal_kills(tl, tmp_path, mount):
    pipe, _ = full_lake(tl, mount(tmp_path / "disk", "-t", "tmpfs", "-o", "size=2m", "tmpfs"))
    pipe.p.send_signal(signal.SIGINT)
    time.sleep(1)
    assert pipe.p.poll() is None, "it tries for some seconds"
    assert pipe.signal(signal.SIGTERM).rc == -signal.SIGTERM


def test_read_only_lake(tl, tmp_path, mount):
    disk = tmp_path / "disk"
    mount(disk, "-t", "tmpfs", "tmpfs")
    tl.lake = disk / "lake"
    tl.ok("create", "r", "--schema", SCHEMA, *OPTIONS)
    tl.ok("append", "r", "-", "--format", "ndjson", stdin=line(0))
    before = files_of(tl.lake)
    mount(disk, "-o", "remount,ro")
    assert "Read-only file system" in tl.fails("append", "r", "-", "--format", "ndjson", stdin=line(1))
    assert "Read-only file system" in tl.fails("create", "other", "--schema", "a:int")
    assert "Read-only file system" in tl.fails("import", "other", "-", "--format", "ndjson", stdin=line(1))
    assert count(tl) == 1 and files_of(tl.lake) == before
    assert tl.ok("ls").split()[0] == "default.r"


# ---- input that changes under the reader ----

def start_with_fifo(tl, tmp_path, *files):
    """An append that has begun with a pipe and goes on with files: they can be changed before it comes to them."""
    fifo = tmp_path / "first.ndjson"
    os.mkfifo(fifo)
    p = tl.start("append", "r", fifo, *files)
    return p, open(fifo, "w")


def test_a_file_that_is_removed_while_the_others_are_read(table, tmp_path):
    before = files_of(table.lake)
    second = tmp_path / "second.ndjson"
    second.write_text(line(1))
    p, first = start_with_fifo(table, tmp_path, second)
    second.unlink()
    with first:
        first.write(line(0))
    out, err = p.communicate(timeout=PATIENCE)
    assert p.returncode == 1 and err.decode() == f"Error: {second}: no such file\n"
    assert count(table) == 0 and files_of(table.lake) == before


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_file_that_is_cut_short_before_it_is_read(table, tmp_path, form):
    before = files_of(table.lake)
    second = noise(10000, tmp_path / "second.parquet")
    if form == "arrow":
        rows, second = pq.read_table(second), tmp_path / "second.arrow"
        with pa.ipc.new_file(second, rows.schema) as w:
            w.write_table(rows)
    p, first = start_with_fifo(table, tmp_path, second)
    os.truncate(second, second.stat().st_size // 2)
    with first:
        first.write(line(0))
    out, err = p.communicate(timeout=PATIENCE)
    assert p.returncode == 1 and err.decode().startswith(f"Error: {second}: "), err
    assert len(err.splitlines()) == 1 and count(table) == 0 and files_of(table.lake) == before


# ---- times ----

def test_a_time_outside_what_the_partition_can_hold(tl, tmp_path):
    tl.ok("create", "r", "--schema", SCHEMA, *OPTIONS, "--chunk", "hour")
    before = files_of(tl.lake)
    far = '{"m":"a","time":"+250000-01-01T00:00:00Z"}\n'
    said = tl.fails("append", "r", "-", "--format", "ndjson", stdin=line(0) + far)
    assert 'line 2: column "time", row 2: ' in said and "250000-01-01" in said and "outside what hour partitions can hold" in said
    assert files_of(tl.lake) == before
    pipe = Pipe(tl, "--commit-every", "1h", "--rejects", tmp_path / "bad")
    pipe.send(line(0) + far + line(1))
    assert pipe.finish().rc == 0
    [bad] = [json.loads(s) for s in (tmp_path / "bad").read_text().splitlines()]
    assert (bad["line"], bad["column"]) == (2, "time") and "outside what hour partitions can hold" in bad["reason"]
    assert count(tl) == 2


def test_insertion_times_after_the_clock_are_accepted(table):
    """The clock of a writer before may have been ahead: its rows win, and ours are taken all the same."""
    ahead = json.loads(line(0, v=1)) | {"_ingest_ts": "2100-01-01T00:00:00Z"}
    table.ok("append", "r", "-", "--format", "ndjson", stdin=json.dumps(ahead))
    table.ok("append", "r", "-", "--format", "ndjson", stdin=line(0, v=2) + line(1, v=3))
    assert table.sql("select v from r order by time")["v"].to_pylist() == [1, 3]
