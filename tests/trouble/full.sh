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
# A change that is asked for meanwhile says whom it waits for, and is made when there is room.
"$CYGNUS" --state "$DIR/state" volume create tank/later --size 1MiB >"$DIR/later" 2>&1 &
LATER=$!
sleep "$(long_or 60 10)"
grep -qF "is suspended and waits for" "$DIR/later" || fail "who asks for a volume is told nothing: $(cat "$DIR/later")"
says "(the file system below is full)" 1
rm "$DIR/small/ballast"
wait "$LATER" || fail "the volume was not made: $(cat "$DIR/later")"
well
never_said "out of service"
