#!/usr/bin/env bash
# Strangers at a served array: what they can take of it, and what its clients notice.
# usage: tests/hostile/run.sh [--quick | --full] [--preset P] [ATTACK...]
#
# --quick (default) gives each attack a few seconds, --full many. Without names, all attacks of siege.py are made.
set -euo pipefail
QUICK=1
names=()
while (($#)); do
    case $1 in
    --quick) QUICK=1 ;;
    --full) QUICK=0 ;;
    --preset) export PRESET=${2?"--preset needs a value"} && shift ;;
    --help | -h) sed -n '2,5s/^# \?//p' "$0" && exit 0 ;;
    -*) echo "unknown flag $1" >&2 && exit 2 ;;
    *) names+=("$1") ;;
    esac
    shift
done
export QUICK
# The largest number of connections one peer may have is half of this.
export PLACES=600
export SERVE_FLAGS="--memory 512MiB --max-connections $PLACES --stalled-after 2s"
# In memory, if there is room: what else this machine does with its disk is no stranger's doing.
shm=$(df --output=avail -B1M /dev/shm 2>/dev/null | tail -n 1 || true)
((${shm:-0} < 4096)) || export TMPDIR=${TMPDIR:-/dev/shm}
. "$(dirname "$0")/../clients/common.sh"
need /usr/bin/python3 nbdinfo
only_on cygnus "the stand-ins set no limits"
ulimit -n "$(ulimit -Hn)"
PORT=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export PORT
export BYSTANDER=${BYSTANDER:-$BUILD/debug/bystander}
began=$SECONDS
serve "127.0.0.1:$PORT"
[[ $(stat -c %a "$SOCKET") == 600 ]] || fail "the NBD socket is open to others"
STATUS_COMMAND=$(printf '["%s", "--json", "--state", "%s", "array", "status", "%s"]' "$CYGNUS" "$DIR/state" tank)
CONTROL=$(find "$DIR/state" -type s | head -n 1)
[[ $(stat -c %a "$CONTROL") == 600 ]] || fail "the control socket is open to others"
PYTHONDONTWRITEBYTECODE=1 SERVER_PID=$SERVER LOG=$DIR/server.log STATUS_COMMAND=$STATUS_COMMAND CONTROL=$CONTROL \
    SOCKET=$SOCKET /usr/bin/python3 "$TESTS/hostile/siege.py" "${names[@]}"
stop
echo "hostile clients ($PRESET): all went well in $((SECONDS - began)) s"
