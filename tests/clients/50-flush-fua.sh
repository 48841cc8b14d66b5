#!/usr/bin/env bash
# FLUSH and FUA: what was flushed, or written with FUA, is there after kill -9, also when another connection flushed it.
. "$(dirname "$0")/common.sh"
need /usr/bin/python3 nbdinfo
[[ $TARGET != nbdkit-memory ]] || skip "memory does not survive a kill"
serve
python <<'P'
from client import *
a, b = connect(), connect()
check(a.can_flush() and a.can_fua() and a.can_multi_conn(), "FLUSH, FUA and MULTI_CONN are offered")
a.pwrite(data(MIB, 1), 0)
b.pwrite(data(5000, 2), 2 * MIB + 77)
b.flush()  # covers what was answered on connection a as well
for i in range(64):
    a.pwrite(data(4096, 100 + i), 4 * MIB + 8192 * i, nbd.CMD_FLAG_FUA)
a.pwrite(data(700, 3), 6 * MIB + 4000, nbd.CMD_FLAG_FUA)  # parts of two blocks
a.pwrite(data(3 * MIB, 4), 8 * MIB, nbd.CMD_FLAG_FUA)
b.zero(8192, 8 * MIB + 4096, nbd.CMD_FLAG_FUA)
b.trim(16384, 9 * MIB, nbd.CMD_FLAG_FUA)
P
kill9
start
python <<'P'
from client import *
h = connect()
same(h, 0, data(MIB, 1), "written on one connection, flushed on another")
same(h, 2 * MIB + 77, data(5000, 2), "flushed, unaligned")
for i in range(64):
    same(h, 4 * MIB + 8192 * i, data(4096, 100 + i), "FUA, 4 KiB")
    same(h, 4 * MIB + 8192 * i + 4096, bytes(4096), "never written, between FUA writes")
same(h, 6 * MIB + 4000, data(700, 3), "FUA, unaligned")
big = bytearray(data(3 * MIB, 4))
big[4096:12288] = bytes(8192)
if TARGET == "cygnus" and not IN_PLACE:  # TRIM reading as zeros is our promise, not NBD's
    big[MIB : MIB + 16384] = bytes(16384)
else:
    h.pwrite(bytes(big[MIB : MIB + 16384]), 9 * MIB)
same(h, 8 * MIB, bytes(big), "FUA write, WRITE_ZEROES and TRIM")
P
stop
