#!/usr/bin/env bash
# Bytes at any offset and length, overlapping requests in flight: the volume behaves as an array of bytes.
. "$(dirname "$0")/common.sh"
once_of_each
need /usr/bin/python3 nbdinfo
serve
python <<'P'
from client import *
h = connect()
rng = random.Random(5)
span = 8 * MIB
model = bytearray(span)
for i in range(1500):
    length = rng.choice([1, 3, 511, 512, 513, 4095, 4096, 4097, rng.randrange(1, 20000), rng.randrange(1, 300000)])
    offset = rng.randrange(0, span - length)
    kind = rng.randrange(10)
    if kind < 6:
        new = rng.randbytes(length)
        h.pwrite(new, offset)
        model[offset : offset + length] = new
    elif kind < 8:
        h.zero(length, offset, rng.choice([0, nbd.CMD_FLAG_NO_HOLE]))
        model[offset : offset + length] = bytes(length)
    else:
        check(bytes(h.pread(length, offset)) == model[offset : offset + length], f"read {i} at {offset}+{length}")
same(h, 0, bytes(model), "after 1500 requests of bytes")

# Overlapping writes in flight: each byte is one of theirs.
for i in range(40):
    start = rng.randrange(0, 4096)
    writes = [(start + rng.randrange(0, 6000), bytes([k + 1]) * 9000) for k in range(8)]
    buffers = [nbd.Buffer.from_bytearray(bytearray(d)) for _, d in writes]
    cookies = [h.aio_pwrite(b, o) for b, (o, _) in zip(buffers, writes)]
    for c in cookies:
        while not h.aio_command_completed(c):
            h.poll(-1)
    got = bytes(h.pread(20000, 0))
    for at in range(start, start + 15000):
        allowed = {d[0] for o, d in writes if o <= at < o + len(d)} or {model[at]}
        check(got[at] in allowed, f"byte {at} is {got[at]}, which no overlapping write left there")
    again = bytes(h.pread(20000, 0))
    check(got == again, "what overlapping writes left does not change any more")
    model[0:20000] = got
P
stop
