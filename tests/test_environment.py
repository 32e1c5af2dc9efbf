"""The time zone, the locale, the umask and the number of cores change nothing: not a byte of the data files, not a path, not
a character of what is printed."""
import hashlib
import os
import re
import shutil
import subprocess

import pytest

import harness
import lakes

WORLDS = [
    {"TZ": "America/New_York", "LC_ALL": "de_DE.UTF-8", "umask": 0o077},
    {"TZ": "Asia/Kolkata", "LC_ALL": "tr_TR.UTF-8", "umask": 0o000},
    {"TZ": ":/no/such/zone", "LC_ALL": "C.UTF-8", "LANG": "xx_YY", "umask": 0o022, "cores": 1},
    {"TZ": None, "LC_ALL": None, "umask": 0o027},
]
# both sides of a clock change in New York and in Berlin, an edge of a day, before 1970; numbers that a locale would write otherwise
CSV = """machine,time,v,note
a,2025-11-02T05:30:00Z,0.5,first half past one
a,2025-11-02T06:30:00Z,1234567.25,second half past one
a,2025-03-30T01:30:00+02:00,1e-7,ı
b,2025-03-30T02:30:00,-0.0,"a time without a zone is UTC, İ"
b,1969-12-31T23:59:59.999999Z,3,
b,2024-02-29T23:59:59.999999-05:00,,leap
"""


def run_in(world, command, lake, *args, stdin=None):
    tl = harness.Command(command, lake)
    for name, value in world.items():
        if name not in ("umask", "cores"):
            tl.env.pop(name, None)
            if value is not None:
                tl.env[name] = value
    argv = tl.argv(*args)
    if "cores" in world:
        if not shutil.which("taskset"):
            pytest.skip("no taskset")
        argv = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *argv]
    run = subprocess.run(argv, input=stdin or b"", capture_output=True, env=tl.env, umask=world.get("umask", -1), timeout=120)
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout.decode()


def state(lake, name):
    """Data files by partition folder and content."""
    data = lake / "default" / name / "data"
    found = []
    for path in sorted(data.rglob("*.parquet")):
        found.append((str(path.parent.relative_to(data)), hashlib.sha256(path.read_bytes()).hexdigest()))
    return sorted(found)


def partitions(lake, name):
    return sorted((f.file.partition[0], f.file.record_count, f.file.file_size_in_bytes) for f in plan(lake, name))


def plan(lake, name):
    from pyiceberg.table import StaticTable
    table = StaticTable.from_metadata(f"file://{lakes.metadata_file(lake / 'default' / name)}")
    return list(table.scan().plan_files())


def steps(world, command, lake, weather):
    csv = lake.parent / "odd.csv"
    csv.write_text(CSV)
    said = []
    run_in(world, command, lake, "import", "odd", csv, "--time-column", "time", "--series-key", "machine", "--chunk", "hour", "--no-ingest-time")
    run_in(world, command, lake, "import", "weather", weather, "--time-column", "time_hour", "--series-key", "origin", "--chunk", "month",
           "--no-ingest-time", "--null", "NA")
    for form in ("table", "csv", "json"):
        said.append(run_in(world, command, lake, "sql", "select * from odd order by machine, time", "--format", form))
        said.append(run_in(world, command, lake, "latest", "odd", "--format", form))
    said.append(run_in(world, command, lake, "sql", "select time_bucket(interval '1 day', time_hour) as d, avg(temp) as t from weather where origin = 'JFK' "
                       "and time_hour >= '2013-03-09' and time_hour < '2013-03-12' group by d order by d", "--format", "csv"))
    said.append(run_in(world, command, lake, "sql", "select date_trunc('day', time) as d, hour(time) as h, strftime(time, '%A %x') as x from odd order by machine, time",
                       "--format", "csv"))
    said.append(re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S*", "", run_in(world, command, lake, "settings")))
    return said


@pytest.fixture(scope="module")
def plainly(command, weather, tmp_path_factory):
    lake = tmp_path_factory.mktemp("plain") / "lake"
    said = steps({"TZ": "UTC", "LC_ALL": "C", "umask": 0o022}, command, lake, weather)
    return lake, said


@pytest.mark.parametrize("world", WORLDS, ids=lambda w: str(w["TZ"]))
def test_nothing_depends_on_where_it_runs(command, weather, plainly, tmp_path, world):
    lake, said = plainly
    other = tmp_path / "lake"
    assert steps(world, command, other, weather) == said
    for name in ("odd", "weather"):
        assert state(other, name) == state(lake, name)
        assert partitions(other, name) == partitions(lake, name)


def test_times_are_what_the_file_says(plainly, command):
    lake, _ = plainly
    assert sorted(p for p, _ in state(lake, "odd")) == sorted(f"time_hour={h}" for h in (
        "1969-12-31-23", "2024-03-01-04", "2025-03-29-23", "2025-03-30-02", "2025-11-02-05", "2025-11-02-06"))
    rows = harness.Command(command, lake).sql("select epoch_us(time) as t, v from odd where machine = 'a' order by time").to_pylist()
    assert rows == [{"t": 1743291000000000, "v": 1e-7}, {"t": 1762061400000000, "v": 0.5}, {"t": 1762065000000000, "v": 1234567.25}]
