"""A sweep, and the frame of its rows."""

import os
import tempfile
import warnings

import pandas

from . import _command


#: Columns that hold text, whatever it looks like.
_TEXTS = ("id", "version", "array", "drive", "error")


def sweep(file, *, vary=None, seeds=None, out=None, files=None, jobs=None, ray=None, binary=None):
    """Runs a sweep and returns its rows as a pandas frame: those of ``cygnus lab sweep``, in the same order.

    file:   a sweep file, or a scenario: a file, or one that comes with Cygnus
    vary:   keys to vary too, with their values: ``{"workload.fio.0.depth": [1, 4, 16]}``
    seeds:  how many seeds, from 1 on; as the file says if not given
    out:    the CSV file of the rows. Those that are there already are not run again. A temporary one if not given
    files:  a directory where each run leaves its scenario, histograms and time series too; not with ``ray``
    jobs:   runs side by side on this machine; one for each core if not given
    ray:    True, or the address of a Ray cluster: the runs are spread over it, each on one of its processors. An address is refused
            if Ray was connected by somebody else
    binary: the program; else ``$CYGNUS``, else ``cygnus`` in the path

    Raises TypeError if ``vary`` is no dictionary of lists or ``seeds`` no number, CygnusError with the program's words if the sweep
    makes no sense, its rows cannot be written or Ray is connected elsewhere. Runs that fail are told as a warning, and in the column ``error``.
    """
    if ray and files is not None:
        raise ValueError("files= leaves the files of runs on this machine: leave out ray=")
    program = _command.find(binary)
    arguments = [_named(file)]
    for key, values in _varied(vary):
        arguments.append(f"--vary={key}=" + ",".join(_command.toml(value) for value in values))
    if seeds is not None:
        if isinstance(seeds, bool) or not hasattr(seeds, "__index__"):
            raise TypeError(f"seeds says how many, counted from 1, and not {seeds!r}: a sweep file may name them, seeds = [1, 7]")
        arguments.append(f"--seeds={seeds}")
    with tempfile.TemporaryDirectory(prefix="cygnus-lab-") as scratch:
        rows = os.fspath(out) if out is not None else os.path.join(scratch, "rows.csv")
        if ray:
            from . import _ray

            _ray.run(program, arguments, rows, None if ray is True else ray)
        last = [*arguments, f"--out={rows}"]
        if jobs is not None:
            last.append(f"--jobs={jobs}")
        if files is not None:
            last.append(f"--files={os.fspath(files)}")
        # After Ray all rows are there, and are only put in order.
        answer = _command.ask(program, ["lab", "sweep", *last], "failed")
        # Only what is empty is missing: a drive may be "null", and an array's name be NA or 007.
        frame = pandas.read_csv(rows, dtype=dict.fromkeys(_TEXTS, str), keep_default_na=False, na_values=[""])
    if answer["failed"]:
        warnings.warn(f"{answer['failed']} of {answer['runs']} runs failed: see the column error", stacklevel=2)
    return frame


def _named(file):
    """The file's name as an argument: one that begins with a dash is no option."""
    name = os.fspath(file)
    return os.path.join(os.curdir, name) if name.startswith("-") else name


def _varied(vary):
    """The keys to vary with their values. A value alone, such as a text, would be taken for the list of its letters."""
    if vary is None:
        return
    if not hasattr(vary, "items"):
        raise TypeError(f"vary is a dictionary, such as {{'volume.size': ['1GiB', '2GiB']}}, and not {vary!r}")
    for key, values in vary.items():
        if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__iter__"):
            raise TypeError(f"vary[{key!r}] is a list of values, such as [{values!r}], and not {values!r}")
        yield key, values
