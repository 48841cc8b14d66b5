"""A sweep's runs spread over a Ray cluster.

The program and the files that the sweep reads travel with the tasks, so nodes need nothing but Ray. Rows come back as tasks end
and are appended to the output, so a sweep that was stopped goes on where it was, here or elsewhere.
"""

import fcntl
import hashlib
import os
import stat
import subprocess
import tempfile

from . import _command

#: Tasks for each processor: enough that none is idle for long in the end, few enough that starting them costs little.
TASKS_PER_PROCESSOR = 8


def run(program, arguments, out, address):
    """Runs what is left of a sweep, and appends the rows to ``out``."""
    try:
        import ray
    except ModuleNotFoundError as error:
        raise _command.CygnusError("ray= needs Ray: pip install ray, or leave ray= out") from error

    plan = _command.ask(program, ["lab", "sweep", *arguments, f"--out={out}", "--dry-run"], "runs")
    left = [run["id"] for run in plan["runs"] if not run["done"]]
    if not left:
        return
    _connect(ray, address)
    luggage = ray.put(_pack(program, plan["files"]))
    task = ray.remote(num_cpus=1, max_retries=3)(_rows)
    processors = max(1, int(ray.cluster_resources().get("CPU", 1)))
    size = max(1, len(left) // (processors * TASKS_PER_PROCESSOR))
    waiting = [task.remote(luggage, arguments, left[at : at + size]) for at in range(0, len(left), size)]
    with _Output(out) as output:
        while waiting:
            ended, waiting = ray.wait(waiting)
            for one in ended:
                output.append(ray.get(one))


#: The address that a sweep connected to, and the job that Ray made of it.
_connected = None


def _connect(ray, address):
    """Connects to the cluster. What is connected already stays: without an address it is what is meant, with one it has to be that."""
    global _connected
    if not ray.is_initialized():
        ray.init(address=address, include_dashboard=False, log_to_driver=False)
        _connected = (address, ray.get_runtime_context().get_job_id())
    elif address is not None and _connected != (address, ray.get_runtime_context().get_job_id()):
        raise _command.CygnusError(
            f"ray={address!r}: Ray is connected already, to this cluster or another one: "
            "use that with ray=True, or call ray.shutdown() first"
        )


class _Output:
    """The file of the rows, which nobody else writes meanwhile."""

    def __init__(self, path):
        self.file = open(path, "a+b")
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _command.CygnusError(f"{path}: another sweep is writing to it") from None
        # A row that was cut short is no row.
        self.file.seek(0)
        self.file.truncate(self.file.read().rfind(b"\n") + 1)
        self.empty = self.file.seek(0, os.SEEK_END) == 0

    def append(self, text):
        header, _, rows = text.partition(b"\n")
        self.file.write(header + b"\n" + rows if self.empty else rows)
        self.file.flush()
        self.empty = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()


def _pack(program, files):
    """The program and the files, by their paths below the directory that they have in common."""
    contents = {}
    paths = [os.path.abspath(path) for path in files]
    top = os.path.commonpath([os.path.dirname(path) for path in paths]) if paths else "/"
    for path in paths:
        with open(path, "rb") as file:
            contents[os.path.relpath(path, top)] = file.read()
    with open(program, "rb") as file:
        binary = file.read()
    return {"files": contents, "binary": binary, "digest": hashlib.sha256(binary).hexdigest()[:16]}


def _rows(luggage, arguments, ids):
    """On a node: the header and the rows of these runs."""
    program = _unpacked(luggage)
    with tempfile.TemporaryDirectory(prefix="cygnus-lab-") as scratch:
        for name, content in luggage["files"].items():
            path = os.path.join(scratch, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
        # The sweep's own file is the first one; a scenario that comes with the program has none.
        first = next(iter(luggage["files"]), None)
        own = os.path.join(scratch, first) if first else arguments[0]
        out = os.path.join(scratch, "rows.csv")
        only = [word for one in ids for word in ("--only", one)]
        command = [program, "lab", "sweep", own, *arguments[1:], *only, "--jobs", "1", "--out", out]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        # With status 1 some runs failed, and their rows say why.
        if done.returncode not in (0, 1) or not os.path.exists(out):
            raise _command.CygnusError(done.stderr.strip())
        with open(out, "rb") as file:
            return file.read()


def _unpacked(luggage):
    """The program's path on this node, written there by the first task that needs it."""
    directory = os.path.join(tempfile.gettempdir(), f"cygnus-lab-{os.getuid()}-{luggage['digest']}")
    os.makedirs(directory, mode=0o700, exist_ok=True)
    # Whoever may write there decides what is run.
    about = os.lstat(directory)
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o022:
        raise _command.CygnusError(f"{directory}: others may write there: remove it, and run the sweep again")
    program = os.path.join(directory, "cygnus")
    if not os.path.exists(program):
        handle, begun = tempfile.mkstemp(dir=directory)
        with os.fdopen(handle, "wb") as file:
            file.write(luggage["binary"])
        os.chmod(begun, 0o755)
        os.replace(begun, program)
    return program
