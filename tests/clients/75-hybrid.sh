#!/usr/bin/env bash
# A hybrid volume of real files that count as flash and as disks: what is read often moves to flash, clients see nothing of it, and a
# killed server loses nothing of what had moved. What cannot be is refused.
[[ ${PRESET:-swan} == swan ]] || { echo "N/A: it makes an array of its own" >&2 && exit 78; }
export PRESET=salsa GROUP_COUNT=2 RAID=2+1 CREATE_FLAGS="--media flash,disk" VOLUME_FLAGS=${VOLUME_FLAGS:---hybrid}
. "$(dirname "$0")/common.sh"
need /usr/bin/python3 nbdinfo jq
only_on cygnus "the stand-ins know no media"

# moved FIELD: bytes of this counter.
moved() { array_status "$DIR" --json | jq ".writes.$1 // 0"; }

serve
[[ $(cygnus "$DIR" --json volume list tank | jq -c '.volumes[0].media') == '{"hybrid":{"fast":"flash","slow":"disk"}}' ]] || fail "the volume is not hybrid"
[[ $(cygnus "$DIR" --json volume list tank | jq '.volumes[0].pages != null') == "$([[ $VOLUME_FLAGS == *--page* ]] && echo true || echo false)" ]] ||
    fail "the volume is not mapped as it should be: $(cygnus "$DIR" --json volume list tank)"
for round in 1 2; do
    python "$round" <<'P'
import sys
from client import *
h = connect()
n = int(sys.argv[1])
for at in range(32):
    h.pwrite(data(MIB, n * 100 + at), at * MIB)
h.flush()
# Half of it is read again and again, in requests of all sizes, while it is written too.
for time in range(6):
    for at in range(16):
        size = (4 * KIB, 64 * KIB, 256 * KIB, MIB)[time % 4]
        whole = data(MIB, n * 100 + at)
        for part in range(0, MIB, size):
            same(h, at * MIB + part, whole[part : part + size], f"read {time} of {at}")
    h.pwrite(data(MIB, n * 100 + time), time * MIB)
h.flush()
P
    promoted=$(moved promoted_bytes)
    ((promoted >= 8 << 20)) || fail "of 16 MiB that are read again and again $promoted bytes moved to flash"
    say "moved to flash: $promoted bytes"
    array_status "$DIR" >"$DIR/status"
    grep -q "moved to the faster medium" "$DIR/status" || fail "the status says nothing: $(cat "$DIR/status")"
    kill9
    ((round == 1)) || rm "$DIR/d1"
    start
    python "$round" <<'P'
import sys
from client import *
h = connect()
n = int(sys.argv[1])
for at in range(32):
    same(h, at * MIB, data(MIB, n * 100 + at), f"MiB {at} of round {n}")
P
done

# refused WORDS ARGS...: this command fails with these words.
refused() {
    ! cygnus "$DIR" "${@:2}" >"$DIR/refused" 2>&1 || fail "${*:2} succeeded"
    grep -q -- "$1" "$DIR/refused" || fail "${*:2}: $(cat "$DIR/refused")"
}
refused "on two media, and 1 were named" volume create tank/v --size 1MiB --hybrid --media flash
stop
cygnus "$DIR" array create plain --preset log-raid --raid 2+1 --create 64MiB "$DIR"/p{0,1,2} >"$DIR/plain.log" 2>&1 || fail "no plain array"
refused "no R-group is on" volume create plain/v --size 1MiB --hybrid
cygnus "$DIR" array create old --preset raid5 --create 64MiB "$DIR"/q{0,1,2} >"$DIR/old.log" 2>&1 || fail "no array in place"
refused "updates in place" volume create old/v --size 1MiB --hybrid
