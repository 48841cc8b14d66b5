#!/usr/bin/env bash
# `serve --memory` covers everything: a volume of 64 TiB with a block in each GiB is written until the maps have all that they may
# take. What is refused then says why; the server stays within its memory, also when it opens the array after kill -9; and with
# less memory the array is not opened, with the size that it would take.
. "$(dirname "$0")/common.sh"
once_of_each
need /usr/bin/python3 nbdinfo jq
only_on cygnus "the stand-ins have no maps"
only_log "a volume in place has no map"
MEMORY=216
export VOLUME_SIZE=64TiB SERVE_FLAGS="--memory ${MEMORY}MiB"
serve
for n in 1 2 3; do cygnus "$DIR" volume create "tank/vol$n" --size 64TiB >/dev/null 2>&1; done

# peak: the most memory that the server had, in MiB.
peak() { awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$SERVER/status"; }
within() { (($(peak) <= MEMORY)) || fail "$1: the server had $(peak) MiB of memory, and may have $MEMORY MiB"; }
memory() { array_status "$DIR" --json | jq -r ".memory.parts[] | select(.name == \"$1\").$2"; }

cat >"$DIR/scatter.py" <<'P'
from client import *

GIB, DEPTH = 1 << 30, 64


def block(n):
    return n.to_bytes(8, "little") * 512


def scatter(h):
    """A block in each GiB, several at once, until one is refused; how many were taken."""
    refused, buffers = [], {}

    def answer(n):
        def done(error):
            del buffers[n]
            if error.value:
                check(error.value == errno.ENOSPC, f"it answers ENOSPC, not errno {error.value}")
                refused.append(n)
            return 1
        return done

    n = 0
    while not refused and n < h.get_size() // GIB:
        buffers[n] = nbd.Buffer.from_bytearray(bytearray(block(n)))
        h.aio_pwrite(buffers[n], n * GIB, completion=answer(n))
        n += 1
        while len(buffers) >= DEPTH:
            h.poll(-1)
    while buffers:
        h.poll(-1)
    return min(refused, default=n), bool(refused)


def volume(n):
    h = nbd.NBD()
    h.connect_uri(URI.replace("/vol0?", f"/vol{n}?"))
    return h


first, second = volume(0), volume(1)
if os.environ["STEP"] == "fill":
    taken, full = scatter(first)
    check(taken == 65536 and not full, f"{taken} blocks of the first volume are taken")
    taken, full = scatter(second)
    if not full:
        full = scatter(volume(2))[1]
    check(full, "blocks are refused at some time")
    # What is mapped can still be written, read and trimmed, and what is trimmed makes room.
    first.pwrite(block(1), 0)
    first.flush()
    same(first, 0, block(1), "overwritten")
    for n in range(500):
        second.trim(2 * GIB, n * 2 * GIB)
    # What was replaced is given back when all reactors have answered since.
    second.flush()
    second.flush()
    second.pwrite(block(0), 60000 * GIB)
    first.pwrite(block(0), 0)
    first.flush()
for n in list(range(1, 65536, 997)):
    same(first, n * GIB, block(n), os.environ["STEP"])
P

STEP=fill python <"$DIR/scatter.py"
within "while it was filled"
say "$(peak) MiB of ${MEMORY} at most; the map takes $(($(memory map used_bytes) >> 20)) MiB of $(($(memory map limit_bytes) >> 20))"
array_status "$DIR" | grep -q 'trim or delete something, or serve the array with more --memory' ||
    (($(memory map used_bytes) < $(memory map limit_bytes))) || fail "the status says nothing of a full map"
kill9
start
within "after kill -9"
STEP="kill -9" python <"$DIR/scatter.py"
stop

# It takes more memory than a server must have at least: with a volume more it cannot be opened with that.
SERVE_FLAGS="--memory 400MiB" start
URI=${URI/vol0/vol3} STEP=more python <<'P'
from client import *

h = connect()
for n in range(10000):
    h.pwrite(bytes([7]) * 4096, n << 30)
h.flush()
P
stop
if (target_exec "$DIR" "$SOCKET") >"$DIR/refused.log" 2>&1; then fail "it was opened though its maps do not fit"; fi
grep -q 'nothing was changed: the maps of its volumes take' "$DIR/refused.log" || fail "refused with $(cat "$DIR/refused.log")"
enough=$(grep -o -- '--memory [0-9]*MiB' "$DIR/refused.log" | cut -d' ' -f2)
say "refused: --memory $enough at least"
SERVE_FLAGS="--memory $enough" start
STEP="enough memory" python <"$DIR/scatter.py"
stop
