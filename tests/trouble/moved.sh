#!/usr/bin/env bash
# Two members are loop devices, and the kernel gives them other names: both while the array is stopped, as when the machine has been
# started again; then one while it is served without it, as when a disk is unplugged and comes back.
. "$(dirname "$0")/common.sh"
need losetup
need_root "a loop device"
[[ -e /dev/loop-control ]] || skip "there are no loop devices"
for ((i = 0; i < $(member_count); i++)); do PLACES+=("$DIR/d$i"); done
# plug INDEX: the member is a loop device of another name than it had.
plug() {
    local before=" ${PLACES[*]} " place
    while :; do
        place=$(losetup --show -f -b 4096 "$DIR/m$1")
        at_exit "losetup -d $place"
        if [[ $before != *" $place "* ]]; then break; fi
        # Somebody else has that name from now on, so that no member gets another one's.
        losetup -d "$place"
        at_exit "losetup -d $(losetup --show -f -b 4096 "$DIR/stranger")"
    done
    PLACES[$1]=$place
}
# remembered INDEX: the state directory knows it by its new name.
remembered() { grep -qF "\"${PLACES[$1]}\"" "$DIR/state/tank.toml" || fail "${PLACES[$1]} is not remembered: $(<"$DIR/state/tank.toml")"; }
truncate -s "$(bytes "$MEMBER_SIZE")" "$DIR/m0" "$DIR/m1" "$DIR/stranger"
for i in 0 1; do plug "$i"; done
serve
pass 1 || fail "the first pass"
echo 1 >"$DIR/passes"
stop
for i in 0 1; do losetup -d "${PLACES[i]}"; done
for i in 1 0; do plug "$i"; done
start
healthy 30
verified "after both have moved"
for i in 0 1; do
    grep -qF "${PLACES[i]} is member $i, which was last seen at" "$DIR/server.log" || fail "the server's log does not say that member $i has moved"
    remembered "$i"
done
stop
losetup -d "${PLACES[0]}"
start
load
says "is missing (" 30
plug 0
well 150
grep -q "takes part as member 0" "$DIR/server.log" || fail "the server's log does not say that the member takes part again"
remembered 0
