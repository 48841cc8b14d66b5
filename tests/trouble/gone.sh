#!/usr/bin/env bash
# Two members of an R-group lie on FUSE file systems whose programs die, and are started anew at the same places.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/fuse.sh"
with_fuse_members 0 1
serve
load
kill -9 "${FUSE[@]}"
says "(it is gone)" 60
never_said "out of service"
sleep "$(long_or 60 5)"
for i in 0 1; do
    umount -l "$DIR/fuse$i"
    fuse_member "$i"
done
well 120
