#!/usr/bin/env bash
# Members gone: up to m of each group the array opens, says "degraded" and takes writes; one more and it refuses, naming them. A lost state directory is found again by scan.
. "$(dirname "$0")/common.sh"
need /usr/bin/python3 nbdinfo
only_on cygnus "the stand-ins have no members"
only_log "64-in-place loses members there"
only_with_groups 3
only_wide
serve
python <<'P'
from client import *
h = connect()
h.pwrite(data(20 * MIB, 1), 0)
h.flush()
P
kill9
mkdir "$DIR/away"
mv "$DIR/d1" "$DIR/d3" "$DIR/d8" "$DIR/away" # one of each group
start
status=$(array_status "$DIR")
grep -q degraded <<<"$status" || fail "array status does not say degraded: $status"
python <<'P'
from client import *
h = connect()
same(h, 0, data(20 * MIB, 1), "read with a member of each group gone")
h.pwrite(data(10 * MIB, 2), 30 * MIB)
h.flush()
same(h, 30 * MIB, data(10 * MIB, 2), "written with a member of each group gone")
P
kill9
start
python <<'P'
from client import *
h = connect()
same(h, 0, data(20 * MIB, 1), "read degraded, after a kill")
same(h, 30 * MIB, data(10 * MIB, 2), "written degraded, after a kill")
P
kill -TERM "$SERVER"
wait "$SERVER" || fail "SIGTERM: the server ended with an error"
SERVER=
mv "$DIR/d4" "$DIR/away" # a second one of group 1
if timeout 30 bash -c ". '$TESTS/target.sh'; target_exec '$DIR' '$SOCKET'" >"$DIR/refusal" 2>&1; then
    fail "an array with two members of a group missing was served"
fi
grep -q "d3\|member 3" "$DIR/refusal" && grep -q "d4\|member 4" "$DIR/refusal" || { cat "$DIR/refusal" >&2 && fail "the refusal does not name both members"; }
mv "$DIR/away/d4" "$DIR/d4"
# The state directory only remembers; members may have moved meanwhile.
rm -rf "$DIR/state"
mkdir "$DIR/moved"
mv "$DIR"/d[0-9] "$DIR/moved"
cygnus "$DIR" array scan "$DIR/moved" >"$DIR/scan.log" 2>&1 || { cat "$DIR/scan.log" >&2 && fail "array scan"; }
start
python <<'P'
from client import *
h = connect()
same(h, 0, data(20 * MIB, 1), "found again by scan")
same(h, 30 * MIB, data(10 * MIB, 2), "found again by scan")
P
# A second server of the same array is told so and disturbs nothing.
if timeout 30 bash -c ". '$TESTS/target.sh'; target_exec '$DIR' '$DIR/second.sock'" >"$DIR/second.log" 2>&1; then
    fail "the array is served twice"
fi
python <<'P'
from client import *
same(connect(), 0, data(20 * MIB, 1), "after a second server was refused")
P
