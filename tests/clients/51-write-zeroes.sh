#!/usr/bin/env bash
# WRITE_ZEROES with and without NO_HOLE, FAST_ZERO, unaligned, large: reads back as zeros and leaves the neighbours alone.
. "$(dirname "$0")/common.sh"
need /usr/bin/python3 nbdinfo
serve
python <<'P'
from client import *
h = connect(contexts=[ALLOCATION])
h.pwrite(data(16 * MIB, 1), 0)
expected = bytearray(data(16 * MIB, 1))


def zero(offset, length, flags=0):
    h.zero(length, offset, flags)
    expected[offset : offset + length] = bytes(length)


zero(0, 4096)
zero(65536, MIB)
zero(2 * MIB, MIB, nbd.CMD_FLAG_NO_HOLE)
zero(4 * MIB + 100, 50)  # inside one block
zero(5 * MIB - 1, 2)  # two bytes of two blocks
zero(6 * MIB + 511, 2 * MIB + 3)  # ragged at both ends
zero(6 * MIB + 513 + 3 * MIB, 70001, nbd.CMD_FLAG_NO_HOLE)
zero(12 * MIB, 3 * MIB, nbd.CMD_FLAG_FUA)
if h.can_fast_zero():
    try:
        zero(15 * MIB, 512 * KIB, nbd.CMD_FLAG_FAST_ZERO)
    except nbd.Error as e:
        check(e.errnum in (errno.ENOTSUP, errno.EOPNOTSUPP), f"FAST_ZERO succeeds or answers ENOTSUP, not {e.string}")
        same(h, 15 * MIB, bytes(expected[15 * MIB : 15 * MIB + 4096]), "refused FAST_ZERO left the data")
same(h, 0, bytes(expected), "after WRITE_ZEROES")
h.pwrite(data(4096, 2), 13 * MIB)
same(h, 13 * MIB, data(4096, 2), "written over zeroed blocks")
same(h, 13 * MIB + 4096, bytes(4096), "zeroed neighbour")
if TARGET == "cygnus":
    check(h.can_fast_zero(), "FAST_ZERO is offered")
if TARGET == "cygnus" and not IN_PLACE:
    check(flags_at(h, 65536, MIB) == {HOLE | ZERO}, "zeroed without NO_HOLE: a hole")
    check(not any(f & HOLE for f in flags_at(h, 2 * MIB, MIB)), "zeroed with NO_HOLE: not a hole")
# Longer than any payload could be: WRITE_ZEROES carries none.
h.zero(h.get_size(), 0)
for offset in range(0, h.get_size(), 32 * MIB):
    length = min(32 * MIB, h.get_size() - offset)
    same(h, offset, bytes(length), "the whole volume zeroed in one request")
P
stop
