#!/usr/bin/env bash
# Two-phase protection: writes with a flush each cost less than a stripe's end, and survive a killed server without its memory
# and a lost member, though their stripe was never closed. Bad shapes are refused before anything is made.
export CREATE_FLAGS="--protection two-phase" SERVE_FLAGS="--kept-in none"
. "$(dirname "$0")/common.sh"
need /usr/bin/python3 nbdinfo jq
only_on cygnus "the stand-ins have no stripes"
[[ $PRESET == swan ]] || { echo "N/A: the same code as under swan" >&2 && exit 78; }

# refused WORDS FLAGS...: creating an array with these flags fails with these words and exit code 2 (EXIT=1: the engine refuses what the
# command line may say), and leaves nothing.
refused() {
    local code=0
    cygnus "$DIR" array create bad "${@:2}" --create 64MiB "$DIR"/bad{0,1,2} >"$DIR/refused" 2>&1 || code=$?
    ((code == ${EXIT:-2})) && grep -q -- "$1" "$DIR/refused" || fail "create ${*:2}: $code, $(cat "$DIR/refused")"
    ! compgen -G "$DIR/bad*" >/dev/null || fail "create ${*:2} left files"
}
refused "goes with --protection two-phase" --preset log-raid --transient 1MiB
EXIT=1 refused "has no room for copies: use at least 32 KiB" --preset fusion --transient 4KiB --raid 2+1
refused "use --raid 3+1" --preset fusion --raid 3+0
refused "does not go with --preset raid5" --preset raid5 --protection two-phase

serve
for round in 1 2; do
    python "$round" <<'P'
import sys
from client import *
h = connect()
n = int(sys.argv[1])
for i in range(600):
    h.pwrite(data(4 * KIB, n * 1000 + i), (i * 37 % 4096) * 4 * KIB)
    h.flush()
# The last stripe is open: what is discarded in it, and what was written, only copies tell of.
h.trim(4 * KIB, 40 * MIB)
h.pwrite(data(12 * KIB, n), 41 * MIB)
h.flush()
P
    if ((round == 1)); then
        # By what the client wrote: the server counts that when a stripe ends, and what members took before.
        written=$((600 * 4096 + 12 * 1024))
        array_status "$DIR" --json >"$DIR/status.json"
        jq -e ".transient_bytes > 0 and .writes.device_bytes < 5 * $written" "$DIR/status.json" >/dev/null ||
            fail "copies cost no less than stripes: $(jq -c '[.transient_bytes, .writes]' "$DIR/status.json")"
        say "device bytes for each byte written and flushed: $(jq ".writes.device_bytes / $written" "$DIR/status.json"), 6 without copies"
    fi
    kill9
    ((round == 1)) || rm "$DIR/d1"
    start
    grep -q "open: backups: copies of blocks" "$DIR/server.log" || fail "the opening found no copies"
    python "$round" <<'P'
import sys
from client import *
h = connect()
n = int(sys.argv[1])
for i in range(600):
    same(h, (i * 37 % 4096) * 4 * KIB, data(4 * KIB, n * 1000 + i), f"write {i} of round {n}")
same(h, 40 * MIB, bytes(4 * KIB), "a discard that was flushed")
same(h, 41 * MIB, data(12 * KIB, n), "the last write")
P
done
kill9
