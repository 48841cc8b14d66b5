#!/usr/bin/env bash
# Software SSDs that go while nobody uses the array: it is noticed. A spare that went and is there again is taken again, and a drive that is served at another address is taken there.
. "$(dirname "$0")/common.sh"
need jq nbdinfo /usr/bin/python3
only_on cygnus "the stand-ins have no members"
[[ $PRESET == swan ]] || { echo "N/A: the array is made here" >&2 && exit 78; }
size=128MiB
. "$(dirname "$0")/drives.sh"

again() { # NUMBER: its process is killed, and another one serves the drive
    kill -9 "${DRIVE[$1]}"
    wait "${DRIVE[$1]}" 2>/dev/null || true
    drive "$1"
}
for n in 0 1 2 3; do drive $n; done
cygnus "$DIR" array create tank --preset log-raid --raid 2+1 "ssd:unix:$DIR/s0.sock" "ssd:unix:$DIR/s1.sock" \
    "ssd:unix:$DIR/s2.sock" >>"$DIR/server.log" 2>&1 || fail "creating the array"
cygnus "$DIR" volume create "tank/$EXPORT" --size 64MiB >>"$DIR/server.log" 2>&1
start
python <<<'from client import *; h = connect(); h.pwrite(data(16 * MIB, 1), 0); h.flush()'

# Nobody writes or reads, and no look at the status is needed to see it.
kill -9 "${DRIVE[0]}"
wait_for 0 missing 20
drive 0
wait_for 0 online 60

cygnus "$DIR" array spare add tank "ssd:unix:$DIR/s3.sock" >>"$DIR/server.log" 2>&1 || fail "array spare add"
again 3
kill -9 "${DRIVE[2]}"
wait_for 2 missing 20
# The spare was to step in, and the way to it was lost.
cygnus "$DIR" array spare add tank "ssd:unix:$DIR/s3.sock" >"$DIR/spare.log" 2>&1 || fail "array spare add: $(cat "$DIR/spare.log")"
wait_for 2 online 60
[[ $(cygnus "$DIR" --json array status tank | jq -r '.devices[2].path') == *s3.sock ]] || fail "the spare has not stepped in"

# The drive that was member 1 is served elsewhere.
kill -9 "${DRIVE[1]}"
wait_for 1 missing 20
mv "$DIR/s1" "$DIR/s4"
drive 4
cygnus "$DIR" array replace tank 1 "ssd:unix:$DIR/s4.sock" --force --yes --wait >"$DIR/replace.log" 2>&1 || fail "array replace: $(cat "$DIR/replace.log")"
wait_for 1 online 60
python <<<'from client import *; same(connect(), 0, data(16 * MIB, 1), "after all that")'
stop
