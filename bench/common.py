"""What the benchmarks share: CPU seconds of a call or a program, medians, and one line a figure with its bar."""
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("TL_BUILD", ROOT / "build"))
SHARED = pathlib.Path(os.environ.get("TL_SHARED", ROOT.parent / "shared"))
WORK = pathlib.Path(os.environ.get("TL_BENCH_DIR", ROOT / ".deps" / "bench"))
PEER = ROOT / ".deps" / "venv-peer" / "bin" / "python"
RUNS = int(os.environ.get("TL_RUNS", "5"))


def cpu_of(work):
    """CPU seconds (user + system, all threads) of a call in this process."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    result = work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, result


def program(args, **options):
    """Runs a program; gives (CPU seconds, wall seconds, peak RSS in MB, standard output)."""
    import time
    begin = time.perf_counter()
    child = subprocess.Popen([str(a) for a in args], stdout=subprocess.PIPE, text=True, **options)
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{args[0]} failed with {child.returncode}: {out}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - begin, usage.ru_maxrss / 1024, out


def interleaved(contenders, runs=RUNS):
    """contenders: name -> call giving a number. Each round runs all of them once; medians by name."""
    took = {name: [] for name in contenders}
    for _ in range(runs):
        for name, call in contenders.items():
            took[name].append(call())
    return {name: statistics.median(values) for name, values in took.items()}


FIGURES = []


def figure(name, value, unit="", bar=None, at_most=True):
    """Prints one figure; with a bar also whether it is met."""
    verdict = ""
    if bar is not None:
        met = value <= bar if at_most else value >= bar
        verdict = f"   bar {'<=' if at_most else '>='} {bar:g}: {'met' if met else 'MISSED'}"
    print(f"{name:58s} {value:12.3f} {unit}{verdict}", flush=True)
    FIGURES.append({"name": name, "value": value, "unit": unit, "bar": bar, "at_most": at_most})


def save(name):
    WORK.mkdir(parents=True, exist_ok=True)
    (WORK / f"{name}.json").write_text(json.dumps(FIGURES, indent=1))
