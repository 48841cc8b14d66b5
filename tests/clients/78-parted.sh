#!/usr/bin/env bash
# Each copy of a mirror is served without the other one and written to. With both there nothing is served until somebody says which counts; either side can be chosen, and the other is filled from it.
[[ ${PRESET:-swan} == swan || ${PRESET:-swan} == raid5 ]] || { echo "N/A: it makes an array of its own" >&2 && exit 78; }
if [[ ${PRESET:-swan} == swan ]]; then export PRESET=log-raid; else export PRESET=raid1; fi
export GROUP_COUNT=1 RAID=1+1
. "$(dirname "$0")/common.sh"
need /usr/bin/python3 nbdinfo jq
only_on cygnus "the stand-ins have no members"
serve

# put SEED, is SEED: writes the volume's start, and compares it.
put() { python "$1" <<<'import sys; from client import *; h = connect(); h.pwrite(data(MIB, int(sys.argv[1])), 0); h.flush()'; }
is() { python "$1" <<<'import sys; from client import *; same(connect(), 0, data(MIB, int(sys.argv[1])), f"side {sys.argv[1]}")'; }
put 1
# part: member 0 goes on with 10, member 1 with 11.
part() {
    local n
    for n in 0 1; do
        mv "$DIR/d$((1 - n))" "$DIR/away"
        start
        put 1$n
        kill9
        mv "$DIR/away" "$DIR/d$((1 - n))"
    done
}
whole() { array_status "$DIR" --json | jq -e '[.devices[].state] == ["online", "online"]' >/dev/null; }
kill9
part
if timeout 30 bash -c ". '$TESTS/target.sh'; target_exec '$DIR' '$SOCKET'" >"$DIR/refusal" 2>&1; then
    fail "copies that parted were served together"
fi
grep -q "went on without" "$DIR/refusal" || fail "the refusal: $(cat "$DIR/refusal")"
say "$(grep error: "$DIR/refusal")"
code=0
cygnus "$DIR" array status tank >"$DIR/status" || code=$?
((code == 4)) || fail "array status exits $code for an array that is not served"
grep -q "went on without" "$DIR/status" || fail "array status: $(cat "$DIR/status")"
cygnus "$DIR" array check tank >"$DIR/check" 2>&1 && fail "array check finds nothing: $(cat "$DIR/check")"
grep -q "went on without" "$DIR/check" || fail "array check: $(cat "$DIR/check")"

# One side by being there alone: it has what it wrote, and fills the other.
mv "$DIR/d1" "$DIR/away"
start
is 10
mv "$DIR/away" "$DIR/d1"
cygnus "$DIR" array replace tank 1 "$DIR/d1" --force --yes --wait >>"$DIR/server.log" 2>&1 ||
    fail "array replace: $(tail -3 "$DIR/server.log")"
whole || fail "$(array_status "$DIR")"
stop
start
is 10
kill9

# The side that counts by force.
part
SERVE_FLAGS="--force --yes" start
mine=$(array_status "$DIR" --json | jq '.devices | map(.state) | index("online")')
is "1$mine"
cygnus "$DIR" array replace tank $((1 - mine)) "$DIR/d$((1 - mine))" --force --yes --wait >>"$DIR/server.log" 2>&1 ||
    fail "array replace: $(tail -3 "$DIR/server.log")"
whole || fail "$(array_status "$DIR")"
stop
mv "$DIR/d$mine" "$DIR/away"
start
is "1$mine"
