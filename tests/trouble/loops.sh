#!/usr/bin/env bash
# Two members of an R-group are loop devices on sparse files of a file system that gets full: the kernel says EIO, which may be
# anything. (A loop device in use cannot be taken away: `losetup -d` waits for the server to close it.)
. "$(dirname "$0")/common.sh"
need losetup
need_root "a loop device"
[[ -e /dev/loop-control ]] || skip "there are no loop devices"
mkdir "$DIR/small"
mount -t tmpfs -o size=64m tmpfs "$DIR/small"
at_exit "umount -l $DIR/small"
for ((i = 0; i < $(member_count); i++)); do PLACES+=("$DIR/d$i"); done
for i in 0 1; do
    truncate -s "$(bytes "$MEMBER_SIZE")" "$DIR/small/m$i"
    PLACES[i]=$(losetup --show -f -b 4096 "$DIR/small/m$i")
    at_exit "losetup -d ${PLACES[i]}"
done
serve
load
cat /dev/zero >"$DIR/small/ballast" 2>/dev/null || true
says "Requests wait" 60
never_said "out of service"
sleep "$(long_or 60 5)"
rm "$DIR/small/ballast"
well 120
