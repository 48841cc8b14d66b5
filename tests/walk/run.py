#!/usr/bin/python3
"""Walks of an operator: arrays of drawn shapes, clients that know what each block may hold, and commands in any order.

A seed draws the array, its volumes and the commands; when they meet the clients' requests is up to the machine. After each round the server is
stopped, or killed at once or later. Then commands change the stopped array, or not; it is checked, served again, and each block is compared with
what it may hold: all that was answered is there, flushed or not. A command may be refused. It may not panic, hang, or do harm. Members go away between rounds and come back, and blocks of one may rot.

A failed walk leaves its directory, with all commands in `story` and the server's log, and prints the command that walks it again.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import nbd

ROOT = Path(__file__).resolve().parents[2]
CYGNUS = os.environ.get("CYGNUS", str(ROOT / "target/debug/cygnus"))
BLOCK = 4096
PATIENCE = 120  # seconds that a command, a start or a stop may take
MEMORY = Path("/dev/shm")  # where servers keep what a kill must not take

# What R-groups store on, from fast to slow.
MEDIA = ["nvm", "flash", "disk", "smr"]


class Bad(Exception):
    """What must not happen."""


class Blocks:
    """What each block of a volume may hold. Each write of a block has a version, which the block's contents tell; zeros are version 0."""

    def __init__(self, name, count):
        self.name, self.count = name, count
        self.versions = [{0} for _ in range(count)]
        self.next = 1

    def contents(self, block, version):
        return bytes(BLOCK) if version == 0 else (block << 32 | version).to_bytes(8, "little") * (BLOCK // 8)

    def draw(self, first, count):
        """Versions for a write, which the blocks may hold from now on."""
        versions = range(self.next, self.next + count)
        self.next += count
        for block, version in enumerate(versions, first):
            self.versions[block].add(version)
        return b"".join(self.contents(block, version) for block, version in enumerate(versions, first))

    def may_be_zeros(self, first, count):
        for block in range(first, first + count):
            self.versions[block].add(0)

    def wrote(self, first, count, data):
        """Was answered: each block holds this, and nothing else."""
        for n in range(count):
            self.versions[first + n] = {self.version(data[n * BLOCK : (n + 1) * BLOCK])}

    def version(self, contents):
        return int.from_bytes(contents[:4], "little")

    def compare(self, first, data, settle=False):
        """Fails if a block holds something else. `settle`: what it holds now is what it holds from now on."""
        for n in range(len(data) // BLOCK):
            block, found = first + n, bytes(data[n * BLOCK : (n + 1) * BLOCK])
            if all(found != self.contents(block, version) for version in self.versions[block]):
                raise Bad(f"{self.name} block {block} holds {found[:16].hex()}..., and not version {sorted(self.versions[block])}")
            if settle:
                self.versions[block] = {self.version(found)}


class Walk:
    """One array in a directory of its own, from its creation to its end."""

    def __init__(self, seed):
        self.seed, self.rng = seed, random.Random(seed)
        self.dir = Path(tempfile.mkdtemp(prefix=f"cygnus-walk-{seed}-", dir=os.environ.get("TMPDIR", "/var/tmp")))
        self.kept = MEMORY / self.dir.name
        self.kept.mkdir(mode=0o700)
        self.begun = time.monotonic()
        self.story = open(self.dir / "story", "w", buffering=1)
        self.server, self.volumes, self.devices, self.away = None, {}, 0, None
        self.rotten = False
        self.drives = {}  # software SSDs, by their sockets

    def tell(self, text):
        self.story.write(f"{time.monotonic() - self.begun:8.2f} {text}\n")

    def cygnus(self, *args, codes=None):
        """Runs a command; fails if that panics, hangs, or does not end with one of `codes`."""
        command = [CYGNUS, "--state", str(self.dir / "state"), *args]
        try:
            done = subprocess.run(command, cwd=self.dir, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise Bad(f"'{' '.join(args)}' has not ended in {PATIENCE} s")
        self.tell(f"{' '.join(args)} -> {done.returncode} {done.stderr[-300:].strip() if done.returncode else ''}")
        # 5: the server was killed meanwhile, and nobody knows.
        if done.returncode not in (codes or (0, 1, 2, 3, 4, 5)) or "panicked" in done.stderr:
            raise Bad(f"'{' '.join(args)}' ended with {done.returncode}: {done.stderr[-1000:]}")
        return done

    # The array

    def create(self):
        """Makes an array and its volumes; False if such an array is refused."""
        rng = self.rng
        preset = rng.choice(["swan", "swan", "log-raid", "fusion", "scala-afa", "salsa", "salsa", "triple-a", "serial"])
        self.data, self.parity = rng.choice([1, 2, 2, 3, 4]), rng.choice([1, 1, 1, 2, 2, 3])
        groups = {"swan": rng.choice([2, 3]), "log-raid": 1, "fusion": 1, "scala-afa": 1, "serial": rng.choice([3, 4])}.get(preset, rng.choice([1, 2, 3]))
        if preset == "serial":
            self.data, self.parity = 1, 1
        self.mib = rng.choice([64, 96, 160])
        self.zoned = preset not in ("fusion", "scala-afa") and rng.random() < 0.15
        self.soft = preset in ("fusion", "scala-afa") and rng.random() < 0.6
        media = [rng.choice(MEDIA) for _ in range(groups)] if preset == "salsa" and rng.random() < 0.7 else []
        self.raid = {medium: (self.data, self.parity) for medium in MEDIA}
        if media and rng.random() < 0.5:
            # Groups on disks have another shape.
            self.raid["disk"] = self.raid["smr"] = rng.choice([1, 2, 3, 5]), rng.choice([1, 2, 3])
        shapes = ",".join(f"{medium}:{data}+{parity}" for medium, (data, parity) in self.raid.items())
        self.shaped = self.raid["disk"] != self.raid["flash"]
        flags = ["--preset", preset, "--groups", str(groups), "--raid", shapes if self.shaped else f"{self.data}+{self.parity}"]
        flags += ["--media", ",".join(media)] if media else []
        may = lambda chance, flag, *values: [flag, rng.choice(values)] if rng.random() < chance else []
        if not self.zoned and preset != "serial":
            flags += may(0.4, "--protection", "two-phase", "parity-buffer", "offload")
        flags += may(0.3, "--streams", "together", "heat", "volume")
        flags += may(0.3, "--cleaning", "greedy", "circular", "cost-benefit", "generalised:0.5", "d-choices:4")
        flags += may(0.3, "--chunk", "16KiB", "32KiB", "128KiB")
        flags += may(0.2, "--parity", "fixed")
        flags += may(0.3, "--over-provision", "15%", "30%", "40%")
        made = [self.raid[medium] for medium in media or ["flash"] * groups]
        members = [self.device() for _ in range(sum(data + parity for data, parity in made))]
        if self.cygnus("array", "create", "tank", *flags, *members, *self.new_files()).returncode:
            return False
        self.uuid = self.status()["uuid"]
        count, mib = rng.choice([1, 2, 3]), sum(data for data, _ in made) * self.mib
        for name in (f"v{n}" for n in range(count)):
            size = max(2, int(mib * rng.choice([0.1, 0.2, 0.3]) / count)) // 2 * 2
            flags = may(0.4, "--ack", "memory", "written", "durable") + may(0.4, "--page", "8KiB", "16KiB", "64KiB")
            flags += may(0.5, "--fine", "64KiB", "1MiB") if "--page" in flags else []
            kinds = sorted(set(media))
            if len(kinds) > 1 and rng.random() < 0.6:
                pair = ",".join(rng.sample(kinds, 2))
                flags += rng.choice([["--hybrid"], ["--hybrid", "--media", pair], ["--media", rng.choice(kinds)], ["--prefer", rng.choice(MEDIA)]])
            if self.cygnus("volume", "create", f"tank/{name}", "--size", f"{size}MiB", *flags).returncode == 0:
                self.volumes[name] = Blocks(name, size * 256)
        return bool(self.volumes)

    def device(self):
        """Where a new member is to be."""
        self.devices += 1
        path = str(self.dir / f"m{self.devices}")
        if self.zoned:
            self.cygnus("zoned", "make", path, "--size", f"{max(self.mib, 128)}MiB", "--zone", "2MiB", "--conventional", "8", codes=(0,))
            return f"zoned:{path}"
        if self.soft:
            self.drive(f"{path}.sock")
            return f"ssd:unix:{path}.sock"
        return path

    def drive(self, socket):
        """Serves a software SSD, which is made at its first time, and waits until it is ready."""
        command = [CYGNUS, "ssd", "serve", socket.removesuffix(".sock"), "--create", f"{self.mib}MiB", "--sparse", "--listen", f"unix:{socket}"]
        with open(self.dir / "drives.log", "a") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, cwd=self.dir, text=True)
        self.drives[socket] = process
        if not process.stdout.readline().startswith("ready"):
            raise Bad(f"{socket} is not ready")

    def kill_drive(self, socket):
        self.tell(f"{socket} is killed")
        self.drives[socket].kill()
        self.drives[socket].wait()

    def new_files(self):
        return [] if self.zoned or self.soft else ["--create", f"{self.mib}MiB", "--sparse"]

    def status(self):
        return json.loads(self.cygnus("array", "status", "tank", "--json", codes=(0, 3, 4)).stdout)

    # The server

    def serve(self):
        kept = self.rng.choice([[], ["--kept-in", str(MEMORY)], ["--kept-in", str(self.kept)]])
        flags = ["--reactors", str(self.rng.choice([1, 1, 2, 3])), *kept, *(["--autonomics"] if self.rng.random() < 0.2 else [])]
        self.tell(f"serve {' '.join(flags)}")
        command = [CYGNUS, "--state", str(self.dir / "state"), "serve", "tank", "--nbd", f"unix:{self.dir}/nbd", *flags]
        with open(self.dir / "server.log", "a") as log:
            environment = {name: value for name, value in os.environ.items() if name != "CYGNUS_KEPT_IN"}
            self.server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, cwd=self.dir, text=True, env=environment)
        line = []
        reader = threading.Thread(target=lambda: line.append(self.server.stdout.readline()))
        reader.start()
        reader.join(PATIENCE)
        if not line or not line[0].startswith("ready"):
            raise Bad(f"the server is not ready: {line}")

    def kill(self):
        self.tell("kill -9")
        self.server.kill()
        self.server.wait()

    def stop(self):
        self.tell("SIGTERM")
        self.server.terminate()
        try:
            code = self.server.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Bad(f"the server has not stopped in {PATIENCE} s")
        if code:
            raise Bad(f"the server stopped with {code}")

    @contextlib.contextmanager
    def connected(self, blocks):
        handle = nbd.NBD()
        handle.set_export_name(blocks.name)
        handle.connect_unix(str(self.dir / "nbd"))
        yield handle
        with contextlib.suppress(nbd.Error):
            handle.shutdown()

    def verify(self):
        for blocks in self.volumes.values():
            with self.connected(blocks) as handle:
                for first in range(0, blocks.count, 64):
                    count = min(64, blocks.count - first)
                    blocks.compare(first, handle.pread(count * BLOCK, first * BLOCK), settle=True)

    # Those who use it

    def client(self, blocks, seed, until, end):
        """Reads, writes, trims and zeros until the time or the connection ends."""
        rng = random.Random(seed)
        try:
            with self.connected(blocks) as handle:
                while time.monotonic() < until:
                    self.request(handle, blocks, rng)
        except Bad as bad:
            end["bad"] = str(bad)
        except nbd.Error as error:
            end["error"] = str(error)

    def request(self, handle, blocks, rng):
        first = rng.randrange(blocks.count if rng.random() < 0.5 else max(1, blocks.count // 8))
        count = min(rng.choice([1, 1, 1, 2, 4, 16, 16, 40, 64]), blocks.count - first)
        what, at, length = rng.random(), first * BLOCK, count * BLOCK
        try:
            if what < 0.6:
                data = blocks.draw(first, count)
                handle.pwrite(data, at, nbd.CMD_FLAG_FUA if rng.random() < 0.1 else 0)
                blocks.wrote(first, count, data)
            elif what < 0.8:
                blocks.compare(first, handle.pread(length, at))
            elif what < 0.84:
                # A block that shares its page with others may keep its data.
                blocks.may_be_zeros(first, count)
                handle.trim(length, at)
            elif what < 0.88:
                blocks.may_be_zeros(first, count)
                handle.zero(length, at)
                blocks.wrote(first, count, bytes(length))
            elif handle.can_flush():
                handle.flush()
        except nbd.Error as error:
            if error.errnum != 28:  # ENOSPC: full, and parts of the request may have been done
                raise
            time.sleep(0.02)

    def operator(self, until, end):
        """Gives commands to the server until the time ends, or the server."""
        try:
            while time.monotonic() < until and self.server.poll() is None:
                time.sleep(self.rng.random() / 2)
                self.rng.choice([self.look, self.spare, self.unspare, self.drain, self.replace, self.scrub, self.add, self.retire, self.cancel, self.change_volume, self.pause, self.lose_a_drive])()
        except (Bad, ProcessLookupError) as bad:
            end["bad"] = str(bad)

    def look(self):
        self.status()
        for what in ("array", "list"), ("volume", "list", "tank"):
            self.cygnus(*what, "--json")

    def spare(self):
        self.cygnus("array", "spare", "add", "tank", self.device(), *self.new_files())

    def unspare(self):
        for spare in self.status().get("spares", [])[:1]:
            self.cygnus("array", "spare", "remove", "tank", spare["uuid"])

    def member(self):
        device = self.rng.choice(self.status()["devices"])
        return device.get("path") or str(device["index"])

    def drain(self):
        self.cygnus("array", "drain", "tank", self.member())

    def replace(self):
        self.cygnus("array", "replace", "tank", self.member(), self.device(), "--force", "--yes", *self.new_files())

    def scrub(self):
        self.cygnus("array", "scrub", "tank", *self.rng.choice([[], ["--wait"]]))

    def add(self):
        if self.devices < 40 and self.rng.random() < 0.3:
            medium = self.rng.choice(MEDIA)
            devices = (self.device() for _ in range(sum(self.raid[medium])))
            self.cygnus("array", "add", "tank", *(["--media", medium] if self.shaped else []), *devices, *self.new_files())

    def retire(self):
        self.cygnus("array", "retire", "tank", str(self.rng.choice(self.status()["groups"])["index"]))

    def cancel(self):
        for job in self.status().get("jobs", [])[:1]:
            self.cygnus("array", "cancel", "tank", str(job["id"]))

    def change_volume(self):
        """Of volumes that no client uses; and when those answer that clients use."""
        other = f"tank/x{self.rng.randrange(3)}"
        level = f"ack={self.rng.choice(['memory', 'written', 'durable'])}"
        self.cygnus(*self.rng.choice([
            ("volume", "create", other, "--size", "4MiB"),
            ("volume", "delete", other, "--yes"),
            ("volume", "resize", other, "--size", self.rng.choice(["8MiB", "4GiB"])),
            ("volume", "set", f"tank/{self.rng.choice(list(self.volumes))}", level),
        ]))  # fmt: skip

    def pause(self):
        self.server.send_signal(signal.SIGSTOP)
        time.sleep(self.rng.random() * 2)
        self.server.send_signal(signal.SIGCONT)
        self.tell("was paused")

    def lose_a_drive(self):
        """A software SSD is killed and comes back soon; it loses nothing."""
        for socket in self.rng.sample(sorted(self.drives), min(1, len(self.drives))):
            self.kill_drive(socket)
            time.sleep(self.rng.choice([0, 0.1, 1, 4]))
            self.drive(socket)
            self.tell(f"{socket} is served again")

    def repair(self):
        self.cygnus("array", "check", "tank", "--repair")

    def scan(self):
        self.cygnus("array", "scan", str(self.dir))

    def hide(self):
        """A member is away for a round, if nobody else is."""
        status = self.status()
        if self.parity and status["state"] == "healthy" and not self.away:
            self.away = Path(self.rng.choice(status["devices"])["path"].removeprefix("zoned:").removeprefix("ssd:unix:"))
            self.tell(f"{self.away} is away")
            if str(self.away) in self.drives:
                self.kill_drive(str(self.away))
            else:
                self.away.rename(f"{self.away}-away")

    def rot(self):
        """Blocks of a member rot while nobody looks. All else is there and durable: the array was stopped."""
        status = self.status()
        files = [Path(device["path"]) for device in status["devices"] if Path(device.get("path") or "").is_file()]
        if not (self.parity and files and status["state"] == "healthy" and status["clean"]):
            return
        victim = self.rng.choice(files)
        blocks = self.rng.sample(range(512, victim.stat().st_size // BLOCK), 200)
        with open(victim, "r+b") as file:
            for block in blocks:
                file.seek(block * BLOCK + self.rng.randrange(BLOCK))
                file.write(self.rng.randbytes(1))
        self.rotten = True
        self.tell(f"{len(blocks)} blocks of {victim} have rotted")

    def scrub_rot(self):
        """What has rotted is right again."""
        if self.rotten:
            self.cygnus("array", "scrub", "tank", "--wait", codes=(0,))
            self.rotten = False

    def bring_back(self):
        if self.away:
            self.tell(f"{self.away} is back")
            if str(self.away) in self.drives:
                self.drive(str(self.away))
            else:
                Path(f"{self.away}-away").rename(self.away)
            self.away = None

    # A round

    def round(self, seconds):
        """Serves, has everybody at work, and ends the server in one way or another."""
        self.serve()
        self.verify()
        self.scrub_rot()
        until = time.monotonic() + seconds
        ends = [{} for _ in range(len(self.volumes) + 1)]
        at_work = [(self.client, blocks, self.rng.random(), until) for blocks in self.volumes.values()] + [(self.operator, until)]
        threads = [threading.Thread(target=what, args=(*args, end)) for (what, *args), end in zip(at_work, ends)]
        for thread in threads:
            thread.start()
        how = self.rng.choice(["kill", "kill", "stop", "stop", "kill at work"])
        if how == "kill at work":
            time.sleep(self.rng.random() * seconds)
            self.kill()
        for thread in threads:
            thread.join(2 * PATIENCE)
            if thread.is_alive():
                raise Bad("a client or an operator waits for ever")
        for end in ends:
            if "bad" in end or ("error" in end and how != "kill at work"):
                raise Bad(end.get("bad") or end["error"])
        if how != "kill at work":
            if self.server.poll() is not None:
                raise Bad(f"the server has ended by itself, with {self.server.returncode}")
            self.kill() if how == "kill" else self.stop()
        for log in (self.dir / "server.log", self.dir / "drives.log"):
            if log.exists() and "panicked" in log.read_text():
                raise Bad(f"a panic is in {log}")

    def between(self):
        """What is done to the stopped array."""
        self.bring_back()
        for _ in range(self.rng.choice([0, 0, 1, 2])):
            self.rng.choice([self.change_volume, self.add, self.repair, self.scan, self.look])()
        found = self.cygnus("array", "check", "tank", "--json", codes=(0, 3))
        report = json.loads(found.stdout)
        if not report["consistent"] or any(finding["damage"] for finding in report["findings"]):
            raise Bad(f"the check found damage: {found.stdout[:2000]}")
        self.rng.choice([self.hide, self.rot, self.rot, lambda: None, lambda: None])()

    def end(self, keep):
        if self.server and self.server.poll() is None:
            self.server.kill()
            self.server.wait()
        for drive in self.drives.values():
            drive.kill()
            drive.wait()
        self.story.close()
        for place in MEMORY, self.kept:
            for end in "", ".at":
                (place / f"cygnus-{getattr(self, 'uuid', 'none')}{end}").unlink(missing_ok=True)
        shutil.rmtree(self.kept, ignore_errors=True)
        if not keep:
            shutil.rmtree(self.dir)


def walk(seed):
    """Walks a seed; returns in a word what it came to."""
    one, bad = Walk(seed), None
    try:
        if not one.create():
            return "refused"
        for _ in range(one.rng.choice([2, 3, 4])):
            one.round(one.rng.choice([2, 4, 8]))
            one.between()
        one.serve()
        one.verify()
        one.stop()
        return "well"
    except Bad as error:
        bad = error
        print(f"seed {seed} FAILED: {bad}\n  {one.dir}/story\n  again: tests/walk/run.py --start {seed} --seeds 1", flush=True)
        return "failed"
    finally:
        one.end(keep=bad is not None)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=10, metavar="N", help="how many walks, one after the other [default: 10]")
    options.add_argument("--start", type=int, default=0, metavar="N", help="the first seed [default: 0]")
    args = options.parse_args()
    if not os.access(CYGNUS, os.X_OK):
        options.error(f"{CYGNUS} is missing: cargo build -p cygnus-cli")
    outcomes = {}
    for seed in range(args.start, args.start + args.seeds):
        outcome = walk(seed)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        done = ", ".join(f"{count} {what}" for what, count in sorted(outcomes.items()))
        print(f"\rseed {seed}: {done}" if sys.stdout.isatty() else f"seed {seed}: {outcome}", end="" if sys.stdout.isatty() else "\n", flush=True)
    print(f"\nwalks: {done}")
    sys.exit(1 if "failed" in outcomes else 0)


if __name__ == "__main__":
    main()
