#!/usr/bin/env bash
# A member of a stopped array gives no answer. Who asks for the status in a pipe gets that, and the command ends: before the
# member answers again, which is when the thread that asked it can end.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/fuse.sh"
with_fuse_members 0
serve
load
load_ends 60
stop
kill -STOP "${FUSE[@]}"
at_exit "kill -CONT ${FUSE[*]}"
for look in "array status tank" "array scan ${PLACES[*]}" "array list"; do
    rm -f "$DIR/looked"
    # shellcheck disable=SC2086
    { "$CYGNUS" --state "$DIR/state" $look 2>&1 | cat >"$DIR/seen" || true; touch "$DIR/looked"; } &
    for ((n = 0; n < 40 * 4; n++)); do
        if [[ -e $DIR/looked ]]; then break; fi
        sleep 0.25
    done
    [[ -e $DIR/looked ]] || fail "'$look' does not end: $(cat "$DIR/seen")"
    [[ $look != *status* ]] || grep -qF "it has given no answer" "$DIR/seen" || fail "nothing is said of the member: $(cat "$DIR/seen")"
done
code=0
"$CYGNUS" --state "$DIR/state" array status tank >"$DIR/seen" 2>&1 || code=$?
((code == 3)) || fail "array status ends with $code: $(cat "$DIR/seen")"
kill -CONT "${FUSE[@]}"
start
well 60
