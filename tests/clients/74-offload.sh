#!/usr/bin/env bash
# Offload: software SSDs compute parity inside from the copies that they have, under fio with flushes, which verifies while drives are killed with -9 and come back; what a killed server leaves only as copies and converted parity is there with a drive less.
export SERVE_FLAGS="--kept-in none"
. "$(dirname "$0")/common.sh"
need fio jq /usr/bin/python3 nbdinfo
only_on cygnus "the stand-ins have no members"
[[ $PRESET == swan ]] || { echo "N/A: the array is made here" >&2 && exit 78; }
size=192MiB
. "$(dirname "$0")/drives.sh"
offload() { cygnus "$DIR" --json array status tank | jq "$@"; }

for n in 0 1 2; do drive $n; done
cygnus "$DIR" array create tank --preset scala-afa --raid 2+1 \
    "ssd:unix:$DIR/s0.sock" "ssd:unix:$DIR/s1.sock" "ssd:unix:$DIR/s2.sock" >>"$DIR/server.log" 2>&1 || fail "creating the array"
cygnus "$DIR" volume create "tank/$EXPORT" --size 160MiB >>"$DIR/server.log" 2>&1
start

load() { # SECONDS
    fio --name=verify --ioengine=nbd --uri="$URI" --rw=randwrite --bs=4k --iodepth=8 --fsync=4 --size=100m \
        --time_based --runtime="$1" --verify=crc32c --do_verify=1 --verify_fatal=1 --randrepeat=0 --verify_state_save=0 \
        --output="$DIR/fio.json" --output-format=json >"$DIR/fio.out" 2>&1
}
load 14 &
FIO=$!
sleep 3
for victim in 1 2; do
    kill -9 "${DRIVE[$victim]}"
    wait "${DRIVE[$victim]}" 2>/dev/null || true
    wait_for $victim missing 60
    sleep 1
    drive $victim
    wait_for $victim online 120
    say "drive $victim: killed, missing, started again, online"
done
wait $FIO || { tail -n 20 "$DIR/fio.out" "$DIR/fio.json" >&2 && fail "fio"; }
load 2 || { tail -n 20 "$DIR/fio.out" "$DIR/fio.json" >&2 && fail "fio, afterwards"; }
offload -e '.parity_inside.inside_bytes > 0' >/dev/null || fail "nothing was computed inside: $(offload -c .parity_inside)"
say "parity: $(offload -c '[.parity_inside, .writes.device_bytes / .writes.client_bytes]')"
offload -e '.copies.described_beside_bytes > 0' >/dev/null || fail "no copy has its description beside it: $(offload -c .copies)"
array_status "$DIR" | grep -q "copies with their description beside them" || fail "the status does not say where descriptions are"
array_status "$DIR" | grep -q "offload: members have computed" || fail "the status does not say who computed parity"

python - <<'P'
from client import *
h = connect()
for i in range(900):
    h.pwrite(data(4 * KIB, i), (i * 37 % 4096) * 4 * KIB + 104 * MIB)
    h.flush()
P
kill9
# The drives have it all, in copies and in parity that one of them computed. One is lost.
kill -9 "${DRIVE[1]}"
wait "${DRIVE[1]}" 2>/dev/null || true
unset "DRIVE[1]"
start
python - <<'P'
from client import *
h = connect()
for i in range(900):
    same(h, (i * 37 % 4096) * 4 * KIB + 104 * MIB, data(4 * KIB, i), f"write {i}")
P
drive 1
wait_for 1 online 120
stop
cygnus "$DIR" array check tank >"$DIR/check.log" 2>&1 || { cat "$DIR/check.log" >&2 && fail "array check"; }
