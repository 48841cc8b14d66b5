#!/usr/bin/env bash
# Rounds of load, kill -9, restart, and a judgement of every block: see tests/README.md.
#
# usage: tests/crash/run.sh [--rounds N] [--lose M] [--raid K+M] [--groups N] [--preset P] [--ack LEVEL] [--dir DIR]
#        [checker flags...]
#
# MEMBERS=ssd: members are software SSDs, killed with -9 in each round too, after the server.
#
# --lose M deletes M member files of one group at each restart. --ack LEVEL is that of the volume: written and durable are served
# with no memory that outlasts the server, and must lose nothing all the same; under durable nobody flushes. Further flags go to cygnus-crashcheck (--seed, --min-ms, ...).
#
# Presets raid0, raid1, raid4, raid5, raid6 and raid10 update in place and take their shape from the level. Of these only
# raid1 and raid10 may lose members at a restart after a kill: parity in place has the write hole, so what nobody was
# writing could be gone as well. That a member may be lost when the resync is done is tested in virtual time
# (crates/inplace/tests/arrays/power.rs) and by tests/clients/64-in-place.sh.
set -euo pipefail

rounds=20 lose=0 raid='' groups='' preset=swan ack=memory base=${TMPDIR:-/var/tmp} rest=()
while (($#)); do
    case $1 in
    --rounds) rounds=$2 && shift 2 ;;
    --lose) lose=$2 && shift 2 ;;
    --raid) raid=$2 && shift 2 ;;
    --groups) groups=$2 && shift 2 ;;
    --preset) preset=$2 && shift 2 ;;
    --ack) ack=$2 && shift 2 ;;
    --dir) base=$2 && shift 2 ;;
    --help | -h) sed -n '2,16s/^# \?//p' "$0" && exit 0 ;;
    *) rest+=("$1" "${2?"$1 needs a value"}") && shift 2 ;;
    esac
done
case $preset in
raid0 | raid4 | raid5 | raid6)
    ((lose == 0)) || { echo "$preset in place may lose no member before it is resynced (the write hole): leave out --lose" >&2 && exit 2; } ;;
raid*) ;;
log-raid | fusion | scala-afa) groups=${groups:-1} raid=${raid:-4+$((lose > 1 ? lose : 1))} ;;
serial) groups=${groups:-5} raid=${raid:-1+1} ;;
*) raid=${raid:-2+$((lose > 1 ? lose : 1))} ;;
esac

case $ack in
memory) ;;
written | durable) export VOLUME_FLAGS="--ack $ack" SERVE_FLAGS="${SERVE_FLAGS:-} --kept-in none" && rest+=(--ack "$ack") ;;
*) echo "--ack $ack: use memory, written or durable" >&2 && exit 2 ;;
esac

export PRESET=$preset GROUP_COUNT=${groups:-3} RAID=$raid MEMBER_SIZE=${MEMBER_SIZE:-64MiB} VOLUME_SIZE=${VOLUME_SIZE:-96MiB}
. "$(dirname "${BASH_SOURCE[0]}")/../target.sh"
checker=${CRASHCHECK:-$BUILD/debug/cygnus-crashcheck}
# A TRIM in place leaves the data where it is. What a log-structured array has acknowledged outlasts its server, flushed or not.
if in_place; then rest+=(--trims 0); elif [[ $TARGET == cygnus && $SERVE_FLAGS != *"--kept-in none"* ]]; then rest+=(--keeps 1); fi
[[ -x $checker ]] || { echo "$checker is missing: cargo build -p cygnus-crashcheck" >&2 && exit 2; }
dir=$(mktemp -d "$base/cygnus-crash.XXXXXX")

finish() {
    local code=$?
    if [[ -f $dir/server.pid ]]; then kill -9 "$(cat "$dir/server.pid")" 2>/dev/null || true; fi
    drives_down "$dir"
    if ((code == 0)); then
        rm -rf "$dir"
    elif [[ -f $dir/server.log ]]; then
        echo "--- last lines of $dir/server.log" >&2
        tail -n 30 "$dir/server.log" >&2
    fi
    exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

"$checker" --server "$TESTS/crash/server" --dir "$dir" --export "$EXPORT" --rounds "$rounds" --lose "$lose" \
    --groups "$GROUP_COUNT" --width $((${RAID%+*} + ${RAID#*+})) --parity "${RAID#*+}" "${rest[@]}"
rm -f "$dir/server.pid"
