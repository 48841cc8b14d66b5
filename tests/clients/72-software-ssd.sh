#!/usr/bin/env bash
# Software SSDs: an array of two of them and a file, written and verified by fio while one drive is killed with -9 and started again; it is missing, comes back by itself, and the array is healthy and consistent.
. "$(dirname "$0")/common.sh"
need fio jq nbdinfo
only_on cygnus "the stand-ins have no members"
[[ $PRESET == swan ]] || { echo "N/A: the array is made here" >&2 && exit 78; }
size=192MiB
. "$(dirname "$0")/drives.sh"

drive 0
drive 1
[[ $(stat -c %a "$DIR/s0.sock") == 600 ]] || fail "others may open the socket"
# Who is second is told so.
if "$CYGNUS" ssd serve "$DIR/s0" --listen "unix:$DIR/other.sock" 2>"$DIR/refusal"; then fail "a drive was served twice"; fi
grep -q "another process serves this drive" "$DIR/refusal" || fail "$(cat "$DIR/refusal")"
if "$CYGNUS" ssd serve "$DIR/s1" --listen "unix:$DIR/s0.sock" 2>"$DIR/refusal"; then fail "a socket was taken from its owner"; fi
"$CYGNUS" ssd identify "unix:$DIR/s0.sock" --json | jq -e '.converts and .oob_bytes == 128' >/dev/null || fail "identify"

cygnus "$DIR" array create tank --preset log-raid --raid 2+1 --create $size --sparse \
    "ssd:unix:$DIR/s0.sock" "ssd:unix:$DIR/s1.sock" "$DIR/d2" >>"$DIR/server.log" 2>&1 || fail "creating the array"
cygnus "$DIR" volume create "tank/$EXPORT" --size 160MiB >>"$DIR/server.log" 2>&1
start

array_status "$DIR" --json >"$DIR/status.json"
jq -e '[.devices[].capabilities | .converts, .oob_bytes] == [true, 128, true, 128, false, 0]' "$DIR/status.json" >/dev/null ||
    fail "capabilities: $(jq -c '[.devices[].capabilities]' "$DIR/status.json")"

load() { # SECONDS
    fio --name=verify --ioengine=nbd --uri="$URI" --rw=randwrite --bsrange=4k-256k --iodepth=16 --size=120m \
        --time_based --runtime="$1" --verify=crc32c --do_verify=1 --verify_fatal=1 --randrepeat=0 --verify_state_save=0 \
        --output="$DIR/fio.json" --output-format=json >"$DIR/fio.out" 2>&1
}
load 12 &
FIO=$!
sleep 2
for round in 1 2; do
    kill -9 "${DRIVE[1]}"
    wait "${DRIVE[1]}" 2>/dev/null || true
    wait_for 1 missing 60
    say "round $round: killed, missing"
    sleep 1
    drive 1
    wait_for 1 online 120
    say "round $round: started again, online"
done
wait $FIO || { tail -n 20 "$DIR/fio.out" "$DIR/fio.json" >&2 && fail "fio"; }
load 2 || { tail -n 20 "$DIR/fio.out" "$DIR/fio.json" >&2 && fail "fio, afterwards"; }
for ((i = 0; i < 300; i++)); do
    if cygnus "$DIR" array status tank >"$DIR/status" 2>&1; then break; fi
    sleep 0.1
done
((i < 300)) || { cat "$DIR/status" >&2 && fail "the array is not healthy after 30 s"; }
report=$("$CYGNUS" ssd status "unix:$DIR/s0.sock" --json)
jq -e '.host_writes > 0 and .claimed and .slc_programs > 0 and .write_amplification > 0.5' <<<"$report" >/dev/null || fail "$report"
say "$(jq -r '"drive 0: \(.host_writes * 4096 / 1048576 | floor) MiB written, write amplification \(.write_amplification * 100 | floor / 100)"' <<<"$report")"
# Another drive takes over from the first one, and is where it is said to be afterwards.
drive 2
cygnus "$DIR" array spare add tank "ssd:unix:$DIR/s2.sock" >>"$DIR/server.log" 2>&1 || fail "array spare add"
cygnus "$DIR" array drain tank 0 --wait >>"$DIR/server.log" 2>&1 || fail "array drain"
stop
# The drives alone tell what the array is.
rm -rf "$DIR/state"
cygnus "$DIR" array scan "ssd:unix:$DIR/s1.sock" "ssd:unix:$DIR/s2.sock" "$DIR/d2" >"$DIR/scan.log" 2>&1 || { cat "$DIR/scan.log" >&2 && fail "array scan"; }
cygnus "$DIR" array check tank >"$DIR/check.log" 2>&1 || { cat "$DIR/check.log" >&2 && fail "array check, after a scan"; }
kill -TERM "${DRIVE[0]}"
wait "${DRIVE[0]}" || fail "SIGTERM: the drive's server ended with an error"
[[ ! -e $DIR/s0.sock ]] || fail "a socket was left behind"
