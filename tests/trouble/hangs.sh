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
    # Where no other R-group has the superblocks, a change that is asked for says whom it waits for, and is made in the end.
    if ((GROUP_COUNT == 1 && HANGING == ${RAID%+*})) && [[ ${PRESET:-swan} != raid* ]]; then
        "$CYGNUS" --state "$DIR/state" array spare add tank "$DIR/later" --create 256MiB >"$DIR/told" 2>&1 &
        LATER=$!
        sleep 6
        grep -qF "is suspended and waits for" "$DIR/told" || fail "who adds a spare is told nothing: $(cat "$DIR/told")"
    fi
fi
sleep $((40 - (SECONDS - BEGAN) > 0 ? 40 - (SECONDS - BEGAN) : 0))
kill -CONT "${FUSE[@]}"
if [[ -n ${LATER:-} ]]; then
    wait "$LATER" || fail "the spare was not added: $(cat "$DIR/told")"
fi
well 120
