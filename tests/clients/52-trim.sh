#!/usr/bin/env bash
# TRIM: whole blocks read as zeros and become holes, ragged ends keep their data, space comes back.
. "$(dirname "$0")/common.sh"
need /usr/bin/python3 nbdinfo
only_on cygnus "that TRIM reads as zeros is our promise, not NBD's"
only_log "blocks keep their place, and mostly their data: 64-in-place has what holds there"
serve
python <<'P'
from client import *
h = connect(contexts=[ALLOCATION])
h.pwrite(data(8 * MIB, 1), 0)
expected = bytearray(data(8 * MIB, 1))
h.trim(MIB, MIB)
expected[MIB : 2 * MIB] = bytes(MIB)
same(h, 0, bytes(expected), "after TRIM of whole blocks")
check(flags_at(h, MIB, MIB) == {HOLE | ZERO}, "a trimmed range is a hole")
check(flags_at(h, 2 * MIB, MIB) == {0}, "the range behind it is data")
h.trim(10000, 3 * MIB + 1000)  # whole blocks 3M+4096 and 3M+8192-.. lie inside
got = bytes(h.pread(16384, 3 * MIB))
check(got[:1000] == expected[3 * MIB : 3 * MIB + 1000], "data before a ragged TRIM stays")
check(got[11000:] == expected[3 * MIB + 11000 : 3 * MIB + 16384], "data behind a ragged TRIM stays")
check(got[4096:8192] == bytes(4096), "a whole block inside a ragged TRIM reads as zeros")
h.pwrite(data(4096, 2), MIB + 4096)
same(h, MIB + 4096, data(4096, 2), "written after TRIM")
same(h, MIB + 8192, bytes(4096), "trimmed neighbour")
# More than the array could hold if TRIM did not give space back.
fill = data(32 * MIB, 2)
for i in range(5):
    for offset in range(0, h.get_size(), 32 * MIB):
        h.pwrite(fill, offset)
    h.trim(h.get_size(), 0)
    h.flush()
check(flags_at(h, 0, h.get_size()) == {HOLE | ZERO}, "all trimmed")
P
stop
