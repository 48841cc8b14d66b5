#!/usr/bin/env bash
# A member is a loop device that somebody makes read-only for a while, and then smaller; when it has its size again, what it held
# behind that is zeros, and it takes its own place. Then it is smaller at the start of a server, and has its size again afterwards.
. "$(dirname "$0")/common.sh"
need losetup
need blockdev
need_root "a loop device"
[[ -e /dev/loop-control ]] || skip "there are no loop devices"
for ((i = 0; i < $(member_count); i++)); do PLACES+=("$DIR/d$i"); done
truncate -s "$(bytes "$MEMBER_SIZE")" "$DIR/m0"
PLACES[0]=$(losetup --show -f "$DIR/m0")
at_exit "blockdev --setrw ${PLACES[0]}; losetup -d ${PLACES[0]}"
nothing_is_wrong() {
    "$CYGNUS" --state "$DIR/state" array scrub tank --wait >"$DIR/scrub" || fail "the scrub ended with $?: $(cat "$DIR/scrub")"
    grep -q "Nothing is wrong" "$DIR/scrub" || fail "the member lacked something: $(cat "$DIR/scrub")"
}
serve
load
blockdev --setro "${PLACES[0]}"
says "(it does not let itself be written" 60
blockdev --setrw "${PLACES[0]}"
healthy 60
truncate -s 20M "$DIR/m0"
losetup -c "${PLACES[0]}"
says "Member 0 of R-group 0 at ${PLACES[0]} has failed" 60
truncate -s "$(bytes "$MEMBER_SIZE")" "$DIR/m0"
losetup -c "${PLACES[0]}"
"$CYGNUS" --state "$DIR/state" array replace tank 0 "${PLACES[0]}" --force --yes --wait
nothing_is_wrong
load_ends 60
stop
truncate -s 20M "$DIR/m0"
losetup -c "${PLACES[0]}"
start
says "20 MiB, was" 60
truncate -s "$(bytes "$MEMBER_SIZE")" "$DIR/m0"
losetup -c "${PLACES[0]}"
healthy 120
nothing_is_wrong
well 120
