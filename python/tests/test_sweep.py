"""Sweeps on this machine."""

import os
import pathlib
import subprocess
import sys

import pytest

import cygnus_lab


def test_a_sweep_is_a_frame_of_the_same_rows(here):
    frame = cygnus_lab.sweep(here / "sweep.toml", out=here / "rows.csv")
    assert len(frame) == 16
    assert set(frame["array"]) == {"raid0", "log-raid"} and set(frame["seed"]) == {1, 2}
    assert frame["write_iops"].gt(0).all() and frame["error"].isna().all()
    command = [os.environ["CYGNUS"], "lab", "sweep", here / "sweep.toml", "--out", here / "cli.csv"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert (here / "rows.csv").read_bytes() == (here / "cli.csv").read_bytes()


def test_any_scenario_may_be_varied(here):
    vary = {"workload.fio.0.distribution": [{"zipf": 0.9}, "uniform"], "workload.fio.0.depth": [1]}
    frame = cygnus_lab.sweep(here / "small.toml", vary=vary, seeds=1, files=here / "runs", jobs=1)
    assert list(frame["workload.fio.0.distribution"].unique()) == ["{ zipf = 0.9 }", "uniform"]
    for one in frame["id"]:
        assert (here / "runs" / one / "timeseries.csv").exists()


def test_mistakes_are_told_in_the_words_of_the_program(here):
    with pytest.raises(cygnus_lab.CygnusError, match="unknown field `dept`"):
        cygnus_lab.sweep(here / "small.toml", vary={"workload.fio.0.dept": [1]})
    with pytest.raises(cygnus_lab.CygnusError, match="no such program"):
        cygnus_lab.sweep(here / "sweep.toml", binary="no-such-program")
    with pytest.raises(ValueError, match="leave out ray"):
        cygnus_lab.sweep(here / "sweep.toml", files=here, ray=True)


def test_what_is_no_list_of_values_is_refused_in_words(here):
    for vary in ({"workload.fio.0.depth": 4}, {"volume.size": "32MiB"}, {"workload.fio.0.rate": {"iops": 100}}):
        with pytest.raises(TypeError, match="is a list of values, such as"):
            cygnus_lab.sweep(here / "small.toml", vary=vary)
    with pytest.raises(TypeError, match="vary is a dictionary"):
        cygnus_lab.sweep(here / "small.toml", vary=["workload.fio.0.depth=1"])


def test_ray_that_is_not_installed_is_named(here, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(cygnus_lab.CygnusError, match="needs Ray: pip install"):
        cygnus_lab.sweep(here / "small.toml", ray=True)


def test_runs_that_fail_are_rows_and_a_warning(here):
    text = (here / "small.toml").read_text()
    job = '[[workload.fio]]\ndepth = 4\nread = 50'
    (here / "small.toml").write_text(text.replace(job, '[workload.replay]\nfile = "nowhere.csv"'))
    with pytest.warns(UserWarning, match="2 of 2 runs failed"):
        frame = cygnus_lab.sweep(here / "small.toml")
    assert frame["error"].str.contains("nowhere.csv").all()


def test_a_program_that_others_may_write_is_not_run(tmp_path, monkeypatch):
    from cygnus_lab import _ray

    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    luggage = {"binary": b"#!/bin/true\n", "digest": "0123"}
    program = pathlib.Path(_ray._unpacked(luggage))
    assert program.read_bytes() == luggage["binary"] and program.stat().st_mode & 0o111
    program.parent.chmod(0o777)
    with pytest.raises(cygnus_lab.CygnusError, match="others may write"):
        _ray._unpacked(luggage)
