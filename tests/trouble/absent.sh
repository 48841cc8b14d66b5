#!/usr/bin/env bash
# A member is not there when the server starts (AWAY=gone), or lies on a FUSE file system that gives no answer then
# (AWAY=hangs). Later it is where it was, and comes back without an operator. Meanwhile other things stand at its path.
. "$(dirname "$0")/common.sh"
AWAY=${AWAY:-gone}
if [[ $AWAY == hangs ]]; then
    . "$(dirname "$0")/fuse.sh"
    with_fuse_members 0
fi
serve
pass 1 || fail "the first pass"
echo 1 >"$DIR/passes"
stop
if [[ $AWAY == hangs ]]; then
    kill -STOP "${FUSE[@]}"
    at_exit "kill -CONT ${FUSE[*]}"
else
    mv "$DIR/d0" "$DIR/elsewhere"
fi
start
load
if [[ $AWAY == hangs ]]; then
    says "is missing (what is at its path gives no answer): it is looked for there" 60
    sleep "$(long_or 40 5)"
    kill -CONT "${FUSE[@]}"
else
    says "is missing (there is nothing at its path): it is looked for there" 30
    # A stranger's file, and a copy of another member: neither is let in, and neither is written to.
    head -c "$(bytes "$MEMBER_SIZE")" /dev/zero | tr '\0' s >"$DIR/d0"
    before=$(sha256sum <"$DIR/d0")
    says "what is at its path holds" 90
    [[ $(sha256sum <"$DIR/d0") == "$before" ]] || fail "a stranger's file was written to"
    rm "$DIR/d0"
    mv "$DIR/elsewhere" "$DIR/d0"
fi
well 150
grep -q "takes part as member 0" "$DIR/server.log" || fail "the server's log does not say that the member takes part again"
never_said "panicked"
