#!/usr/bin/env bash
# Somebody shortens the file of a member while it is in service, and of a device that is being filled. What was cut off comes back as zeros as soon as something is written farther behind: none of them is ever read.
. "$(dirname "$0")/common.sh"
need /usr/bin/python3 jq
only_on cygnus "the stand-ins have no members"
case ${PRESET:-swan} in
    raid0 | serial) echo "N/A: without redundancy nothing is left to read from" >&2 && exit 78 ;;
esac
serve

put() { python "$1" <<<'import sys; from client import *; h = connect(); s = int(sys.argv[1]); [h.pwrite(data(MIB, s + n), n * MIB) for n in range(24)]; h.flush()'; }
is() { python "$1" <<<'import sys; from client import *; h = connect(); s = int(sys.argv[1]); [same(h, n * MIB, data(MIB, s + n), f"MiB {n}") for n in range(24)]'; }
put 1
truncate -s 2M "$DIR/d0"
is 1
put 100
is 100
state=$(array_status "$DIR" --json | jq -r '.devices[0].state')
case ${PRESET:-swan} in
    raid*)
        [[ $state == failed ]] || fail "member 0 of $PRESET is $state"
        # The new device is shortened before it is filled.
        truncate -s "$(stat -c %s "$DIR/d1")" "$DIR/new"
        cygnus "$DIR" array replace tank 0 "$DIR/new" --force --yes >>"$DIR/server.log" 2>&1 || fail "array replace"
        truncate -s 0 "$DIR/new"
        is 100
        for ((i = 0; i < 100; i++)); do
            state=$(array_status "$DIR" --json | jq -r '.devices[0].state')
            [[ $state == rebuilding ]] || break
            sleep 0.1
        done
        is 100
        [[ $state == failed || $state == missing ]] || fail "the device that was shortened is $state"
        ;;
esac
kill -TERM "$SERVER"
wait "$SERVER" || fail "SIGTERM: the server ended with an error"
start
is 100
truncate -s "$(stat -c %s "$DIR/d1")" "$DIR/whole"
cygnus "$DIR" array replace tank 0 "$DIR/whole" --force --yes --wait >>"$DIR/server.log" 2>&1 || fail "array replace with a whole device"
is 100
