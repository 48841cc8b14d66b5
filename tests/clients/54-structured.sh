#!/usr/bin/env bash
# Structured replies, DF and CACHE; simple replies for a client that does not ask for structured ones.
. "$(dirname "$0")/common.sh"
once_of_each
need /usr/bin/python3 nbdinfo
serve
python <<'P'
from client import *
h = connect()
h.pwrite(data(4 * MIB, 1), 0)
h.zero(MIB, MIB)
expected = bytearray(data(4 * MIB, 1))
expected[MIB : 2 * MIB] = bytes(MIB)
if TARGET not in ("flawed",):
    check(h.get_structured_replies_negotiated(), "structured replies are negotiated")
chunks = []


def chunk(buffer, offset, status, error):
    chunks.append((offset, len(buffer), status))
    return 0


got = bytes(h.pread_structured(4 * MIB, 0, chunk))
check(got == expected, "structured read returns the data")
check(sum(length for _, length, _ in chunks) == 4 * MIB, "chunks cover the request exactly")
ranges = sorted((offset, offset + length) for offset, length, _ in chunks)
check(all(a[1] <= b[0] for a, b in zip(ranges, ranges[1:])), "chunks do not overlap")
if TARGET == "cygnus":
    check(h.can_df() and h.can_cache(), "DF and CACHE are offered")
if h.can_df():
    chunks.clear()
    got = bytes(h.pread_structured(256 * KIB, MIB - 128 * KIB, chunk, nbd.CMD_FLAG_DF))
    check(got == expected[MIB - 128 * KIB : MIB + 128 * KIB], "DF read across data and hole")
    check(len(chunks) == 1, f"DF answers one chunk, not {len(chunks)}")
if h.can_cache():
    h.cache(2 * MIB, 0)
    same(h, 0, bytes(expected), "after CACHE")
plain = connect(structured=False)
check(not plain.get_structured_replies_negotiated(), "a client that does not ask gets simple replies")
same(plain, 0, bytes(expected), "simple replies")
P
stop
