#!/usr/bin/env bash
# Where a write is when it is answered: what commands and clients are told of it, and what kill -9 may take where no memory
# outlasts the server.
. "$(dirname "$0")/common.sh"
need /usr/bin/python3 nbdinfo jq
only_on cygnus "the stand-ins have one level"
level() { cygnus "$DIR" volume list tank --json | jq -r --arg name "$1" '.. | objects | select(.name? == $name).ack'; }
is() { [[ $(level "$1") == "$2" ]] || fail "$1 is $(level "$1") and not $2"; }
refused() {
    local why code=0
    why=$(cygnus "$DIR" "$@" 2>&1) || code=$?
    ((code == 1 || code == 2)) || fail "'$*' ends with $code: $why"
    echo "$why"
}

if in_place; then
    serve
    is vol0 written
    cygnus "$DIR" volume set tank/vol0 ack=written >/dev/null
    [[ $(refused volume set tank/vol0 ack=durable) == *"all its volumes are 'written'"* ]] || fail "the refusal says not why"
    stop
    is vol0 written
    [[ $(refused volume create tank/vol1 --size 1MiB --ack memory) == *"updates in place"* ]] || fail "the refusal says not why"
    exit 0
fi

SERVE_FLAGS="--kept-in none"
serve
is vol0 memory
cygnus "$DIR" volume create tank/vol1 --size 32MiB --ack durable >/dev/null
is vol1 durable
cygnus "$DIR" volume set tank/vol0 ack=written | grep -q "only members that lose power" || fail "it is not told what may be lost"
is vol0 written
cygnus "$DIR" array status tank | grep -E '^tank/vol1 .* durable$' >/dev/null || fail "array status does not show the level"
[[ $(refused volume set tank/vol0 ack=soon) == *"memory, written or durable"* ]] || fail "a level that is none is not refused well"

# What needs no flush offers none.
flush_of() { nbdinfo --json "nbd+unix:///$1?socket=$SOCKET" | jq '.exports[0].can_flush'; }
[[ $(flush_of vol0) == true && $(flush_of vol1) == false ]] || fail "FLUSH: vol0 $(flush_of vol0), vol1 $(flush_of vol1)"

# Nobody flushes. Everything that was answered is there afterwards, one at a time and 256 at a time.
python <<'P'
from client import *
for name in "vol0", "vol1":
    h = nbd.NBD()
    h.connect_uri(URI.replace("vol0", name))
    h.pwrite(data(MIB + 5000, 1), 777)
    for i in range(40):
        h.pwrite(data(4096, 100 + i), 4 * MIB + 8192 * i)
    flying = [h.aio_pwrite(nbd.Buffer.from_bytearray(bytearray(data(4096, 500 + i))), 8 * MIB + 4096 * i) for i in range(256)]
    while h.aio_in_flight() > 0:
        h.poll(-1)
    check(all(h.aio_command_completed(cookie) for cookie in flying), "all are answered")
    h.pwrite(data(MIB, 2), 16 * MIB)
    h.trim(MIB // 2, 16 * MIB)
    h.zero(65536, 8 * MIB + 4096)
# A server without a cache answers a FLUSH all the same, for clients that do not look at what is offered.
h.set_strict_mode(h.get_strict_mode() & ~nbd.STRICT_COMMANDS)
h.flush()
P
kill9
start
python <<'P'
from client import *
for name in "vol0", "vol1":
    h = nbd.NBD()
    h.connect_uri(URI.replace("vol0", name))
    same(h, 777, data(MIB + 5000, 1), f"{name}: answered, never flushed")
    for i in range(40):
        same(h, 4 * MIB + 8192 * i, data(4096, 100 + i), f"{name}: one at a time")
    same(h, 16 * MIB, bytes(MIB // 2), f"{name}: trimmed")
    same(h, 16 * MIB + MIB // 2, data(MIB, 2)[MIB // 2 :], f"{name}: beside what was trimmed")
    rest = bytearray(b"".join(data(4096, 500 + i) for i in range(256)))
    rest[4096 : 4096 + 65536] = bytes(65536)
    same(h, 8 * MIB, bytes(rest), f"{name}: 256 at a time, and zeros")
P
is vol0 written
is vol1 durable
stop
is vol1 durable
cygnus "$DIR" volume set tank/vol1 ack=memory >/dev/null
is vol1 memory
start
[[ $(flush_of vol1) == true ]] || fail "a volume that answers from memory offers no FLUSH"
stop
