"""Sweeps on this machine."""

import os
import pathlib
import subprocess
import sys

import numpy
import pytest

import cygnus_lab
from cygnus_lab import _command


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
    # What begins with a dash is a value, and no option.
    for wrong, words in (({"seeds": -1}, "'-1' for '--seeds"), ({"jobs": -3}, "'-3' for '--jobs")):
        with pytest.raises(cygnus_lab.CygnusError, match=words):
            cygnus_lab.sweep(here / "small.toml", **wrong)
    with pytest.raises(cygnus_lab.CygnusError, match="no such program"):
        cygnus_lab.sweep(here / "sweep.toml", binary="no-such-program")
    with pytest.raises(ValueError, match="leave out ray"):
        cygnus_lab.sweep(here / "sweep.toml", files=here, ray=True)


def test_names_that_begin_with_a_dash_are_no_options(here, monkeypatch):
    monkeypatch.chdir(here)
    with pytest.raises(cygnus_lab.CygnusError, match="--help: No such file"):
        cygnus_lab.sweep("--help")
    (here / "-small.toml").write_text((here / "small.toml").read_text())
    frame = cygnus_lab.sweep("-small.toml", vary={"workload.fio.0.depth": [1]}, out="-rows.csv", files="--runs")
    assert len(frame) == 2 and (here / "-rows.csv").exists() and (here / "--runs").is_dir()
    with pytest.raises(cygnus_lab.CygnusError, match="unknown field `--help`|--help"):
        cygnus_lab.sweep("-small.toml", vary={"--help": [1]})


def test_what_is_no_list_of_values_is_refused_in_words(here):
    for vary in ({"workload.fio.0.depth": 4}, {"volume.size": "32MiB"}, {"workload.fio.0.rate": {"iops": 100}}):
        with pytest.raises(TypeError, match="is a list of values, such as"):
            cygnus_lab.sweep(here / "small.toml", vary=vary)
    with pytest.raises(TypeError, match="vary is a dictionary"):
        cygnus_lab.sweep(here / "small.toml", vary=["workload.fio.0.depth=1"])


def test_texts_that_look_like_nothing_stay_what_they_are(here):
    text = (here / "small.toml").read_text()
    (here / "small.toml").write_text(text.replace('preset = "raid0"', 'name = "NA"\npreset = "raid0"'))
    frame = cygnus_lab.sweep(here / "small.toml", vary={"workload.fio.0.name": ["null", "None"]})
    assert list(frame["array"]) == ["NA", "log-raid"] * 2 and set(frame["drive"]) == {"null"}
    assert list(frame["workload.fio.0.name"]) == ["null", "null", "None", "None"]
    assert frame["makespan_s"].isna().all() and frame["error"].isna().all(), "what is empty is missing"
    one = text.replace('[[array]]\npreset = "log-raid"\nraid = "2+1"\nsegment = "1MiB"\n', "")
    (here / "small.toml").write_text(one.replace('preset = "raid0"', 'name = "007"\npreset = "raid0"'))
    assert list(cygnus_lab.sweep(here / "small.toml")["array"]) == ["007"]


def test_values_are_numbers_texts_and_paths(here):
    assert _command.toml(numpy.array([1, 2])[0]) == "1" and _command.toml(numpy.bool_(True)) == "true"
    assert _command.toml([pathlib.Path("a b/c.csv"), "x", False]) == '["a b/c.csv", "x", false]'
    for odd in (None, {1}, object()):
        with pytest.raises(TypeError, match="is no value of a scenario"):
            cygnus_lab.sweep(here / "small.toml", vary={"workload.fio.0.name": [odd]})
    for odd in ([1, 7], True, "3"):
        with pytest.raises(TypeError, match="seeds says how many"):
            cygnus_lab.sweep(here / "small.toml", seeds=odd)


def test_programs_that_are_no_cygnus_or_an_old_one_are_named(here):
    program = here / "other"
    for text in ("#!/bin/sh\necho 'unrecognized subcommand' >&2; exit 2\n", "#!/bin/sh\necho '{}'\n", "\x7fELF, or not"):
        program.write_text(text)
        program.chmod(0o755)
        with pytest.raises(cygnus_lab.CygnusError, match="other (is no cygnus that has sweeps|cannot be run)"):
            cygnus_lab.sweep(here / "small.toml", binary=program)


def test_ray_that_is_not_installed_is_named(here, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(cygnus_lab.CygnusError, match="needs Ray: pip install"):
        cygnus_lab.sweep(here / "small.toml", ray=True)


class FakeRay:
    """Ray, as far as connecting goes."""

    def __init__(self):
        self.connected, self.job = None, 0

    def is_initialized(self):
        return self.connected is not None

    def init(self, address, **_):
        assert self.connected is None
        self.connected, self.job = address or "local", self.job + 1

    def shutdown(self):
        self.connected = None

    def get_runtime_context(self):
        return self

    def get_job_id(self):
        return str(self.job)


def test_an_address_is_refused_where_ray_is_connected_already(monkeypatch):
    from cygnus_lab import _ray

    monkeypatch.setattr(_ray, "_connected", None)
    ray = FakeRay()
    ray.init(address="elsewhere:1")
    _ray._connect(ray, None)
    for address in ("here:1", "elsewhere:1", "auto"):
        with pytest.raises(cygnus_lab.CygnusError, match="Ray is connected already"):
            _ray._connect(ray, address)
    assert ray.connected == "elsewhere:1"
    ray.shutdown()
    # One sweep after another, over the same cluster.
    _ray._connect(ray, "here:1")
    _ray._connect(ray, "here:1")
    assert ray.connected == "here:1"
    with pytest.raises(cygnus_lab.CygnusError, match="ray.shutdown"):
        _ray._connect(ray, "there:1")
    # The address is the same, and the connection another one.
    ray.shutdown()
    ray.init(address="elsewhere:1")
    with pytest.raises(cygnus_lab.CygnusError, match="Ray is connected already"):
        _ray._connect(ray, "here:1")


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
