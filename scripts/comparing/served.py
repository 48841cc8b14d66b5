"""Arrays that are served while they are compared: what the scripts that compare have in common."""
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CYGNUS = os.environ.get("CYGNUS", str(ROOT / "target/release/cygnus"))


def run(command, **how):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, **how)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def until(what, condition):
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    sys.exit(f"this does not come true: {what}")


def made_ready(*packages):
    """Debian packages, those of the tests among them, and the release program."""
    subprocess.run([ROOT / "scripts/setup.sh", "test", *packages], check=True, stdout=subprocess.DEVNULL)
    if not os.access(CYGNUS, os.X_OK):
        subprocess.run(["cargo", "build", "--release", "-p", "cygnus-cli"], cwd=ROOT, check=True)


class Served:
    """An array in a folder of its own, with one volume `tank/v`, and what runs for it."""

    def __init__(self, name, top):
        self.name, self.dir, self.processes = name, top / name.replace(", ", "-"), []
        self.dir.mkdir()
        self.uri = f"nbd+unix:///v?socket={self.dir}/nbd.sock"

    def env(self):
        return {**os.environ, "CYGNUS_STATE": str(self.dir / "state")}

    def cygnus(self, *args):
        done = subprocess.run([CYGNUS, *args], cwd=self.dir, env=self.env(), text=True, capture_output=True)
        if done.returncode > 3:
            sys.exit(f"cygnus {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout

    def start(self, command, **how):
        log = open(self.dir / "log", "a")
        started = subprocess.Popen(command, cwd=self.dir, env=self.env(), stdout=log, stderr=log, **how)
        self.processes.append(started)
        return started

    def create(self, flags, members, volume):
        self.cygnus("array", "create", "tank", *flags, *members)
        self.cygnus("volume", "create", "tank/v", "--size", volume)

    def serve(self, *flags):
        self.start([CYGNUS, "serve", "tank", "--nbd", "unix:nbd.sock", *flags])
        until(f"the server of {self.name}", (self.dir / "nbd.sock").exists)

    def fio(self, what, name):
        command = ["fio", f"--name={name}", "--ioengine=nbd", f"--uri={self.uri}", "--output-format=json", *what]
        done = run(command, cwd=self.dir)
        return json.loads(done[done.index("{") :])["jobs"][0]

    def status(self):
        return json.loads(self.cygnus("array", "status", "tank", "--json"))

    def written(self):
        """Bytes that all members have taken."""
        return sum(device["io"]["written_bytes"] for device in self.status()["devices"])

    @contextlib.contextmanager
    def mounted(self, *mkfs):
        """The folder of a new ext4 on the volume, by nbdfuse and a loop device, which needs root."""
        disk, mount = self.dir / "disk", self.dir / "mnt"
        disk.touch()
        mount.mkdir(exist_ok=True)
        fuse = subprocess.Popen(["nbdfuse", "-C", "4", str(disk), self.uri])
        until("nbdfuse", lambda: f" {disk} " in pathlib.Path("/proc/mounts").read_text())
        loop = run(["losetup", "--show", "--find", "--direct-io=on", "--sector-size", "4096", disk]).strip()
        try:
            run(["mkfs.ext4", "-q", "-F", *mkfs, loop])
            run(["mount", loop, mount])
            yield mount
        finally:
            subprocess.run(["umount", str(mount)], check=False)
            subprocess.run(["losetup", "-d", loop], check=False)
            subprocess.run(["fusermount3", "-u", str(disk)], check=False)
            fuse.wait()

    def end(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait()


@contextlib.contextmanager
def arrays(names, make, prefix):
    """All arrays, made below $TMPDIR; they and their files are gone afterwards, whatever happens."""
    top = pathlib.Path(tempfile.mkdtemp(prefix=prefix, dir=os.environ.get("TMPDIR", "/var/tmp")))
    made = []
    try:
        for name in names:
            made.append(make(name, top))
        yield made
    finally:
        for array in made:
            array.end()
        shutil.rmtree(top, ignore_errors=True)


def known(parser, asked, separator, all_names):
    """The arrays that were asked for, or the parser's complaint."""
    names = asked.split(separator)
    unknown = [name for name in names if name not in all_names]
    if unknown:
        parser.error(f"no array {unknown[0]!r}: there are {f'{separator} '.join(all_names)}")
    return names


def beside(results, names, key, reference, digits=0):
    """A cell for each array: the median of its rounds and, in parentheses, of the ratios to the reference in the same round."""
    cells = []
    for name in names:
        mine, theirs = results[name], results.get(reference, results[name])
        ratio = statistics.median(a[key] / b[key] for a, b in zip(mine, theirs))
        cells.append(f"{statistics.median(a[key] for a in mine):.{digits}f} ({ratio:.2f})")
    return cells


def markdown(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
