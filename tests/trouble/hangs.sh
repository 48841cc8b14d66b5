#!/usr/bin/env bash
# HANGING members (1 or 2, of the first R-group) lie on FUSE file systems that give no answer for 40 s and then do.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/fuse.sh"
HANGING=${HANGING:-1}
hanging=($(seq 0 $((HANGING - 1))))
with_fuse_members "${hanging[@]}"
SERVE_FLAGS="$SERVE_FLAGS --hung-after 8s"
serve
load
kill -STOP "${FUSE[@]}"
at_exit "kill -CONT ${FUSE[*]}"
BEGAN=$SECONDS
if ((HANGING <= ${RAID#*+})); then
    says "degraded" 60
    before=$(passed)
    until_passes $((before + 2)) 60
    grep -q "is missing" "$DIR/status" || { cat "$DIR/status" >&2 && fail "a member that was late is not called missing"; }
else
    says "(it gives no answer)" 60
    never_said "out of service"
fi
sleep $((40 - (SECONDS - BEGAN) > 0 ? 40 - (SECONDS - BEGAN) : 0))
kill -CONT "${FUSE[@]}"
well 120
