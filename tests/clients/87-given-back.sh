#!/usr/bin/env bash
# Devices that the array does not want, and those that have left it, are closed while it is served, so that others can have them.
. "$(dirname "$0")/common.sh"
need jq nbdinfo /usr/bin/python3
only_on cygnus "the stand-ins have no members"
only_log "arrays in place have neither spares nor drains"
serve
python <<<'from client import *; h = connect(); h.pwrite(data(16 * MIB, 1), 0); h.flush()'

has() { ls -l "/proc/$SERVER/fd" | grep -q -- "-> $DIR/$1\$"; }
is_closed() { # NAME
    local i
    for ((i = 0; i < 300; i++)); do
        if ! has "$1"; then return; fi
        sleep 0.1
    done
    fail "the server still has $1 open: $(ls -l "/proc/$SERVER/fd")"
}
truncate -s 8M "$DIR/small"
cygnus "$DIR" array spare add tank "$DIR/small" >"$DIR/refusal" 2>&1 && fail "a spare that is too small was taken"
grep -q "too small" "$DIR/refusal" || fail "the refusal: $(cat "$DIR/refusal")"
if has small; then fail "the server has a device that it refused"; fi

size=$(stat -c %s "$DIR/d0")
for spare in s0 s1; do
    truncate -s "$size" "$DIR/$spare"
    cygnus "$DIR" array spare add tank "$DIR/$spare" >>"$DIR/server.log" 2>&1 || fail "array spare add"
done
cygnus "$DIR" array spare remove tank "$DIR/s1" >>"$DIR/server.log" 2>&1 || fail "array spare remove"
is_closed s1
if [[ $RAID != *+0 ]]; then
    cygnus "$DIR" array drain tank 0 --wait >>"$DIR/server.log" 2>&1 || fail "array drain"
    is_closed d0
    # Whoever has it next may do with it what he likes.
    dd if=/dev/urandom of="$DIR/d0" bs=1M count=4 conv=notrunc status=none
    truncate -s "$size" "$DIR/new"
    cygnus "$DIR" array replace tank 1 "$DIR/new" --force --yes --wait >>"$DIR/server.log" 2>&1 || fail "array replace"
    is_closed d1
fi
python <<<'from client import *; same(connect(), 0, data(16 * MIB, 1), "after all that")'
stop
