#!/usr/bin/env bash
# Requests of 32 MiB, written and read in one piece at odd offsets, several in flight.
. "$(dirname "$0")/common.sh"
need /usr/bin/python3 nbdinfo
serve
python <<'P'
from client import *
h = connect()
big = data(32 * MIB, 1)
h.pwrite(big, 0)
check(bytes(h.pread(32 * MIB, 0)) == big, "32 MiB at 0")
h.pwrite(big, 40 * MIB + 1234)
check(bytes(h.pread(32 * MIB, 40 * MIB + 1234)) == big, "32 MiB, unaligned")
same(h, 40 * MIB, bytes(1234), "before it")
buffers, cookies = [], []
for i in range(4):
    buffers.append(nbd.Buffer.from_bytearray(bytearray(data(32 * MIB, 10 + i))))
    cookies.append(h.aio_pwrite(buffers[i], i * 32 * MIB))
for c in cookies:
    while not h.aio_command_completed(c):
        h.poll(-1)
reads = [nbd.Buffer(32 * MIB) for _ in range(4)]
cookies = [h.aio_pread(reads[i], i * 32 * MIB) for i in range(4)]
for c in cookies:
    while not h.aio_command_completed(c):
        h.poll(-1)
for i in range(4):
    check(bytes(reads[i].to_bytearray()) == data(32 * MIB, 10 + i), f"32 MiB in flight with others, number {i}")
P
stop
