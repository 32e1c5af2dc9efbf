#!/usr/bin/env python3
"""Many appenders, compactors and an expirer on one table for minutes: no row lost, none doubled, no append failed by
maintenance, and `check` finds nothing. Not part of the tests: `make soak`, or

    tests/soak.py [--minutes 5] [--appenders 16] [--compactors 2] [--kill] [--command build/timelake] [--lake DIR] [--seed N]

Each appender appends batches with an id each and goes on to the next when the command says done; what was not said to be
done is repeated with the same id. With --kill processes of all kinds are killed at random (SIGKILL). Each row says who
wrote it and in which batch; every fifth batch also writes the key `shared` anew, of which only the last write may be
seen. Prints the figures, exit status 1 when anything is wrong.
"""
import argparse
import datetime
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pyarrow as pa

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402
import lakes  # noqa: E402

SCHEMA = pa.schema([("writer", pa.string()), ("time", pa.timestamp("us", "UTC")), ("batch", pa.int64()), ("n", pa.int64())])
T0 = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
ROWS = 20


class Soak:
    def __init__(self, args, folder):
        self.args, self.folder = args, pathlib.Path(folder)
        self.tl = harness.Command(args.command, args.lake or self.folder / "lake")
        self.end = time.monotonic() + args.minutes * 60
        self.lock = threading.Lock()
        self.done = {}  # writer -> batches that were said to be done
        self.failures, self.kills = [], 0
        self.counts = {"appends": 0, "retries": 0, "maintain": 0, "conflicts": 0}

    def count(self, what, n=1):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + n

    def run(self, dice, *argv):
        """Runs the command to its end, or kills it on the way. (exit status, output)"""
        p = self.tl.start(*argv)
        if self.args.kill and dice.random() < 0.2:
            time.sleep(dice.uniform(0, 0.3))
            if p.poll() is None:
                p.send_signal(signal.SIGKILL)
                self.count("killed")
        out, err = p.communicate()
        return p.returncode, (out + err).decode(errors="replace").strip()

    def batch(self, dice, writer, b):
        day = T0 + datetime.timedelta(hours=dice.randrange(0, 72))  # late, over three days
        times = [day + datetime.timedelta(milliseconds=b * ROWS + i, microseconds=1) for i in range(ROWS)]  # no two batches share a key
        rows = {"writer": [f"w{writer}"] * ROWS, "time": times, "batch": [b] * ROWS, "n": list(range(ROWS))}
        if b % 5 == 0:
            rows["writer"].append(f"shared{writer}")
            rows["time"].append(T0)
            rows["batch"].append(b)
            rows["n"].append(0)
        return pa.table(rows, schema=SCHEMA)

    def appender(self, writer):
        dice = random.Random(self.args.seed * 1000 + writer)
        path = self.folder / f"{writer}.arrow"
        b = 0
        while time.monotonic() < self.end:
            with pa.ipc.new_file(path, SCHEMA) as w:
                w.write_table(self.batch(dice, writer, b))
            while True:  # until it is done, whatever happens
                rc, text = self.run(dice, "append", "readings", path, "--batch-id", f"{writer}-{b}")
                if rc == 0:
                    break
                self.count("retries")
                if rc not in (-signal.SIGKILL, 4):
                    self.failures.append(f"append of writer {writer}, batch {b}: exit {rc}: {text}")
                    break
            if rc == 0:
                self.count("appends")
                with self.lock:
                    self.done.setdefault(writer, []).append(b)
            b += 1

    def maintainer(self, number, *options):
        dice = random.Random(self.args.seed * 1000 + 900 + number)
        while time.monotonic() < self.end:
            rc, text = self.run(dice, "maintain", "readings", *options)
            self.count("maintain")
            if rc == 3:
                self.count("conflicts")
            elif rc not in (0, -signal.SIGKILL, 4):
                self.failures.append(f"maintain {' '.join(options)}: exit {rc}: {text}")
            time.sleep(dice.uniform(0, 1))

    def reader(self):
        """Never fewer rows than were done before the query began."""
        while time.monotonic() < self.end:
            with self.lock:
                least = sum(len(b) for b in self.done.values()) * ROWS
            result = self.tl("sql", "select count(*) filter (where writer like 'w%') as n, count(distinct (writer, time)) - "
                             "count(distinct writer) filter (where writer like 'shared%') as d from readings", "--format", "json")
            self.count("queries")
            if result.rc != 0:
                self.failures.append(f"query: {result.err}")
            else:
                row = json.loads(result.out)
                if row["n"] < least or row["n"] != row["d"]:
                    self.failures.append(f"query: {row}, at least {least} were done")
            time.sleep(0.5)

    def verify(self):
        rows = lakes.timelake(self.tl, "readings")
        seen = {}
        for r in rows.to_pylist():
            key = (r["writer"], r["batch"], r["n"])
            if r["writer"].startswith("w"):
                seen[key] = seen.get(key, 0) + 1
        doubled = sum(1 for n in seen.values() if n > 1)
        lost = sum(1 for w, batches in self.done.items() for b in batches for i in range(ROWS) if (f"w{w}", b, i) not in seen)
        shared = {r["writer"]: r["batch"] for r in rows.to_pylist() if r["writer"].startswith("shared")}
        stale = [w for w, batches in self.done.items() if shared.get(f"shared{w}", -1) < max([b for b in batches if b % 5 == 0], default=-1)]
        latest = lakes.read_latest(self.tl, "readings")
        if stale:
            self.failures.append(f"older copies came back: writers {stale}")
        if lost or doubled:
            self.failures.append(f"{lost} rows lost, {doubled} doubled")
        check = self.tl("check", "readings")
        # nobody works any more: what is left of the killed is rubbish, and only that
        cleaned = self.tl("maintain", "readings", "--orphans", "--grace", "0s", "--json")
        after = self.tl("check", "readings", "--grace", "0s")
        again = lakes.timelake(self.tl, "readings")
        if check.rc or after.rc or cleaned.rc:
            self.failures.append(f"check: {check.out[-2000:]} maintain: {cleaned.err} check again: {after.out[-2000:]}")
        lakes.same(again, rows, key=["writer", "time"])
        info = self.tl.info("readings")
        print(json.dumps({**self.counts, "rows": rows.num_rows, "series": latest.num_rows, "lost": lost, "doubled": doubled,
                          "version": info["version"], "files": info["files"], "failures": len(self.failures),
                          "orphans": json.loads(cleaned.out)["orphans"] if not cleaned.rc else None, "check": after.out.strip()}))

    def main(self):
        self.tl.create("readings", SCHEMA, "--time-column", "time", "--series-key", "writer",
                       "--prop", "snapshot-retention=20s", "--prop", "max-snapshots=50")
        threads = [threading.Thread(target=self.appender, args=(w,)) for w in range(self.args.appenders)]
        threads += [threading.Thread(target=self.maintainer, args=(c, "--no-expire")) for c in range(self.args.compactors)]
        threads.append(threading.Thread(target=self.maintainer, args=(99, "--no-compact")))
        threads.append(threading.Thread(target=self.reader))
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.verify()
        for f in self.failures[:20]:
            print("FAILED:", f, file=sys.stderr)
        return 1 if self.failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--appenders", type=int, default=16)
    parser.add_argument("--compactors", type=int, default=2)
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--command", default=harness.ROOT / "build" / "timelake")
    parser.add_argument("--lake")
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    args = parser.parse_args()
    print("seed", args.seed)
    folder = tempfile.mkdtemp(prefix="timelake-soak-")
    status = Soak(args, folder).main()
    if status == 0:
        shutil.rmtree(folder)
    else:
        print("the lake is in", folder, file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
