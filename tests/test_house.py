"""The code keeps to the plan: which folder may use which, how long files and functions are."""
import subprocess
import sys

import pytest

import harness


def test_rooms_use_only_rooms_before_them(shared):
    script = shared / "tools" / "rooms.py"
    if not script.is_file():
        pytest.skip(f"no {script}")
    run = subprocess.run([sys.executable, script], cwd=harness.ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "", run.stdout
