#!/usr/bin/env bash
# The file system that all members are on is frozen for longer than Linux gives a command, and thawed.
. "$(dirname "$0")/common.sh"
need fsfreeze losetup mkfs.ext4
need_root "a file system"
FILESYSTEM=${FILESYSTEM:-ext4}
truncate -s 1G "$DIR/image"
"mkfs.$FILESYSTEM" -q "$DIR/image" >"$DIR/mkfs.log" 2>&1 || fail "mkfs.$FILESYSTEM: $(cat "$DIR/mkfs.log")"
mkdir "$DIR/below"
mount -o loop "$DIR/image" "$DIR/below"
at_exit "umount -l $DIR/below"
at_exit "fsfreeze -u $DIR/below"
for ((i = 0; i < $(member_count); i++)); do PLACES+=("$DIR/below/d$i"); done
SERVE_FLAGS="$SERVE_FLAGS ${PATIENCE:+--hung-after $PATIENCE}"
serve
load
fsfreeze -f "$DIR/below"
FROZEN=$SECONDS
[[ -z ${PATIENCE:-} ]] || says "(it gives no answer)" 60
while ((SECONDS - FROZEN < 36)); do
    status
    sleep 1
done
# By now nobody has answered for far longer than a tenth of the usual patience, which is not over yet.
[[ -n ${PATIENCE:-} ]] || grep -q "is slow to answer: a request has waited for" "$DIR/status" ||
    { cat "$DIR/status" >&2 && fail "array status says nothing of members that are late"; }
fsfreeze -u "$DIR/below"
well
never_said "out of service"
