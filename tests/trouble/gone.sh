#!/usr/bin/env bash
# Two members of an R-group lie on FUSE file systems whose programs die, and are started anew at the same places.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/fuse.sh"
with_fuse_members 0 1
serve
load
# The kernel takes them down one after the other. The server is stopped meanwhile, so that it hears of both at once: of one alone it would
# rightly say that this member is out of service.
kill -STOP "$SERVER"
at_exit "kill -CONT $SERVER"
kill -9 "${FUSE[@]}"
sleep 1
kill -CONT "$SERVER"
says "(it is gone)" 60
never_said "out of service"
sleep "$(long_or 60 5)"
for i in 0 1; do
    umount -l "$DIR/fuse$i"
    fuse_member "$i"
done
well 120
