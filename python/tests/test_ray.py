"""The same sweeps on Ray, on this machine as a cluster of one node."""

import pytest

import cygnus_lab

ray = pytest.importorskip("ray", reason="ray is not installed: pip install './python[ray]'")


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_rows_are_those_of_this_machine(here):
    cygnus_lab.sweep(here / "sweep.toml", out=here / "local.csv")
    frame = cygnus_lab.sweep(here / "sweep.toml", out=here / "ray.csv", ray=True)
    assert len(frame) == 16
    assert (here / "ray.csv").read_bytes() == (here / "local.csv").read_bytes()


def test_an_address_is_refused_where_ray_is_connected_already(here):
    with pytest.raises(cygnus_lab.CygnusError, match="Ray is connected already"):
        cygnus_lab.sweep(here / "sweep.toml", ray="127.0.0.1:1")


def test_a_sweep_goes_on_where_it_was(here):
    cygnus_lab.sweep(here / "sweep.toml", out=here / "rows.csv")
    whole = (here / "rows.csv").read_bytes()
    # Cut in the middle of a row.
    (here / "rows.csv").write_bytes(whole[: len(whole) // 2])
    cygnus_lab.sweep(here / "sweep.toml", out=here / "rows.csv", ray=True)
    assert (here / "rows.csv").read_bytes() == whole


def test_a_scenario_without_a_file_and_a_trace_travel_too(here):
    frame = cygnus_lab.sweep("tiny", vary={"run.duration": ["20ms"], "run.ramp": ["5ms"], "aging.overwrite": [0.0]}, ray=True)
    assert len(frame) == 2 and frame["error"].isna().all()
    text = (here / "small.toml").read_text()
    job = '[[workload.fio]]\ndepth = 4\nread = 50'
    (here / "small.toml").write_text(text.replace(job, '[workload.replay]\nfile = "traces/t.csv"'))
    (here / "traces").mkdir()
    (here / "traces/t.csv").write_text("1,h,0,Write,0,4096,1\n2,h,0,Read,4096,4096,1\n")
    assert cygnus_lab.sweep(here / "small.toml", ray=True)["error"].isna().all()
