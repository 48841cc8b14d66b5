#!/usr/bin/env bash
# Files that stand for devices with zones, and refuse what such a device would refuse: clients see nothing of it, killed servers lose
# nothing that was flushed, zones that somebody resets are rebuilt, a lost member is replaced, and two of three kinds of member live side by side. What cannot be is refused.
[[ ${PRESET:-swan} == swan ]] || { echo "N/A: it makes an array of its own" >&2 && exit 78; }
export PRESET=log-raid GROUP_COUNT=1 RAID=2+1
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/loaded.sh"
need /usr/bin/python3 nbdinfo nbdcopy fio jq
only_on cygnus "the stand-ins know no zones"

# zoned NAME: a device of 144 MiB.
zoned() { cygnus "$DIR" zoned make "$DIR/$1" --size 144MiB --zone "${2:-1MiB}" --conventional "${3:-16}" >>"$DIR/made" 2>&1; }
for n in 0 1 3; do zoned z$n || fail "$(cat "$DIR/made")"; done
cygnus "$DIR" array create tank --preset log-raid --raid 2+1 --segment 2MiB --create 144MiB --sparse \
    "zoned:$DIR/z0" "zoned:$DIR/z1" "$DIR/d2" >>"$DIR/server.log" 2>&1 || fail "creating the array: $(tail -3 "$DIR/server.log")"
cygnus "$DIR" volume create "tank/$EXPORT" --size 128MiB >>"$DIR/server.log" 2>&1
start
array_status "$DIR" --json >"$DIR/status.json"
jq -e '[.devices[].capabilities.zone_bytes] == [1048576, 1048576, 0]' "$DIR/status.json" >/dev/null ||
    fail "capabilities: $(jq -c '[.devices[].capabilities]' "$DIR/status.json")"
jq -e '[.devices[] | .zones // {} | add] == [128, 128, null]' "$DIR/status.json" >/dev/null ||
    fail "zones: $(jq -c '[.devices[].zones]' "$DIR/status.json")"

# refused WORDS ARGS...: this command fails with these words.
refused() {
    ! cygnus "$DIR" "${@:2}" >"$DIR/refused" 2>&1 || fail "${*:2} succeeded"
    grep -q -- "$1" "$DIR/refused" || fail "${*:2}: $(cat "$DIR/refused")"
}
verify 400m 1
written() { cygnus "$DIR" --json zoned show "zoned:$DIR/$1" | jq .written_bytes; }
(($(written z0) > 32 << 20)) || fail "zones hold $(written z0) bytes"
array_status "$DIR" | grep "written in order, [0-9].* partly written on each" >"$DIR/zones" || fail "the status tells nothing of zones"
say "$(tr -s ' ' <"$DIR/zones")"
say "$(cygnus "$DIR" zoned show "zoned:$DIR/z0" | tr -s ' \n' ' ')"

kill_under_load 3

# Somebody resets two zones of a member behind the stopped array's back, and parity has what they held. All of the volume reads as before,
# and a scrub finds nothing lost.
contents() { nbdcopy "$URI" - | sha256sum; }
refused "in use" zoned reset "zoned:$DIR/z0" 40 --yes
refused "add --yes" zoned reset "zoned:$DIR/z0" 40
before=$(contents)
stop
refused "conventional" zoned reset "zoned:$DIR/z0" 40 3 --yes
refused "no zone 144" zoned reset "zoned:$DIR/z0" 40 144 --yes
refused "no zones" zoned reset "$DIR/d2" 1 --yes
zones=()
for ((lba = 0; lba < 32768 && ${#zones[@]} < 2; lba += 101)); do
    at=$(cygnus "$DIR" --json array dump tank --volume "$EXPORT" --lba $lba | jq '.place | select(.member == 0) | .offset / 1048576 | floor')
    [[ -z $at || " ${zones[*]} " == *" $at "* ]] || zones+=("$at")
done
((${#zones[@]} == 2)) || fail "blocks of the volume lie in zones ${zones[*]} of z0"
cygnus "$DIR" zoned reset "zoned:$DIR/z0" "${zones[@]}" --yes >>"$DIR/server.log" 2>&1 || fail "zoned reset: $(tail -3 "$DIR/server.log")"
start
[[ $(contents) == "$before" ]] || fail "blocks read otherwise after their zones were reset"
cygnus "$DIR" --json array scrub tank --wait >"$DIR/scrub.json" || fail "array scrub: $(cat "$DIR/scrub.json")"
jq -e '.report.complete and .report.lost == 0' "$DIR/scrub.json" >/dev/null || fail "the scrub: $(jq -c .report "$DIR/scrub.json")"
array_status "$DIR" --json >"$DIR/status.json"
rebuilt=$(jq .repairs.reconstructed "$DIR/status.json")
((rebuilt > 0)) || fail "nothing was read by way of parity"
say "zones ${zones[*]} were reset: $rebuilt blocks read by way of parity; the scrub then $(jq -c '.report | {wrong_blocks, wrong_parity, wrong_headers, moved_blocks}' "$DIR/scrub.json")"

# A member is lost; another device with zones, full of something else, takes its place.
cygnus "$DIR" array create other --preset log-raid --raid 1+0 --segment 2MiB "zoned:$DIR/z3" >>"$DIR/server.log" 2>&1 || fail "other"
cygnus "$DIR" array destroy other --yes >>"$DIR/server.log" 2>&1 || fail "array destroy: $(tail -3 "$DIR/server.log")"
cygnus "$DIR" array replace tank 1 "zoned:$DIR/z3" --force --wait >>"$DIR/server.log" 2>&1 ||
    fail "array replace: $(tail -3 "$DIR/server.log")"
verify 60m 2
stop
rm "$DIR/z0"
start
verify 30m 3
zoned coarse 4MiB 4 || fail "$(cat "$DIR/made")"
refused "coarse is written in order, in zones of 4 MiB" array replace tank 0 "zoned:$DIR/coarse"
kill9

for n in 4 5 6; do zoned z$n || fail "$(cat "$DIR/made")"; done
cygnus "$DIR" zoned make "$DIR/few" --size 16MiB --zone 1MiB --conventional 2 >>"$DIR/made" 2>&1 || fail "$(cat "$DIR/made")"
three=("zoned:$DIR/z4" "zoned:$DIR/z5" "zoned:$DIR/z6")
refused "not whole zones of 1 MiB" array create a --preset log-raid --raid 2+1 --segment 1536KiB "${three[@]}"
refused "protection full-stripe" array create a --preset fusion --raid 2+1 --segment 1MiB "${three[@]}"
refused "writes a log" array create a --preset raid5 "${three[@]}"
refused "sequential zones of 1 MiB are too few" array create a --preset log-raid --raid 2+1 "zoned:$DIR/few" "${three[@]:1}"
refused "let 'cygnus zoned make" array create a --preset log-raid --raid 2+1 "zoned:$DIR/none" "${three[@]:1}"
refused "describes no zones" array create a --preset log-raid --raid 2+1 "zoned:$DIR/d2" "${three[@]:1}"
refused "exists" zoned make "$DIR/z4" --size 16MiB --zone 1MiB
refused "not whole zones" zoned make "$DIR/z9" --size 16MiB --zone 3MiB
refused "not only those" zoned make "$DIR/z9" --size 16MiB --zone 1MiB --conventional 16
[[ ! -e $DIR/z9 ]] || fail "a refused file was made"
