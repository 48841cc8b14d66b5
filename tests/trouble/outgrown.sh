#!/usr/bin/env bash
# Sparse members outgrow the tmpfs that all of them are on, until somebody makes it larger.
. "$(dirname "$0")/common.sh"
need_root "a tmpfs"
mkdir "$DIR/small"
mount -t tmpfs -o size=24m tmpfs "$DIR/small"
at_exit "umount -l $DIR/small"
for ((i = 0; i < $(member_count); i++)); do PLACES+=("$DIR/small/d$i"); done
serve
passes &
LOAD=$!
at_exit "touch $DIR/enough; kill $LOAD; pkill -P $LOAD"
says "(the file system below is full)" 60
sleep "$(long_or 60 5)"
mount -o remount,size=600m "$DIR/small"
well
# Whoever needs room first may leave alone while the others need none, and comes back; nobody has failed.
never_said "is failed"
