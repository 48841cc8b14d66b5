#!/usr/bin/env bash
# A server is killed with answered writes that no flush has covered. Commands that change the stopped array, and a server that is told another
# directory, put them on the members first: nothing that was answered is lost.
. "$(dirname "$0")/common.sh"
need /usr/bin/python3 nbdinfo jq
only_on cygnus "the stand-ins keep nothing"
only_log "arrays in place answer when the members have taken a write"

OTHER=$(mktemp -d /dev/shm/cygnus-other.XXXXXX)
at_exit "rm -rf '$OTHER'"
# put SEED: writes, scattered, and flushes nothing. has SEED: all of it is there.
put() {
    python "$1" <<'P'
import sys
from client import *
h, seed = connect(), int(sys.argv[1])
for i in range(60):
    h.pwrite(data(8192, 1000 * seed + i), MIB * (i % 40) + 65536 * seed + 4096 * i)
P
}
has() {
    python "$1" <<'P'
import sys
from client import *
h, seed = connect(), int(sys.argv[1])
for i in range(60):
    same(h, MIB * (i % 40) + 65536 * seed + 4096 * i, data(8192, 1000 * seed + i), f"round {seed}, write {i}")
P
}
# left: how many files of killed servers there are, in both directories.
left() { find "$CYGNUS_KEPT_IN" "$OTHER" -name "cygnus-$UUID" | wc -l; }
c() { cygnus "$DIR" "$@" >>"$DIR/commands.log" 2>&1 || fail "'cygnus $*' ended with $?: $(tail -n 3 "$DIR/commands.log")"; }

serve
UUID=$(array_status "$DIR" --json | jq -r .uuid)
seed=0
# killed COMMAND...: the server is killed with writes in memory, the command does its work, and the next server has all of them.
killed() {
    seed=$((seed + 1))
    put $seed
    kill9
    [[ $(left) == 1 ]] || fail "round $seed: $(left) files of the killed server"
    if (($#)); then
        c "$@"
        [[ $(left) == 0 ]] || fail "round $seed: '$*' left what it had put on the members"
    fi
    start
    has $seed
}
killed volume create tank/more --size 8MiB
killed volume resize tank/more --size 16MiB
killed volume set tank/more ack=written
killed volume delete tank/more --yes
SERVE_FLAGS="--kept-in $OTHER" killed
killed volume create tank/again --size 8MiB
SERVE_FLAGS="--kept-in $OTHER" killed
SERVE_FLAGS="--kept-in none" killed
stop
[[ $(left) == 0 ]] || fail "$(left) files after a clean stop"

# A copy and a check take nothing away, and say what they lack; a repair changes the array.
start
seed=$((seed + 1))
put $seed
kill9
cygnus "$DIR" array check tank 2>&1 | grep -q "has left writes in $CYGNUS_KEPT_IN" || fail "the check does not tell of them"
cygnus "$DIR" array salvage tank/vol0 "$DIR/copy" 2>&1 | grep -q "has left writes in $CYGNUS_KEPT_IN" || fail "the copy does not tell of them"
[[ $(left) == 1 ]] || fail "a command that only reads took them"
cygnus "$DIR" array check tank --repair >>"$DIR/commands.log" 2>&1 || fail "the repair ended with $?"
start
has $seed
stop
