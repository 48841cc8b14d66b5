import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

SCENARIO = """
name = "small"
[devices]
preset = "null"
capacity = "256MiB"
[[array]]
preset = "raid0"
drives = 2
[[array]]
preset = "log-raid"
raid = "2+1"
segment = "1MiB"
[volume]
size = "10% of data"
[[workload.fio]]
depth = 4
read = 50
[run]
duration = "20ms"
sample = "5ms"
"""

SWEEP = """
scenario = "small.toml"
seeds = 2
[grid]
workload.fio.0.depth = [1, 4]
volume.size = ["10% of data", "20% of data"]
"""


@pytest.fixture(autouse=True)
def program(monkeypatch):
    """The program that was built here, unless $CYGNUS names another one."""
    monkeypatch.setenv("CYGNUS", os.environ.get("CYGNUS", str(ROOT / "target/debug/cygnus")))


@pytest.fixture
def here(tmp_path):
    (tmp_path / "small.toml").write_text(SCENARIO)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    return tmp_path
