"""Fixtures of the end-to-end tests: the command under test, lakes in temporary folders, inputs, and the peers.

What comes in: build/timelake (TL_COMMAND overrides), ../shared (TL_SHARED overrides), and what scripts/test-deps.sh put
into .deps. A missing input skips the tests that need it and says why; a missing command fails them.
"""
import os
import pathlib
import subprocess

import pytest

import harness

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEPS = ROOT / ".deps"


def shared_dir():
    return pathlib.Path(os.environ.get("TL_SHARED") or ROOT.parent / "shared")


@pytest.fixture(scope="session")
def shared():
    """The folder with the specification's inputs (parquet-testing, bench generators)."""
    if not shared_dir().is_dir():
        pytest.skip(f"no folder {shared_dir()} (set TL_SHARED)")
    return shared_dir()


@pytest.fixture(scope="session")
def command():
    """Path of the command under test."""
    path = pathlib.Path(os.environ.get("TL_COMMAND") or ROOT / "build" / "timelake")
    if not path.is_file():
        pytest.fail(f"{path} is not there: run `make` first")
    return path


@pytest.fixture
def lake(tmp_path):
    """An empty folder for a lake; gone after the test."""
    path = tmp_path / "lake"
    path.mkdir()
    return path


@pytest.fixture
def tl(command, lake):
    """Runs the command on this test's lake: tl("ls") -> Result(rc, out, err); tl.ok(...) also asserts rc 0 and gives stdout."""
    return harness.Command(command, lake)


@pytest.fixture(scope="session")
def weather():
    """weather.csv: 26,115 hourly readings of three airports; series origin, time time_hour, nulls NA."""
    path = DEPS / "weather.csv"
    if not path.is_file():
        pytest.skip("no .deps/weather.csv: run scripts/test-deps.sh")
    return path


def _iiot(name, options):
    """Runs ../shared/bench/iiot.py once per version of it and keeps the files in .deps/<name>."""
    out, script = DEPS / name, shared_dir() / "bench" / "iiot.py"
    if not script.is_file():
        pytest.skip(f"no {script} (set TL_SHARED)")
    return harness.generated(out, script, options)


@pytest.fixture(scope="session")
def iiot():
    """The IIoT input: batch-*.parquet (226 files) and expected.parquet (7,776,000 rows)."""
    return _iiot("iiot", [])


@pytest.fixture(scope="session")
def iiot_small():
    """The same in small: 5 machines, 2 days, a row a minute (14,400 rows after dedup)."""
    return _iiot("iiot-small", ["--machines", "5", "--days", "2", "--every", "60"])


@pytest.fixture(scope="session")
def peer():
    """Timelake 0.7.0 in its own environment; see harness.Peer."""
    python = DEPS / "venv-peer" / "bin" / "python"
    if not python.is_file():
        pytest.skip("no .deps/venv-peer (Timelake 0.7.0): run scripts/test-deps.sh")
    return harness.Peer(python)


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """The one Spark session of a run, with iceberg-spark-runtime 1.12.0. The catalog `local` holds tables made by Spark."""
    session = harness.start_spark("1.12.0", tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture(scope="session")
def spark_old(tmp_path_factory):
    """Reads tables with iceberg-spark-runtime 1.10.0 in a Spark of its own: spark_old([dir, ...]) -> [pyarrow.Table, ...].

    Two versions of the runtime do not live in one JVM.
    """
    session = harness.OldSpark("1.10.0", tmp_path_factory.mktemp("spark-old"))
    yield session
    session.close()


def pytest_collection_modifyitems(items):
    """Tests that use Spark are marked, and come last, so that a failure elsewhere is seen without waiting for its start."""
    for item in items:
        if {"spark", "spark_old"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.spark)
    items.sort(key=lambda item: item.get_closest_marker("spark") is not None)


def pytest_report_header():
    lines = [f"shared input: {shared_dir()}"]
    path = pathlib.Path(os.environ.get("TL_COMMAND") or ROOT / "build" / "timelake")
    if path.is_file():
        version = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60)
        lines.append(f"command: {path} {version.stdout.strip()}")
    return lines
