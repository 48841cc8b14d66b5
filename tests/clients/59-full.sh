#!/usr/bin/env bash
# A volume larger than the array: ENOSPC when it is full, reads and TRIM go on, TRIM gives the space back, nothing written is lost.
. "$(dirname "$0")/common.sh"
need /usr/bin/python3 nbdinfo
only_on cygnus "the stand-ins promise all the space they have"
only_log "a volume in place has all its space from the start"
MEMBER_SIZE=64MiB VOLUME_SIZE=2GiB
serve
cat >"$DIR/full.py" <<'P'
from client import *

CHUNK = MIB
written = []


def fill(h, start):
    """Writes chunks until the array is full; each is remembered once answered."""
    for i in range(start, start + 2000):
        try:
            h.pwrite(data(CHUNK, i), i * CHUNK)
        except nbd.Error as e:
            check(e.errnum == errno.ENOSPC, f"a full array answers ENOSPC, not {e.string}")
            return i
        written.append(i)
    raise SystemExit("FAIL: the array took more than it can hold")


h = connect()
full_at = fill(h, 0)
check(full_at > 100, f"the array was full after {full_at} MiB already")
h.flush()
for i in written:
    same(h, i * CHUNK, data(CHUNK, i), "read from a full array")
refused(lambda: h.pwrite(data(CHUNK, 1), (full_at + 1) * CHUNK), errno.ENOSPC)
for i in written[::2]:
    h.trim(CHUNK, i * CHUNK)
h.flush()
kept = written[1::2]
written.clear()
second = fill(h, full_at + 1)
check(len(written) > len(kept) // 3, f"TRIM of {len(kept)} MiB made room for {len(written)} MiB only")
h.flush()
for i in kept + written:
    same(h, i * CHUNK, data(CHUNK, i), "read after TRIM and refilling")
print(f"  full after {full_at} MiB; after TRIM of {len(kept) + 1} MiB room for {len(written)} more")
open(os.environ["KEPT"], "w").write(" ".join(map(str, kept + written)))
P
export KEPT=$DIR/kept
python <"$DIR/full.py"
kill9
start # a full array must open again
python <<'P'
from client import *
h = connect()
kept = [int(i) for i in open(os.environ["KEPT"]).read().split()]
for i in kept:
    same(h, i * MIB, data(MIB, i), "a full array, killed and opened again")
h.trim(h.get_size(), 0)
h.pwrite(data(MIB, 9), 0)
same(h, 0, data(MIB, 9), "written after everything was trimmed")
P
stop
