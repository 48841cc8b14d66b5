#!/usr/bin/env bash
# SCSI disks in the kernel's memory (scsi_debug) are unplugged while clients write, and come back by other names, as the old ones are still
# open: one member; then one more of an R-group than its parity covers, so that the array waits; then all, while it is stopped.
# MODPROBE: the command that loads a module, should it not be modprobe alone.
. "$(dirname "$0")/common.sh"
need_root "a SCSI disk"
MODPROBE=${MODPROBE:-modprobe}
[[ ! -e /sys/module/scsi_debug ]] || skip "somebody else has scsi_debug loaded"
$MODPROBE sd_mod 2>/dev/null || skip "this kernel has no SCSI disks, and no module for them can be loaded"
# One disk more than there are members, so that a name is taken that others had.
COUNT=$(($(member_count) + 1))
$MODPROBE scsi_debug add_host=$COUNT dev_size_mb=$(($(bytes "$MEMBER_SIZE") >> 20)) per_host_store=1 lbpu=1 lbpws=1 delay=0 2>/dev/null ||
    skip "this kernel has no module scsi_debug, and none can be loaded"
at_exit "$MODPROBE -r scsi_debug"
HOST=$(basename /sys/bus/pseudo/drivers/scsi_debug/adapter0/host*) HOST=${HOST#host}
# disk N: the name of the disk now; nothing if it is unplugged.
disk() { compgen -G "/sys/bus/pseudo/drivers/scsi_debug/adapter$1/host*/target*/*/block/*" | sed 's#.*/#/dev/#'; }
unplug() {
    local n
    for n; do echo 1 >"/sys/block/$(basename "$(disk "$n")")/device/delete"; done
}
# plug N...: in this order.
plug() {
    local n i
    for n; do
        echo "- - -" >"/sys/class/scsi_host/host$((HOST + n))/scan"
        for ((i = 0; i < 100; i++)); do [[ ! -b $(disk "$n") ]] || break; sleep 0.1; done
        [[ -b $(disk "$n") ]] || fail "disk $n does not come back"
    done
}
# is_at_home: what the state directory remembers of each member is where its disk is.
is_at_home() {
    local n
    for ((n = 0; n < $(member_count); n++)); do
        grep -qF "\"$(disk "$n")\"" "$DIR/state/tank.toml" || fail "member $n is at $(disk "$n"): $(<"$DIR/state/tank.toml")"
    done
}
for ((i = 0; i < 100; i++)); do
    [[ -z $(disk $((COUNT - 1))) ]] || break
    sleep 0.2
done
for ((n = 0; n < $(member_count); n++)); do PLACES+=("$(disk "$n")"); done
SERVE_FLAGS="$SERVE_FLAGS --hung-after 30s"
serve
load
was=$(disk 1)
unplug 1
says "is missing (" 60
plug 1
[[ $(disk 1) != "$was" ]] || fail "the disk has its old name, so nothing was tried"
healthy 120
is_at_home
grep -q "member 1 is at $(disk 1) now" "$DIR/server.log" || fail "the server's log does not say where the member is"
mapfile -t LOST < <(seq 0 "${RAID#*+}")
unplug "${LOST[@]}"
says "Requests wait" 60
plug $(printf '%s\n' "${LOST[@]}" | tac)
healthy 180
is_at_home
never_said "is full"
well 120
for ((n = 0; n < COUNT; n++)); do unplug "$n"; done
for ((n = COUNT - 1; n >= 0; n--)); do plug "$n"; done
start
healthy 60
is_at_home
verified_after_kill
stop
