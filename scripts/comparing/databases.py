"""PostgreSQL and MariaDB on a folder of a volume, and their benchmarks; both as users that are not root."""
import contextlib
import pathlib
import re
import shutil
import subprocess

from .served import run, until

# A copy of each database is read and written by this many clients.
CLIENTS = 8
DATABASES = 4
ROWS = 200_000


def owned(mount, user):
    """A new folder on the volume that belongs to the user, who can get there."""
    folder = mount / user
    folder.mkdir()
    shutil.chown(folder, user)
    for parent in folder.parents:
        if parent.stat().st_mode & 0o5 != 0o5 and parent != pathlib.Path("/"):
            parent.chmod(parent.stat().st_mode | 0o5)
    return folder


class Postgres:
    """One database, and its own TPC-B-like benchmark."""

    PACKAGES = ["postgresql"]

    def __init__(self, mount, scale=5):
        self.tools = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        self.data, self.scale = owned(mount, "postgres"), scale

    def run(self, tool, *args):
        return run(["runuser", "-u", "postgres", "--", self.tools / tool, *args], cwd="/")

    @contextlib.contextmanager
    def running(self):
        self.run("initdb", "-D", self.data, "--no-sync")
        options = f"-c listen_addresses= -c unix_socket_directories={self.data} -c shared_buffers=64MB"
        self.run("pg_ctl", "-D", self.data, "-w", "-l", self.data / "log", "-o", options, "start")
        try:
            self.run("createdb", "-h", self.data, "bench")
            self.run("pgbench", "-h", self.data, "-i", "-q", "-s", self.scale, "bench")
            yield self
        finally:
            self.run("pg_ctl", "-D", self.data, "-w", "-m", "fast", "stop")

    def transactions(self, seconds):
        """Transactions a second."""
        out = self.run("pgbench", "-h", self.data, "-c", CLIENTS, "-j", 2, "-T", seconds, "bench")
        return float(re.search(r"^tps = ([0-9.]+)", out, re.MULTILINE)[1])


class MariaDb:
    """Four databases on one server, each with sysbench's transactions of reads and writes."""

    PACKAGES = ["mariadb-server", "sysbench"]
    OPTIONS = [
        "--skip-networking",
        "--innodb-buffer-pool-size=64M",
        "--innodb-log-file-size=64M",
        "--innodb-flush-method=O_DIRECT",
        "--innodb-flush-log-at-trx-commit=1",
    ]

    def __init__(self, mount):
        self.data = owned(mount, "mysql")
        self.socket = self.data / "socket"

    @contextlib.contextmanager
    def running(self):
        run(["mariadb-install-db", f"--datadir={self.data}", "--user=mysql", "--auth-root-authentication-method=normal"])
        command = ["mariadbd", "--no-defaults", f"--datadir={self.data}", f"--socket={self.socket}", "--user=mysql", *self.OPTIONS]
        with open(self.data / "log", "w") as log:
            server = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            until("MariaDB", lambda: self.socket.exists() or server.poll() is not None)
            if server.poll() is not None:
                raise SystemExit(f"MariaDB ended: {(self.data / 'log').read_text().strip()}")
            for number in range(DATABASES):
                run(["mariadb", f"--socket={self.socket}", "-e", f"create database bench{number}"])
            self.sysbench("prepare")
            yield self
        finally:
            server.terminate()
            server.wait()

    def sysbench(self, what, *more):
        """All databases at the same time; what each prints."""
        command = lambda number: [
            "sysbench", "oltp_read_write", f"--mysql-socket={self.socket}", "--mysql-user=root", f"--mysql-db=bench{number}",
            f"--table-size={ROWS}", f"--threads={CLIENTS // DATABASES}", *more, what,
        ]
        started = [subprocess.Popen(command(n), stdout=subprocess.PIPE, text=True) for n in range(DATABASES)]
        printed = [process.communicate()[0] for process in started]
        if any(process.returncode for process in started):
            raise SystemExit(f"sysbench {what}: {' '.join(printed).strip()}")
        return printed

    def transactions(self, seconds):
        """Transactions a second, of all databases together."""
        printed = self.sysbench("run", f"--time={seconds}")
        return sum(float(re.search(r"transactions:\s+\d+\s+\(([0-9.]+) per sec", text)[1]) for text in printed)
