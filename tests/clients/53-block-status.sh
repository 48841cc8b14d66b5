#!/usr/bin/env bash
# Block status: base:allocation tells holes from data, also with REQ_ONE and in small pieces; refused without the context.
. "$(dirname "$0")/common.sh"
need /usr/bin/python3 nbdinfo
serve
python <<'P'
from client import *
h = connect(contexts=[ALLOCATION])
check(h.can_meta_context(ALLOCATION), "base:allocation is negotiated")
h.pwrite(data(MIB, 1), 4 * MIB)
h.pwrite(data(65536, 2), 16 * MIB)
size = h.get_size()
check(sum(length for length, _ in extents(h, 0, size)) == size, "extents cover the volume exactly")
check(flags_at(h, 4 * MIB, MIB) == {0}, "written range is data")
never = {0} if IN_PLACE else {HOLE | ZERO}
check(flags_at(h, 8 * MIB, MIB) == never, "range never written is a hole of zeros, or has its space")
at = 0
for length, flags in extents(h, 0, size):
    if flags & ZERO:
        for start in range(at, at + length, 32 * MIB):
            part = min(32 * MIB, at + length - start)
            same(h, start, bytes(part), "range reported as zeros")
    at += length
seen = []


def one(context, start, entries, error):
    seen.append(len(entries) // 2)
    return 0


h.block_status(8 * MIB, 2 * MIB, one, nbd.CMD_FLAG_REQ_ONE)
check(seen == [1], f"REQ_ONE answers one extent, not {seen}")
plain = connect(contexts=[])
refused(lambda: plain.block_status(4096, 0, one), errno.EINVAL)
P
nbdinfo --map --json "$URI" >"$DIR/map.json"
[[ -s $DIR/map.json ]] || fail "nbdinfo --map says nothing"
stop
