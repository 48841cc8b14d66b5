#!/usr/bin/env bash
# In place: TRIM keeps what it must, what does not apply is refused with a reason, a member is lost and replaced under load, a check sees copies or parity that do not fit.
. "$(dirname "$0")/common.sh"
need /usr/bin/python3 nbdinfo jq fio
only_in_place
serve
python <<'P'
from client import *
h = connect(contexts=[ALLOCATION])
h.pwrite(data(24 * MIB, 1), 0)
h.trim(MIB, 32 * MIB)  # of what nobody has written
h.trim(8 * MIB, 10000)
h.flush()
expected = data(24 * MIB, 1)
same(h, 0, expected[:10000], "in front of a TRIM")
same(h, 8 * MIB + 10000, expected[8 * MIB + 10000 :], "behind a TRIM")
if os.environ["PRESET"] != "raid0":
    same(h, 0, expected, "TRIM is passed on by raid0 only")
h.pwrite(data(24 * MIB, 1), 0)
h.flush()
P

# refused WHY COMMAND...: it fails with status 1, and says why.
refused() {
    local why=$1 code=0
    shift
    cygnus "$DIR" "$@" >"$DIR/refusal" 2>&1 || code=$?
    ((code == 1)) && grep -q "$why" "$DIR/refusal" || fail "$*: $code, $(cat "$DIR/refusal")"
}
refused "updated in place" array scrub tank
refused "updated in place" array drain tank 0
refused "updated in place" array add tank --create 64MiB "$DIR/n0" "$DIR/n1" "$DIR/n2"
refused "updated in place" array retire tank 0
refused "updated in place" array spare add tank "$DIR/spare" --create 64MiB
refused "not possible" volume create tank/large --size 4GiB

# The array, with what it holds, after a kill and a resync.
kill9
start
for ((i = 0; i < 300; i++)); do
    array_status "$DIR" --json >"$DIR/status.json"
    jq -e '.in_place.stale_regions == 0' "$DIR/status.json" >/dev/null && break
    sleep 0.1
done
jq -e '.in_place.stale_regions == 0' "$DIR/status.json" >/dev/null || fail "the resync does not end"

if [[ $PRESET != raid0 ]]; then
    # Redundancy is in sync: a member may go, and its successor is filled while a client writes.
    kill -TERM "$SERVER"
    wait "$SERVER" || fail "SIGTERM: the server ended with an error"
    mv "$DIR/d1" "$DIR/away"
    start
    array_status "$DIR" | grep -q degraded || fail "array status does not say degraded"
    python <<'P'
from client import *
same(connect(), 0, data(24 * MIB, 1), "read without a member")
P
    fio --name=bystander --ioengine=nbd --uri="$URI" --rw=randwrite --bs=4k-64k --iodepth=8 --offset=64M --size=32M --verify=crc32c \
        --verify_fatal=1 --verify_state_save=0 --output="$DIR/fio.out" &
    FIO=$!
    cygnus "$DIR" array replace tank 1 "$DIR/new" --create "$MEMBER_SIZE" --wait >"$DIR/replace.log" 2>&1 ||
        { cat "$DIR/replace.log" >&2 && fail "array replace"; }
    wait "$FIO" || { tail "$DIR/fio.out" >&2 && fail "the bystander noticed"; }
    array_status "$DIR" | grep -q healthy || fail "not healthy after the replacement"
    # The old one has lost its place.
    kill -TERM "$SERVER"
    wait "$SERVER" || fail "SIGTERM: the server ended with an error"
    mv "$DIR/away" "$DIR/d1"
    cygnus "$DIR" array scan "$DIR" | grep -q "was replaced by another device" || fail "array scan does not know the old member"
    mv "$DIR/d0" "$DIR/gone" # whatever it had is in the new one, or made from it
    start
    python <<'P'
from client import *
same(connect(), 0, data(24 * MIB, 1), "read from the new member")
P
    kill -TERM "$SERVER"
    wait "$SERVER" || fail "SIGTERM: the server ended with an error"
    mv "$DIR/gone" "$DIR/d0"
    start
    for ((i = 0; i < 300; i++)); do
        array_status "$DIR" | grep -q healthy && break
        sleep 0.1
    done
    kill -TERM "$SERVER"
    wait "$SERVER" || fail "SIGTERM: the server ended with an error"
    cygnus "$DIR" array check tank >"$DIR/check.log" 2>&1 || { cat "$DIR/check.log" >&2 && fail "array check of a sound array"; }
    dd if=/dev/urandom of="$DIR/d0" bs=1M seek=2 count=2 conv=notrunc oflag=direct status=none
    if cygnus "$DIR" array check tank >"$DIR/check.log" 2>&1; then fail "array check does not see that copies or parity do not fit"; fi
    # Nothing tells which side is right, so it is not repaired without a word.
    cygnus "$DIR" array check tank --repair </dev/null >"$DIR/check.log" 2>&1 && fail "array check --repair does not ask"
    grep -q "nothing was repaired" "$DIR/check.log" || fail "array check --repair: $(tail -n 3 "$DIR/check.log")"
    cygnus "$DIR" array check tank --repair --yes >"$DIR/check.log" 2>&1 || { tail -n 3 "$DIR/check.log" >&2 && fail "array check --repair"; }
    start
fi
cygnus "$DIR" array dump tank >/dev/null 2>&1 && fail "dump of an array that is served"
stop
cygnus "$DIR" array dump tank | grep -q "$PRESET" || fail "array dump"
refused "updated in place" array salvage tank/vol0 "$DIR/out"
