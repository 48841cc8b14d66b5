#!/usr/bin/env bash
# Many connections at once over the Unix socket and TCP, see each other's writes, come and go.
. "$(dirname "$0")/common.sh"
once_of_each
need /usr/bin/python3 nbdinfo
only_on cygnus "the stand-ins listen on one socket"
# A port nobody listens on: another process could still take it first, then the server says so and the test fails.
PORT=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
serve "127.0.0.1:$PORT"
export PORT
python <<'P'
from client import *
tcp = nbd.NBD()
tcp.connect_uri(f"nbd://127.0.0.1:{os.environ['PORT']}/{EXPORT}")
tcp.pwrite(data(100000, 1), 12345)
many = [connect() for _ in range(64)]
for h in many:
    same(h, 12345, data(100000, 1), "written over TCP, read over a Unix socket")
for i, h in enumerate(many):
    h.pwrite(data(8192, 100 + i), MIB + i * 8192)
for i, h in enumerate(reversed(many)):
    other = len(many) - 1 - (i + 7) % 64
    same(h, MIB + other * 8192, data(8192, 100 + other), "written by another connection")
for h in many[::2]:
    h.shutdown()  # polite
many.clear()  # and not
same(tcp, MIB, data(8192, 100), "after the others are gone")
for _ in range(200):
    connect().shutdown()
tcp.flush()
tcp.shutdown()
P
stop
