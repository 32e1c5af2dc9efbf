"""Drives the command under test and the peers. Used through the fixtures of conftest.py."""
import collections
import contextlib
import fcntl
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEPS = ROOT / ".deps"

Result = collections.namedtuple("Result", "rc out err")


class Command:
    """The timelake command on one lake. Its environment is hostile on purpose: an odd time zone and locale and a tight
    umask must change nothing."""

    def __init__(self, path, lake):
        self.path, self.lake = path, lake
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("TIMELAKE_", "LC_", "LANG"))}
        self.env.update(TZ="Asia/Kathmandu", LC_ALL="C")

    def argv(self, *args, lake=None):
        return [str(self.path), "-w", str(lake or self.lake), *map(str, args)]

    def __call__(self, *args, lake=None, stdin=None, binary=False, timeout=300, env=None):
        """stdin: text, bytes or None for no input. binary=True gives stdout as bytes."""
        if isinstance(stdin, str):
            stdin = stdin.encode()
        run = subprocess.run(self.argv(*args, lake=lake), input=stdin if stdin is not None else b"", capture_output=True,
                             timeout=timeout, env={**self.env, **(env or {})})
        out = run.stdout if binary else run.stdout.decode()
        return Result(run.returncode, out, run.stderr.decode(errors="replace"))

    def ok(self, *args, **kw):
        """Runs, asserts exit status 0, returns stdout."""
        result = self(*args, **kw)
        assert result.rc == 0, f"timelake {' '.join(map(str, args))}: exit {result.rc}: {result.err}"
        return result.out

    def fails(self, *args, rc=1, **kw):
        """Runs, asserts this exit status and one clear line on stderr, returns that line."""
        result = self(*args, **kw)
        assert result.rc == rc, f"timelake {' '.join(map(str, args))}: exit {result.rc}, expected {rc}: {result.err}"
        lines = result.err.strip().splitlines()
        assert len(lines) == 1 and lines[0].startswith("Error: "), f"expected one line of error, got: {result.err!r}"
        return lines[0]

    def sql(self, query, *args, **kw):
        """The result of a query as a pyarrow.Table."""
        return read_arrow(self.ok("sql", query, "--format", "arrow", *args, binary=True, **kw))

    def json(self, *args, **kw):
        """The objects that a command prints, one a line."""
        return [json.loads(line) for line in self.ok(*args, **kw).splitlines() if line.strip()]

    def create(self, name, schema, *args, **kw):
        """Creates a table of this pyarrow.Schema; args: more of the command line ("--time-column", "time", ...)."""
        with ipc_file(schema.empty_table()) as path:
            return self.ok("create", name, "--from", path, *args, **kw)

    def append(self, name, table, *args, **kw):
        """Appends a pyarrow.Table; gives what the command prints."""
        with ipc_file(table) as path:
            return self.ok("append", name, path, *args, **kw)

    def info(self, name):
        """What `info --json` says, as a dict."""
        return json.loads(self.ok("info", name, "--json"))

    def start(self, *args, lake=None, **kw):
        """A running process (subprocess.Popen), for tests with many writers."""
        return subprocess.Popen(self.argv(*args, lake=lake), env=self.env, stdin=kw.pop("stdin", subprocess.DEVNULL),
                                stdout=kw.pop("stdout", subprocess.PIPE), stderr=kw.pop("stderr", subprocess.PIPE), **kw)

    def table_dir(self, name):
        """Where a table is: <lake>/<namespace>/<name>."""
        namespace, _, table = name.rpartition(".")
        return pathlib.Path(self.lake) / (namespace or "default") / table


@contextlib.contextmanager
def ipc_file(table):
    """A temporary Arrow IPC file with the rows of a pyarrow.Table."""
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "rows.arrow")
        with pa.ipc.new_file(path, table.schema) as w:
            w.write_table(table)
        yield path


def read_arrow(data):
    """An Arrow IPC stream or file in bytes."""
    if data[:6] == b"ARROW1":
        return pa.ipc.open_file(io.BytesIO(data)).read_all()
    return pa.ipc.open_stream(io.BytesIO(data)).read_all()


def generated(out, script, options):
    """Runs script OUT OPTIONS once, kept until the script or its options change. Safe when two runs start at a time."""
    stamp = hashlib.sha256(pathlib.Path(script).read_bytes() + repr(options).encode()).hexdigest()
    with open(f"{out}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        mark = out / ".stamp"
        if not (mark.is_file() and mark.read_text() == stamp):
            shutil.rmtree(out, ignore_errors=True)
            subprocess.run([sys.executable, str(script), str(out), *options], check=True, stdout=subprocess.DEVNULL)
            mark.write_text(stamp)
    return out


PEER_HEAD = """
import json, os, sys
import pyarrow as pa, pyarrow.parquet as pq, timelake
args = json.load(sys.stdin)
result = None
"""
PEER_TAIL = """
sys.stdout.flush()
with os.fdopen(3, "w") as answer:
    json.dump(result, answer, default=str)
"""


class Peer:
    """Timelake 0.7.0 through short Python snippets, each in a process of its own.

    peer("result = timelake.Lake(args['lake']).tables()", lake=str(lake)) -> the JSON value of `result`. An exception in the
    snippet raises PeerError with its text.
    """

    def __init__(self, python):
        self.python = python

    def __call__(self, snippet, timeout=300, **args):
        read, write = os.pipe()
        try:
            # the answer has its own pipe, as fd 3, so that nothing printed can mix with it
            run = subprocess.Popen(["bash", "-c", f'exec "$0" -c "$1" 3>&{write}', str(self.python), PEER_HEAD + snippet + PEER_TAIL],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[write])
            os.close(write)
            write = None
            out, err = run.communicate(json.dumps(args, default=str).encode(), timeout=timeout)
            with os.fdopen(read) as answer:
                read = None
                text = answer.read()
        finally:
            for fd in (read, write):
                if fd is not None:
                    os.close(fd)
        if run.returncode != 0:
            raise PeerError((out + err).decode(errors="replace").strip())
        return json.loads(text)

    def table(self, snippet, **args):
        """As a call, but `result` must be a pyarrow.Table, which is handed over as a file."""
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, "result.arrow")
            self(snippet + "\nwith pa.ipc.new_file(args['out'], result.schema) as w: w.write_table(result)\nresult = None",
                 out=path, **args)
            with pa.OSFile(path) as f:
                return pa.ipc.open_file(f).read_all()

    def sql(self, lake, query, dedup=True, namespace="default"):
        return self.table("l = timelake.Lake(args['lake'])\n"
                          "l.sql('set timelake.read_dedup=' + ('true' if args['dedup'] else 'false'), namespace=args['ns'])\n"
                          "result = l.sql(args['query'], namespace=args['ns'])",
                          lake=str(lake), query=query, dedup=dedup, ns=namespace)

    def latest(self, lake, name):
        return self.table("result = timelake.Lake(args['lake']).latest(args['name'])", lake=str(lake), name=name)

    def append(self, lake, name, table, batch_id=None, maintain=False):
        """Appends a pyarrow.Table; gives 0.7.0's report."""
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, "rows.arrow")
            with pa.ipc.new_file(path, table.schema) as w:
                w.write_table(table)
            # 0.7.0 panics where a decimal is not aligned to 16 bytes, as it may be in a file: hand it a copy
            return self("rows = pa.ipc.open_file(args['rows']).read_all()\n"
                        "rows = rows.take(pa.array(range(rows.num_rows), pa.int64()))\n"
                        "result = timelake.Lake(args['lake']).table(args['name']).append(rows, batch_id=args['id'], maintain=args['maintain'])",
                        lake=str(lake), name=name, rows=path, id=batch_id, maintain=maintain)

    def create(self, lake, name, schema, **options):
        """Creates a table; options as in 0.7.0's create_table (time_column, series_key, chunk, dedup, ...)."""
        data = schema.empty_table()
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, "schema.arrow")
            with pa.ipc.new_file(path, data.schema) as w:
                w.write_table(data)
            self("schema = pa.ipc.open_file(args['schema']).schema\n"
                 "timelake.Lake(args['lake']).create_table(args['name'], schema, **args['options'])",
                 lake=str(lake), name=name, schema=path, options=options)

    def maintain(self, lake, name):
        return self("result = timelake.Lake(args['lake']).table(args['name']).maintain()", lake=str(lake), name=name)

    def info(self, lake, name):
        return self("result = timelake.Lake(args['lake']).table(args['name']).info()", lake=str(lake), name=name)


class PeerError(Exception):
    """A snippet failed in the peer; the text is its traceback."""


def java_home():
    """A Java that Spark 3.5 runs on (8, 11 or 17), or None."""
    homes = [os.environ.get("JAVA_HOME")] + sorted(map(str, pathlib.Path("/usr/lib/jvm").glob("*")))
    for home in filter(None, homes):
        java = pathlib.Path(home) / "bin" / "java"
        if java.is_file():
            text = subprocess.run([java, "-version"], capture_output=True, text=True).stderr
            found = re.search(r'version "(?:1\.)?(\d+)', text)
            if found and int(found.group(1)) in (8, 11, 17):
                return home
    return None


def start_spark(iceberg, work):
    """A local Spark session with this version of iceberg-spark-runtime. work: folder for its warehouse and temporary files."""
    jar = DEPS / "jars" / f"iceberg-spark-runtime-3.5_2.12-{iceberg}.jar"
    if not jar.is_file():
        pytest.skip(f"no {jar.relative_to(ROOT)}: run scripts/test-deps.sh")
    home = java_home()
    if home is None:
        pytest.skip("no Java 8, 11 or 17 for Spark: run scripts/test-deps.sh")
    os.environ["JAVA_HOME"] = home
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession
    session = (SparkSession.builder.master("local[2]").appName("timelake-tests")
               .config("spark.jars", str(jar))
               .config("spark.driver.memory", "1g")
               .config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
               .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
               .config("spark.sql.shuffle.partitions", "1")
               .config("spark.sql.session.timeZone", "UTC")
               .config("spark.local.dir", str(work / "tmp")).config("spark.sql.warehouse.dir", str(work / "spark-warehouse"))
               .config("spark.driver.extraJavaOptions", f"-Duser.timezone=UTC -Dderby.system.home={work}")
               .config("spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
               .config("spark.sql.catalog.local", "org.apache.iceberg.spark.SparkCatalog")
               .config("spark.sql.catalog.local.type", "hadoop")
               .config("spark.sql.catalog.local.warehouse", str(work / "warehouse"))
               .getOrCreate())
    session.sparkContext.setLogLevel("ERROR")
    return session


def spark_table(frame):
    """A Spark DataFrame as a pyarrow.Table (without pandas)."""
    from pyspark.sql.pandas.types import to_arrow_schema
    schema = to_arrow_schema(frame.schema)
    batches = frame._collect_as_arrow()
    return pa.Table.from_batches(batches) if batches else schema.empty_table()


def write_from_spark(session, table_dir, out):
    """All rows of the Iceberg table in this folder as Parquet files in `out`, written by Spark."""
    session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    session.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED")
    session.read.format("iceberg").load(str(table_dir)).write.parquet(str(out))


class OldSpark:
    """Spark with another version of iceberg-spark-runtime, which needs a JVM and so a process of its own; started at the first
    call, ended by close(). spark(dirs) -> the rows of the tables in these folders, as pyarrow.Tables."""

    def __init__(self, iceberg, work):
        self.iceberg, self.work, self.process, self.calls = iceberg, pathlib.Path(work), None, 0

    def __call__(self, dirs):
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, __file__, self.iceberg, str(self.work)], text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(self.work / "log", "w"))
        self.calls += 1
        out = self.work / str(self.calls)
        print(json.dumps({"dirs": [str(d) for d in dirs], "out": str(out)}), file=self.process.stdin, flush=True)
        for line in self.process.stdout:
            if line.startswith("answer: "):
                answer = json.loads(line.removeprefix("answer: "))
                break
        else:
            raise AssertionError(f"Spark with Iceberg {self.iceberg} ended: {(self.work / 'log').read_text()[-4000:]}")
        if "skip" in answer:
            pytest.skip(answer["skip"])
        assert "error" not in answer, f"Spark with Iceberg {self.iceberg}: {answer['error'][:4000]}"
        return [pq.read_table(out / str(i)) for i in range(len(dirs))]

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait(timeout=120)


def _old_spark_main(iceberg, work):
    """The process behind OldSpark: a request a line in, Parquet folders out, an answer a line."""
    session = None
    for line in sys.stdin:
        request, answer = json.loads(line), {}
        try:
            session = session or start_spark(iceberg, pathlib.Path(work))
            for i, path in enumerate(request["dirs"]):
                write_from_spark(session, path, f"{request['out']}/{i}")
        except pytest.skip.Exception as reason:
            answer = {"skip": str(reason)}
        except Exception as e:
            answer = {"error": str(e)}
        print("answer: " + json.dumps(answer), flush=True)
    if session:
        session.stop()


if __name__ == "__main__":
    _old_spark_main(*sys.argv[1:3])
