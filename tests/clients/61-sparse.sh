#!/usr/bin/env bash
# A volume thousands of times the pool, written 4 KiB at every 2 MiB until ENOSPC: the array goes on there, memory and the time of
# an opening follow what was written, and TRIM, SIGTERM and kill -9 work. Without QUICK the volume is 64 TiB and the pool 1 GiB.
. "$(dirname "$0")/common.sh"
need /usr/bin/python3 nbdinfo
only_on cygnus "the stand-ins promise all the space they have"
only_log "a volume in place has all its space from the start"
if ((QUICK)); then export MEMBER_SIZE=64MiB VOLUME_SIZE=2TiB; else export MEMBER_SIZE=192MiB VOLUME_SIZE=64TiB; fi
serve
cat >"$DIR/sparse.py" <<'P'
import time
from client import *

STRIDE, B = 2 * MIB, 4096
DEPTH = 64


def block(n):
    return n.to_bytes(8, "little") * (B // 8)


def fill(h, first):
    """Writes at every stride until the array is full, several at once; returns how many blocks were taken."""
    full, taken, buffers = [], [0], {}

    def answer(n):
        def done(error):
            del buffers[n]
            if error.value == 0:
                taken[0] += 1
            else:
                check(error.value == errno.ENOSPC, f"a full array answers ENOSPC, not errno {error.value}")
                full.append(n)
            return 1
        return done

    n = first
    while not full:
        if n * STRIDE + B > h.get_size():
            raise SystemExit("FAIL: the array took more than it can hold")
        buffers[n] = nbd.Buffer.from_bytearray(bytearray(block(n)))
        h.aio_pwrite(buffers[n], n * STRIDE, completion=answer(n))
        n += 1
        while len(buffers) >= DEPTH:
            h.poll(-1)
    while buffers:
        h.poll(-1)
    return taken[0], min(full)


def rss(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) * KIB for line in status if line.startswith("VmRSS"))


def verify(h, blocks, step, why):
    for n in range(0, blocks, step):
        same(h, n * STRIDE, block(n), why)


h = connect()
if os.environ["STEP"] == "fill":
    before, begun = rss(os.environ["SERVER"]), time.monotonic()
    taken, blocks = fill(h, 0)
    h.flush()
    grown = rss(os.environ["SERVER"]) - before
    print(f"  full after {taken} blocks in {time.monotonic() - begun:.1f} s; {grown // MIB} MiB of memory more")
    check(taken > 10000, f"the array was full after {taken} blocks already")
    # 256 bytes for the map of each block; the rest are buffers, which do not depend on their number.
    check(grown < taken * 256 + 160 * MIB, f"{grown // MIB} MiB of memory for {taken} blocks")
    for turn in range(2):
        for n in range(0, blocks, 4):
            at = n * 7919 % blocks
            h.pwrite(block(at), at * STRIDE)
    h.flush()
    open(os.environ["KEPT"], "w").write(str(blocks))
else:
    blocks = int(open(os.environ["KEPT"]).read())
    verify(h, blocks, 7, f"after {os.environ['STEP']}")
    if os.environ["STEP"] == "kill -9":
        refused(lambda: h.pwrite(block(1), (blocks + DEPTH) * STRIDE), errno.ENOSPC)
        h.pwrite(block(0), 0)
        for n in range(0, blocks // 2):
            h.trim(B, n * STRIDE)
        for n in range(0, blocks // 2):
            h.pwrite(block(n), n * STRIDE)
        h.flush()
    else:
        GIB4 = 1 << 32
        size = h.get_size()
        for at in range(0, min(size, blocks * STRIDE + GIB4), GIB4 - 2 * MIB):
            h.trim(min(GIB4 - 2 * MIB, size - at), at)
        h.pwrite(block(9), 0)
        same(h, 0, block(9), "written after everything was trimmed")
P
export KEPT=$DIR/kept SERVER
STEP=fill python <"$DIR/sparse.py"
kill9
begun=$SECONDS
start # a full array must open again
say "opened again after kill -9 in $((SECONDS - begun)) s"
STEP="kill -9" python <"$DIR/sparse.py"
begun=$SECONDS
stop
say "SIGTERM and the check took $((SECONDS - begun)) s"
start
STEP=SIGTERM python <"$DIR/sparse.py"
stop
