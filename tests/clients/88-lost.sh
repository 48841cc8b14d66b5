#!/usr/bin/env bash
# Blocks beyond redundancy are known after a stop and the next start, until a scrub finds none.
. "$(dirname "$0")/common.sh"
need /usr/bin/python3 jq
only_on cygnus "the stand-ins have no redundancy"
only_log "there are no checksums in place: what rots is believed"
serve
python <<'P'
from client import *
h = connect()
h.pwrite(data(16 * MIB, 1), 0)
h.pwrite(b"gone" * (4 * MIB), 16 * MIB)
h.flush()
P
stop
# All of that data wherever it lies, and nothing else: whole rows are without it.
/usr/bin/python3 - "$DIR" <<'P'
import glob, mmap, sys
for name in glob.glob(sys.argv[1] + "/d[0-9]*"):
    with open(name, "r+b") as f, mmap.mmap(f.fileno(), 0) as member:
        at = member.find(b"gone" * 1024)
        while at >= 0:
            member[at:at + 4096] = b"rot!" * 1024
            at = member.find(b"gone" * 1024, at + 4096)
P

# told AS WHAT: fails unless `array status` pages somebody, and says what is lost.
told() {
    local code=0
    cygnus "$DIR" --json array status tank >"$DIR/status.json" || code=$?
    [ $code = 4 ] || fail "$1: exit status $code"
    jq -e '.losses.found_blocks + .losses.failed_reads > 0' "$DIR/status.json" >/dev/null || fail "$1: no losses in the status"
}

# Not `stop`: `array check` finds what is lost.
stop_server() {
    kill -TERM "$SERVER"
    wait "$SERVER" || fail "SIGTERM: the server ended with an error"
    SERVER=
}

start
python <<'P'
from client import *
h = connect()
lost = []
for at in range(0, 32 * MIB, 4096):
    try:
        h.pread(4096, at)
    except nbd.Error:
        lost.append(at)
assert lost, "nothing was lost"
P
told "while it serves"
stop_server
told "after a stop"
start
told "after the next start"
cygnus "$DIR" array scrub tank --wait >"$DIR/scrub.log" 2>&1 || true
told "after a scrub that found it"
stop_server
told "after that scrub and a stop"
start
python <<'P'
from client import *
h = connect()
h.pwrite(data(32 * MIB, 2), 0)
h.flush()
P
cygnus "$DIR" array scrub tank --wait >"$DIR/scrub.log" 2>&1 || fail "a scrub after all was written anew: $(cat "$DIR/scrub.log")"
array_status "$DIR" >"$DIR/status.txt" || fail "after a scrub that found nothing lost: $(cat "$DIR/status.txt")"
stop
