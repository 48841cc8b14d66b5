#!/usr/bin/env bash
# Zoned block devices of the kernel (null_blk) as members, and the kernel's own NBD client in front: a hybrid volume on files that count
# as flash and on zoned disks carries an XFS through killed servers and through zones that somebody resets behind its back; an array
# without redundancy loses what lay in such a zone, says so, and nothing else. usage, as root: tests/zoned/run.sh
#
# It needs the kernel modules null_blk (with configfs), nbd and xfs. Where one is not to be had it says so and exits with 77.
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[[ ${1:-} == --help || ${1:-} == -h ]] && sed -n '2,6s/^# \?//p' "$0" && exit 0
export PRESET=salsa GROUP_COUNT=2 RAID=2+1 VOLUME_SIZE=${VOLUME_SIZE:-448MiB}
. "$HERE/../clients/common.sh"
. "$HERE/../clients/filesystem.sh"
[[ -x $CYGNUS ]] || { echo "$CYGNUS is missing: cargo build -p cygnus-cli, or set CYGNUS" >&2 && exit 2; }
command -v nbd-client >/dev/null || skip "nbd-client is not installed (Debian package nbd-client)"
need mkfs.xfs xfs_repair blkzone nbdinfo jq /usr/bin/python3
[[ $EUID == 0 ]] || skip "zoned devices and mounts need root"

# need_module MODULE: loads it, unless it is there.
need_module() {
    [[ -e /sys/module/$1 ]] || modprobe "$1" 2>/dev/null || skip "this kernel has no module $1, and none can be loaded"
}
need_module nbd
need_module xfs
[[ -e /sys/module/null_blk ]] || modprobe null_blk nr_devices=0 2>/dev/null || skip "this kernel has no module null_blk, and none can be loaded"
CONFIG=/sys/kernel/config
mounted $CONFIG || mount -t configfs none $CONFIG || skip "configfs cannot be mounted at $CONFIG"
[[ -d $CONFIG/nullb ]] || skip "null_blk takes no settings through $CONFIG/nullb"
grep -qw zoned $CONFIG/nullb/features || skip "this null_blk makes no zoned devices"

ZONE=$((4 << 20))
# zoned_disk NAME: makes a zoned disk of 512 MiB in memory, in zones of 4 MiB of which four are conventional; DISK is its path.
zoned_disk() {
    local at=$CONFIG/nullb/$1 setting
    mkdir "$at"
    at_exit "echo 0 >$at/power; rmdir $at"
    for setting in memory_backed=1 blocksize=4096 size=512 zoned=1 zone_size=$((ZONE >> 20)) zone_nr_conv=4 power=1; do
        echo "${setting#*=}" >"$at/${setting%%=*}" || fail "null_blk refuses $setting"
    done
    # Kernels name the disk by the folder, or by its number.
    DISK=/dev/$1
    [[ -b $DISK ]] || DISK=/dev/nullb$(<"$at/index")
    [[ -b $DISK ]] || fail "null_blk has made $1, and there is no block device of it"
}

# attach, detach: the volume as the kernel's block device $LOOP, in place of the loop device of the other tests.
for NBD in /dev/nbd*; do [[ -e /sys/block/${NBD#/dev/}/pid || ! $NBD =~ nbd[0-9]+$ ]] || break; done
PORT=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
attach() {
    nbd-client -N "$EXPORT" -b 4096 127.0.0.1 "$PORT" "$NBD" >>"$DIR/nbd-client.log" 2>&1 || fail "nbd-client: $(tail -n 3 "$DIR/nbd-client.log")"
    LOOP=$NBD
}
detach() {
    if mounted "$MOUNT"; then umount "$MOUNT" || umount -l "$MOUNT"; fi
    if [[ -n $LOOP ]]; then nbd-client -d "$LOOP" >>"$DIR/nbd-client.log" 2>&1 || true; fi
    LOOP=
}
restart() {
    start "127.0.0.1:$PORT"
    attach
}
# done_with ARGS...: this command succeeds.
done_with() { cygnus "$DIR" "$@" >>"$DIR/commands.log" 2>&1 || fail "$*: $(tail -n 3 "$DIR/commands.log")"; }
# fsck_finds_nothing, tree_is_there: of the file system, which is not mounted; which is.
fsck_finds_nothing() { xfs_repair -n "$LOOP" >"$DIR/fsck.log" 2>&1 || { tail -n 20 "$DIR/fsck.log" >&2 && fail "$1: xfs_repair finds damage"; }; }
tree_is_there() { (cd "$MOUNT/tree" && sha256sum --quiet -c "$DIR/tree.sums") || fail "$1: the synced tree is damaged"; }
# read_from_devices: what the kernel has cached of files is read again.
read_from_devices() { sync -f "$MOUNT" && echo 3 >/proc/sys/vm/drop_caches; }
# zone_that_is DEVICE CONDITIONS: the last of its sequential zones in such a condition, by its number.
zone_that_is() {
    local start
    start=$(blkzone report "$1" | sed -n "s/^ *start: \(0x[0-9a-f]*\),.*zcond: *[0-9]*(\($2\)).*/\1/p" | tail -n 1)
    [[ -n $start ]] || fail "no zone of $1 is $2: $(blkzone report "$1" | tail -n 3)"
    echo $((start * 512 / ZONE))
}
# reset_zone DEVICE NUMBER [FLAG]: as somebody does who knows nothing of the array.
reset_zone() { blkzone reset ${3:-} -o $(($2 * ZONE / 512)) -c 1 "$1" 2>>"$DIR/blkzone.log"; }

say "kernel $(uname -r)"
DISKS=()
for n in 0 1 2 3; do zoned_disk "zoned-$$-$n" && DISKS+=("$DISK"); done
at_exit '[[ -z $SERVER ]] || kill -9 $SERVER'
at_exit detach

# --- a hybrid volume on flash and on zoned disks
FILES=("$DIR/f0" "$DIR/f1" "$DIR/f2")
done_with array create tank --preset salsa --raid 2+1 --media flash,disk --create 256MiB --sparse "${FILES[@]}" "${DISKS[@]:0:3}"
done_with volume create "tank/$EXPORT" --size "$VOLUME_SIZE" --hybrid
start "127.0.0.1:$PORT"
array_status "$DIR" --json >"$DIR/status.json"
jq -e "[.devices[].capabilities.zone_bytes] == [0, 0, 0, $ZONE, $ZONE, $ZONE]" "$DIR/status.json" >/dev/null ||
    fail "zones of the members: $(jq -c '[.devices[].capabilities]' "$DIR/status.json")"
mkdir "$MOUNT"
attach
mkfs.xfs -q -f "$LOOP" >"$DIR/mkfs.log" 2>&1 || { cat "$DIR/mkfs.log" >&2 && fail "mkfs.xfs"; }
mount "$LOOP" "$MOUNT"
mkdir "$MOUNT/work"
cp -a "$TREE" "$MOUNT/tree"
(cd "$TREE" && find . -type f -exec sha256sum {} +) >"$DIR/tree.sums"
for ((n = 0; n < 4; n++)); do read_from_devices && tree_is_there "read $n"; done
promoted=$(array_status "$DIR" --json | jq '.writes.promoted_bytes // 0')
((promoted > 0)) || fail "files were read again and again, and nothing moved to flash"
array_status "$DIR" --json | jq -e '[.devices[3:][].zones | .partly_written > 0 and .full > 0] | all' >/dev/null ||
    fail "zones: $(array_status "$DIR" --json | jq -c '[.devices[].zones]')"
array_status "$DIR" | grep -q "written in order, .* partly written on each" || fail "the status tells nothing of partly written zones"
say "$(wc -l <"$DIR/tree.sums") files copied and read again; $promoted bytes have moved to flash"

# The server is killed when the file system is at rest, and then under its writes.
umount "$MOUNT"
kill9
detach
restart
fsck_finds_nothing "killed at rest"
mount "$LOOP" "$MOUNT"
tree_is_there "killed at rest"
write_files &
writer=$!
# A machine that translates instructions is slow: the kill waits until something was promised.
for ((n = 0; n < 600; n++)); do
    if grep -qs "[0-9a-f]\{64\}" "$DIR/fsynced"; then break; fi
    sleep 0.1
done
sleep 2
kill9
# Until it is told to let go, the kernel's client keeps what was under way, and whoever waits for it.
nbd-client -d "$LOOP" >>"$DIR/nbd-client.log" 2>&1 || true
wait $writer || true
detach
restart
mount "$LOOP" "$MOUNT" # replays the journal
umount "$MOUNT"
fsck_finds_nothing "killed under writes"
mount "$LOOP" "$MOUNT"
tree_is_there "killed under writes"
promised=$(verify_fsynced)
((promised > 0)) || fail "nothing was fsynced before the kill, so nothing was proved"
say "killed at rest and under writes: xfs_repair finds nothing, the tree and $promised fsynced files are there"

# A zone is reset while the array is served: the kernel refuses that of a device in use, unless it is forced. Then one that is
# partly written too: if the array goes on with it, the device refuses that.
full=$(zone_that_is "${DISKS[0]}" fu)
! reset_zone "${DISKS[0]}" "$full" || fail "blkzone reset a zone of a device in use without --force"
reset_zone "${DISKS[0]}" "$full" --force || fail "blkzone: $(tail -n 1 "$DIR/blkzone.log")"
open=$(zone_that_is "${DISKS[1]}" 'oi\|oe\|cl')
reset_zone "${DISKS[1]}" "$open" --force || fail "blkzone: $(tail -n 1 "$DIR/blkzone.log")"
cp -a "$TREE" "$MOUNT/again"
read_from_devices
tree_is_there "zones reset while served"
diff -r "$TREE" "$MOUNT/again" >&2 || fail "what was written behind the reset is damaged"
umount "$MOUNT"
detach
cygnus "$DIR" --json array scrub tank --wait >"$DIR/scrub.json" || fail "array scrub: $(cat "$DIR/scrub.json")"
jq -e '.report.complete and .report.lost == 0' "$DIR/scrub.json" >/dev/null || fail "the scrub: $(jq -c .report "$DIR/scrub.json")"
say "zones $full and $open reset while served: nothing lost; the scrub $(jq -c '.report | {wrong_blocks, wrong_parity, wrong_headers, moved_blocks}' "$DIR/scrub.json")"
stop

# All zones of a member of the stopped array, but for the conventional ones. The check of it counts what is wrong, and redundancy has all of it.
blkzone reset -o $((4 * ZONE / 512)) "${DISKS[1]}" 2>"$DIR/blkzone.log" || fail "blkzone: $(tail -n 1 "$DIR/blkzone.log")"
! cygnus "$DIR" array check tank >"$DIR/check" 2>&1 || fail "the check finds nothing"
grep -q "${DISKS[1]}" "$DIR/check" || fail "the check does not name ${DISKS[1]}: $(cat "$DIR/check")"
restart
fsck_finds_nothing "zones reset at rest"
mount "$LOOP" "$MOUNT"
tree_is_there "zones reset at rest"
umount "$MOUNT"
detach
cygnus "$DIR" --json array scrub tank --wait >"$DIR/scrub.json" || fail "array scrub: $(cat "$DIR/scrub.json")"
jq -e '.report.complete and .report.lost == 0' "$DIR/scrub.json" >/dev/null || fail "the scrub: $(jq -c .report "$DIR/scrub.json")"
say "all zones of a member reset at rest: nothing lost; the check: $(grep -m 1 "${DISKS[1]}" "$DIR/check" | tr -s " ")"
stop

# --- no redundancy: what lay in the zone is lost, is said to be, and is never anything else; all other blocks are there
VOLUME_SIZE=64MiB
done_with array create bare --preset log-raid --raid 1+0 "${DISKS[3]}"
done_with volume create "bare/$EXPORT" --size $VOLUME_SIZE
serve_bare() {
    rm -f "$SOCKET"
    "$CYGNUS" --state "$DIR/state" serve bare --nbd "unix:$SOCKET" >>"$DIR/bare.log" 2>&1 &
    SERVER=$!
    for ((i = 0; i < 600; i++)); do
        if [[ -S $SOCKET ]] && nbdinfo --size "$URI" >/dev/null 2>&1; then return; fi
        sleep 0.05
    done
    fail "the server does not negotiate after 30 s: $(tail -n 3 "$DIR/bare.log")"
}
end_bare() {
    kill -TERM "$SERVER"
    wait "$SERVER" || fail "the server ended with $?"
    SERVER=
}
serve_bare
python <<'P'
from client import *
h = connect()
for at in range(64):
    h.pwrite(data(MIB, at), at * MIB)
h.flush()
P
end_bare
full=$(cygnus "$DIR" --json array dump bare --volume "$EXPORT" --lba 5000 | jq ".place.offset / $ZONE | floor")
reset_zone "${DISKS[3]}" "$full" || fail "blkzone: $(tail -n 1 "$DIR/blkzone.log")"
serve_bare
lost=$(python <<'P'
from client import *
import errno
import nbd
h = connect()
lost = 0
for at in range(64):
    whole = data(MIB, at)
    try:
        check(bytes(h.pread(MIB, at * MIB)) == whole, f"the MiB at {at * MIB} reads otherwise")
        continue
    except nbd.Error:
        pass  # Which of its blocks are lost is asked one by one.
    for block in range(0, MIB, 4 * KIB):
        try:
            got = h.pread(4 * KIB, at * MIB + block)
        except nbd.Error as error:
            check(error.errnum == errno.EIO, f"the block at {at * MIB + block} fails otherwise than by EIO: {error}")
            lost += 1
            continue
        check(bytes(got) == whole[block : block + 4 * KIB], f"the block at {at * MIB + block} reads otherwise")
print(lost)
P
)
((lost > 0 && lost <= ZONE / 4096)) || fail "$lost blocks cannot be read, of a zone with room for $((ZONE / 4096))"
told=$({ cygnus "$DIR" --json array status bare || true; } | jq .repairs.unreadable)
((told >= lost)) || fail "$lost blocks cannot be read, and the status tells of $told"
end_bare
say "without redundancy: $lost blocks of zone $full give EIO, all others are right; the status tells of $told reads of such blocks"
