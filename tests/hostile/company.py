"""The client of ordinary habits that stands beside each attack, who works on which core, and what waiting is compared with.

A remote attacker has processors of its own. Here it has to share them, so the server has a core to itself, the client that
is watched comes first on another, and attackers get what it leaves there. What other programs of this machine take of either
core does not count: the client's clock stands while the kernel lets the server or the client wait for a processor. So what the
client waits beside an attack longer than alone is what the server did meanwhile. A busy peer, whom nobody calls hostile,
stands where the attacker stood for comparison.
"""

import contextlib
import multiprocessing
import os
import select
import subprocess
import time

from wire import *

BYSTANDER = os.environ["BYSTANDER"]

fork = multiprocessing.get_context("fork")
cores = sorted(os.sched_getaffinity(0))
SERVERS, OTHERS = {cores[0]}, set(cores[1:2] or cores)


def check(truth, what):
    if not truth:
        raise SystemExit(f"FAIL: {what}")


def come_first():
    """Has this process run before whatever else this machine does, if we may say so. It never runs for long."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def take_seats(server):
    """The server on its core, and everybody else on another. Returns the thread that serves."""
    threads = os.listdir(f"/proc/{server}/task")
    for thread in threads:
        os.sched_setaffinity(int(thread), SERVERS)
    os.sched_setaffinity(0, OTHERS)
    serving = [thread for thread in threads if open(f"/proc/{server}/task/{thread}/comm").read() == "reactor-0\n"]
    check(len(serving) == 1, "one thread of the server serves")
    return f"{server}/task/{serving[0]}"


class Bystander:
    """The client that is watched."""

    def __init__(self, address, thread):
        self.process = subprocess.Popen(
            [BYSTANDER, address, "vol0", "watched", thread], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=come_first
        )

    def took(self):
        """Seconds that its requests took since the last call."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        check(select.select([self.process.stdout], [], [], 120)[0], "the bystander has been waiting for two minutes")
        line = self.process.stdout.readline()
        check(line, "the bystander noticed")
        return [int(time) / 1e9 for time in line.split()]

    def end(self):
        self.process.stdin.close()
        check(self.process.wait(10) == 0, "the bystander noticed")


def busy(address):
    """A peer that reads and writes 32 blocks at a time, as benchmarks and file systems do."""

    def peer(ended):
        client = subprocess.Popen([BYSTANDER, address, "vol0", "busy"], stdin=subprocess.PIPE)
        ended.wait()
        client.stdin.close()
        check(client.wait(10) == 0, "the busy peer noticed")

    return peer


def beside(bystander, peer, seconds, look=lambda: None, during=None):
    """The bystander's times beside a process, which is ended and waited for."""
    ended = fork.Event()

    # A check that fails ends all of this, and does not wait for the attack to end.
    process = fork.Process(target=peer, args=(ended,), daemon=True)
    bystander.took()
    process.start()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        look()
        time.sleep(0.02)
    if during:
        during()
    took = bystander.took()
    ended.set()
    process.join(20)
    if process.is_alive():
        process.kill()
        process.join()
    return took


def alone(bystander, seconds):
    bystander.took()
    time.sleep(seconds)
    return bystander.took()


def p99(times):
    return sorted(times)[int(len(times) * 0.99)]
