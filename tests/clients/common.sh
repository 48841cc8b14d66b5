# What every client test needs: a served volume in a temporary directory, and all of it gone at the end. Sourced.
#
# After `serve`: $DIR (temporary directory), $SOCKET, $URI, $SERVER (pid). Exit codes: 0 passed, 77 skipped, 78 does not apply to
# this preset, others failed.
# QUICK=1 does less work. TARGET chooses the server: see tests/target.sh. KEEP=1 keeps the directory of a failure.

set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../target.sh"
QUICK=${QUICK:-0}
DIR=$(mktemp -d "${TMPDIR:-/var/tmp}/cygnus-client.XXXXXX")
SOCKET=$DIR/nbd.sock
URI="nbd+unix:///$EXPORT?socket=$SOCKET"
SERVER=
CLEANUPS=()

# at_exit COMMAND: runs it when the test ends, last one first.
at_exit() { CLEANUPS+=("$1"); }

finish() {
    local code=$? i
    trap - EXIT
    set +e
    for ((i = ${#CLEANUPS[@]} - 1; i >= 0; i--)); do eval "${CLEANUPS[i]}" >/dev/null 2>&1; done
    if [[ -n $SERVER ]]; then
        kill -9 "$SERVER" 2>/dev/null
        wait "$SERVER" 2>/dev/null
    fi
    if ((code != 0 && code != 77 && code != 78)) && [[ -s $DIR/server.log ]]; then
        echo "--- server's last lines" >&2
        tail -n 20 "$DIR/server.log" >&2
    fi
    if ((code == 0 || code == 77 || code == 78)) || [[ ${KEEP:-0} == 0 ]]; then rm -rf "$DIR"; else echo "kept $DIR" >&2; fi
    exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { echo "  $*"; }
fail() {
    echo "FAIL: $*" >&2
    exit 1
}
skip() {
    echo "SKIP: $*" >&2
    exit 77
}

# need COMMAND...: skips the test where one is not installed.
need() {
    local c
    for c; do command -v "$c" >/dev/null || skip "$c is not installed (tests/clients/packages.txt)"; done
}

# only_on TARGET REASON: skips on stand-ins that cannot do what is tested.
only_on() { [[ $TARGET == "$1" ]] || skip "$2"; }

# only_log REASON, only_in_place: leaves out what the array of this preset does not promise.
only_log() {
    if in_place; then echo "N/A: $*" >&2 && exit 78; fi
}
# once_of_each: it tries the protocol and the server in front of the volume, which are the same for all arrays of a kind.
once_of_each() {
    case $PRESET in swan | raid5) ;; *) echo "N/A: the same code serves swan or raid5" >&2 && exit 78 ;; esac
}
only_with_groups() { ((GROUP_COUNT >= $1)) || { echo "N/A: it needs $1 R-groups" >&2 && exit 78; }; }
# only_wide: they name members by number, and take it that three or more make up a group.
only_wide() { ((${RAID%+*} + ${RAID#*+} >= 3)) || { echo "N/A: it needs wider R-groups" >&2 && exit 78; }; }
only_in_place() { in_place || exit 78; }

# start [NBD-ADDRESS...]: starts the server on the array that exists, and waits until it negotiates.
start() {
    rm -f "$SOCKET"
    (target_exec "$DIR" "$SOCKET" "$@") >>"$DIR/server.log" 2>&1 &
    SERVER=$!
    local i
    for ((i = 0; i < 600; i++)); do
        if [[ -S $SOCKET ]] && nbdinfo --size "$URI" >/dev/null 2>&1; then return; fi
        kill -0 "$SERVER" 2>/dev/null || fail "the server ended while starting"
        sleep 0.05
    done
    fail "the server does not negotiate after 30 s"
}

# serve [NBD-ADDRESS...]: a new empty volume, served.
serve() {
    need nbdinfo
    target_create "$DIR" >>"$DIR/server.log" 2>&1 || fail "creating the array"
    start "$@"
}

kill9() {
    kill -9 "$SERVER"
    wait "$SERVER" 2>/dev/null || true
    SERVER=
}

# stop: SIGTERM, exit code 0 expected within 30 s, and the array consistent afterwards.
stop() {
    local pid=$SERVER code=0 i
    kill -TERM "$pid"
    for ((i = 0; i < 600; i++)); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.05
    done
    ((i < 600)) || fail "SIGTERM: the server still runs after 30 s"
    wait "$pid" 2>/dev/null || code=$?
    SERVER=
    # nbdkit and qemu-nbd end with 0 on SIGTERM as well; only the deliberately simple stand-in does not.
    [[ $code == 0 || $TARGET == flawed ]] || fail "SIGTERM: the server ended with $code"
    target_check "$DIR" >>"$DIR/check.log" 2>&1 || { tail -n 20 "$DIR/check.log" >&2 && fail "the stopped array is inconsistent"; }
}

# python < PROGRAM: with the bindings of libnbd and the helpers of client.py.
python() { PYTHONPATH=$TESTS/clients PYTHONDONTWRITEBYTECODE=1 URI=$URI SOCKET=$SOCKET TARGET=$TARGET /usr/bin/python3 - "$@"; }
