#!/usr/bin/env bash
# Malformed handshakes and requests: the bad connection is closed (or refused), and another client never notices.
. "$(dirname "$0")/common.sh"
once_of_each
need /usr/bin/python3 nbdinfo
[[ $TARGET != flawed ]] || skip "the deliberately simple stand-in checks nothing"
serve
python <<'P'
import socket
import struct
import threading
import time

from client import *

OPT = b"IHAVEOPT"
REPLY = struct.pack(">Q", 0x0003E889045565A9)
EXPORT_NAME, ABORT, LIST, INFO, GO = 1, 2, 3, 6, 7
ERROR = 1 << 31


class Raw:
    """A socket that speaks as badly as it is told to."""

    def __init__(self, client_flags=3):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(20)
        self.s.connect(SOCKET)
        check(self.take(16) == b"NBDMAGIC" + OPT, "greeting")
        self.take(2)
        if client_flags is not None:
            self.s.sendall(struct.pack(">I", client_flags))

    def take(self, n):
        got = b""
        while len(got) < n:
            part = self.s.recv(n - len(got))
            if not part:
                raise EOFError
            got += part
        return got

    def option(self, number, body, length=None, magic=OPT):
        self.s.sendall(magic + struct.pack(">II", number, len(body) if length is None else length) + body)

    def reply(self):
        magic, option, kind, length = struct.unpack(">8sIII", self.take(20))
        check(magic == REPLY, "option reply magic")
        return kind, self.take(length)

    def go(self):
        self.option(GO, struct.pack(">I", len(EXPORT)) + EXPORT.encode() + b"\0\0")
        while self.reply()[0] != 1:
            pass
        return self

    def request(self, command, cookie=7, offset=0, length=0, flags=0, magic=0x25609513, payload=b""):
        self.s.sendall(struct.pack(">IHHQQI", magic, flags, command, cookie, offset, length) + payload)

    def answer(self):
        magic, error, cookie = struct.unpack(">IIQ", self.take(16))
        check(magic == 0x67446698, "simple reply magic")
        return error, cookie

    def closed(self, what):
        """The server ends the connection; whatever it says before that does not matter."""
        try:
            while self.s.recv(65536):
                pass
        except ConnectionError:
            pass
        except TimeoutError:
            raise SystemExit(f"FAIL: {what}: the connection is still open after 20 s")


stop_bystander = threading.Event()
bystander_failure = []
bystander_rounds = [0]


def bystander():
    """A well-behaved client beside all of this."""
    try:
        h = connect()
        while not stop_bystander.is_set():
            i = bystander_rounds[0] = bystander_rounds[0] + 1
            h.pwrite(data(20000, i), MIB + i % 5000)
            same(h, MIB + i % 5000, data(20000, i), "the bystander's data")
    except (SystemExit, Exception) as e:
        bystander_failure.append(e)


thread = threading.Thread(target=bystander, daemon=True)
thread.start()

# --- negotiation
r = Raw(client_flags=0xFFFF0003)
r.closed("unknown client flags")
r = Raw()
r.option(GO, b"", magic=b"IHAVENOT")
r.closed("option without its magic")
r = Raw()
r.option(GO, b"x" * 100, length=0xFFFFFFFF)
r.closed("option of 4 GiB")
r = Raw()
r.option(GO, struct.pack(">I", 4000) + b"vol0\0\0")
check(r.reply()[0] & ERROR, "GO whose name is longer than the option is refused")
r = Raw()
r.option(GO, b"\0")
check(r.reply()[0] & ERROR, "GO too short for a name is refused")
r = Raw()
r.option(GO, struct.pack(">I", 4) + EXPORT.encode() + struct.pack(">H", 900) + b"\0\3")
check(r.reply()[0] & ERROR, "GO promising more information requests than it has is refused")
r = Raw()
r.option(0x7777, b"what is this")
check(r.reply()[0] == ERROR | 1, "an unknown option is answered with REP_ERR_UNSUP")
if TARGET == "cygnus":
    r.option(GO, struct.pack(">I", 6) + b"absent\0\0")
    check(r.reply()[0] == ERROR | 6, "GO for an export that does not exist is answered with REP_ERR_UNKNOWN")
    r.option(LIST, b"surplus")
    check(r.reply()[0] == ERROR | 3, "LIST with data is answered with REP_ERR_INVALID")
    r.go()  # and after all that the connection still works
    r.request(0, length=512)
    check(r.answer() == (0, 7), "a read after refused options")
    r = Raw()
    r.option(EXPORT_NAME, b"absent")
    r.closed("EXPORT_NAME for an export that does not exist")
    r = Raw()
    r.option(GO, struct.pack(">I", 4) + b"vo\xff\xfe\0\0")
    check(r.reply()[0] & ERROR, "a name that is not UTF-8 is refused")
r = Raw()
r.option(ABORT, b"")
r.closed("ABORT")
r = Raw(client_flags=2)
r.option(EXPORT_NAME, EXPORT.encode())
size, _ = struct.unpack(">QH", r.take(10))
check(size > 0, "EXPORT_NAME works")

# --- transmission
r = Raw().go()
r.request(0, length=512, magic=0x11111111)
r.closed("request without its magic")
r = Raw().go()
r.request(77)
check(r.answer() == (22, 7), "an unknown command is answered with EINVAL")
r.request(0, cookie=8, length=512)
check(r.answer() == (0, 8), "and the connection goes on")
check(len(r.take(512)) == 512, "with its data")
r.request(0, cookie=9, length=512, flags=0x8000)
check(r.answer() == (22, 9), "an unknown flag is answered with EINVAL")
r = Raw().go()
r.request(1, length=0xFFFFFFFF)
r.s.shutdown(socket.SHUT_WR)
r.closed("a write of 4 GiB, cut off")
r = Raw().go()
r.request(1, length=65536, offset=64 * MIB, payload=b"x" * 1000)
r.s.close()  # in the middle of the payload
r = Raw().go()
r.s.sendall(b"\x25\x60\x95\x13\x00")
r.s.close()  # in the middle of a header
r = Raw().go()
for i in range(64):
    r.request(0, cookie=i, length=MIB)
r.s.close()  # with 64 MiB of answers outstanding
r = Raw().go()
r.request(2)
r.closed("polite disconnect")

# --- noise
noise = random.Random(11)
for i in range(300):
    r = Raw(client_flags=3 if i % 5 else None)
    if i % 5 and i % 3 == 0:
        r.go()
    try:
        r.s.sendall((OPT if i % 2 else b"") + noise.randbytes(noise.randrange(1, 3000)))
        r.s.shutdown(socket.SHUT_WR)
        r.closed("noise")
    except (ConnectionError, OSError):
        pass  # closed while we were still talking
    r.s.close()
# A connection that says nothing at all takes nothing from the others.
silent = [Raw(client_flags=None) for _ in range(32)]

# However slow the array is, it gets on.
deadline = time.monotonic() + 60
while bystander_rounds[0] <= 20 and thread.is_alive() and time.monotonic() < deadline:
    time.sleep(0.01)
stop_bystander.set()
thread.join()
check(not bystander_failure, f"the bystander noticed: {bystander_failure}")
check(bystander_rounds[0] > 20, "the bystander was at work all the time")
h = connect()
if TARGET == "cygnus":
    same(h, 64 * MIB, bytes(65536), "a write cut off in its payload is not done")
P
stop
