#!/usr/bin/env bash
# Bytes flipped on a member behind the array's back: reads are right all the same, and the damage is repaired and counted.
. "$(dirname "$0")/common.sh"
need /usr/bin/python3 nbdinfo jq
only_on cygnus "the stand-ins have no redundancy"
only_log "there are no checksums in place: what rots is believed"
serve
python <<'P'
from client import *
h = connect()
h.pwrite(data(32 * MIB, 1), 0)
h.pwrite(data(16 * MIB, 2), 50 * MIB)
P
stop
# Every 512 KiB of one member, behind the superblocks: blocks of data, of parity and stripe headers alike.
/usr/bin/python3 - "$DIR/d1" <<'P'
import sys
with open(sys.argv[1], "r+b") as f:
    for at in range(2 << 20, 40 << 20, 512 << 10):
        f.seek(at + 70000)
        old = f.read(64)
        f.seek(at + 70000)
        f.write(bytes(b ^ 0x5A for b in old))
P
if cygnus "$DIR" array check tank >"$DIR/damaged.log" 2>&1; then fail "array check does not see the damage"; fi
start
python <<'P'
from client import *
h = connect()
same(h, 0, data(32 * MIB, 1), "first read over damaged blocks")
same(h, 50 * MIB, data(16 * MIB, 2), "first read over damaged blocks")
same(h, 0, data(32 * MIB, 1), "second read")
h.flush()
P
array_status "$DIR" --json >"$DIR/status.json"
jq -e '.repairs.repaired > 0 and .repairs.unreadable == 0 and .devices[1].io.checksum_errors > 0' "$DIR/status.json" >/dev/null ||
    fail "status does not count the repairs: $(jq -c '[.repairs, .devices[1].io]' "$DIR/status.json")"
python <<'P'
from client import *
h = connect()
h.pwrite(data(8 * MIB, 3), 100 * MIB)
h.flush()
P
# Not `stop`: what no read has touched (parity, headers) is still damaged, and array check says so.
kill -TERM "$SERVER"
wait "$SERVER" || fail "SIGTERM: the server ended with an error"
SERVER=
start
python <<'P'
from client import *
h = connect()
same(h, 0, data(32 * MIB, 1), "after repair and restart")
same(h, 100 * MIB, data(8 * MIB, 3), "written after the repair")
P
