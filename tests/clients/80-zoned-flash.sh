#!/usr/bin/env bash
# Files that stand for zoned flash: no conventional zones, a hole behind what can be written of each, eight zones partly written at a time.
# Clients see nothing of it, a killed server loses nothing that was flushed, a lost member is replaced.
[[ ${PRESET:-swan} == swan ]] || { echo "N/A: it makes an array of its own" >&2 && exit 78; }
export PRESET=log-raid GROUP_COUNT=1 RAID=2+1
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/loaded.sh"
need /usr/bin/python3 nbdinfo fio jq
only_on cygnus "the stand-ins know no zones"

for n in 0 1 2 3; do
    cygnus "$DIR" zoned make "$DIR/f$n" --size 400MiB --zone 2MiB --capacity 1536KiB --conventional 0 --active 8 >>"$DIR/made" 2>&1 ||
        fail "$(cat "$DIR/made")"
done
cygnus "$DIR" array create tank --preset log-raid --raid 2+1 "zoned:$DIR/f0" "zoned:$DIR/f1" "zoned:$DIR/f2" \
    >>"$DIR/server.log" 2>&1 || fail "creating the array: $(tail -3 "$DIR/server.log")"
cygnus "$DIR" volume create "tank/$EXPORT" --size 128MiB >>"$DIR/server.log" 2>&1
start
verify 400m 1
kill_under_load 4
say "$(cygnus "$DIR" zoned show "zoned:$DIR/f0" | tr -s ' \n' ' ')"
(($(cygnus "$DIR" --json zoned show "zoned:$DIR/f0" | jq .partly_written) <= 8)) || fail "more zones are partly written than may be"
cygnus "$DIR" array replace tank 1 "zoned:$DIR/f3" --force --wait >>"$DIR/server.log" 2>&1 || fail "array replace: $(tail -3 "$DIR/server.log")"
verify 60m 2
stop
rm "$DIR/f0"
start
verify 30m 3
