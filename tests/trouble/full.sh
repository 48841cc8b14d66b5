#!/usr/bin/env bash
# All members are sparse files on a tmpfs. Somebody else fills it, and makes room again.
. "$(dirname "$0")/common.sh"
need_root "a tmpfs"
mkdir "$DIR/small"
mount -t tmpfs -o size=150m tmpfs "$DIR/small"
at_exit "umount -l $DIR/small"
for ((i = 0; i < $(member_count); i++)); do PLACES+=("$DIR/small/d$i"); done
# In place only what was never written before needs room below.
[[ ${PRESET:-swan} == raid* ]] && SPREAD=10
serve
load
cat /dev/zero >"$DIR/small/ballast" 2>/dev/null || true
says "(the file system below is full)" 60
says "Requests wait" 1
grep -qF "recorded against them" "$DIR/status" || fail "status does not say that nothing is given up"
sleep "$(long_or 60 10)"
says "(the file system below is full)" 1
rm "$DIR/small/ballast"
well
never_said "out of service"
