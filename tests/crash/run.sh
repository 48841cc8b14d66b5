#!/usr/bin/env bash
# Rounds of load, kill -9, restart, and a judgement of every block: see tests/README.md.
#
# usage: tests/crash/run.sh [--rounds N] [--lose M] [--raid K+M] [--groups N] [--preset P] [--dir DIR] [checker flags...]
#
# --lose M deletes M member files of one group at each restart. Further flags go to cygnus-crashcheck (--seed, --min-ms, ...).
set -euo pipefail

rounds=20 lose=0 raid='' groups=3 preset=swan base=${TMPDIR:-/var/tmp} rest=()
while (($#)); do
    case $1 in
    --rounds) rounds=$2 && shift 2 ;;
    --lose) lose=$2 && shift 2 ;;
    --raid) raid=$2 && shift 2 ;;
    --groups) groups=$2 && shift 2 ;;
    --preset) preset=$2 && shift 2 ;;
    --dir) base=$2 && shift 2 ;;
    --help | -h) sed -n '2,7s/^# \?//p' "$0" && exit 0 ;;
    *) rest+=("$1" "${2?"$1 needs a value"}") && shift 2 ;;
    esac
done
raid=${raid:-2+$((lose > 1 ? lose : 1))}

export PRESET=$preset GROUP_COUNT=$groups RAID=$raid MEMBER_SIZE=${MEMBER_SIZE:-64MiB} VOLUME_SIZE=${VOLUME_SIZE:-96MiB}
. "$(dirname "${BASH_SOURCE[0]}")/../target.sh"
checker=${CRASHCHECK:-$BUILD/debug/cygnus-crashcheck}
[[ -x $checker ]] || { echo "$checker is missing: cargo build -p cygnus-crashcheck" >&2 && exit 2; }
dir=$(mktemp -d "$base/cygnus-crash.XXXXXX")

finish() {
    local code=$?
    if [[ -f $dir/server.pid ]]; then kill -9 "$(cat "$dir/server.pid")" 2>/dev/null || true; fi
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
    --groups "$groups" --width $((${raid%+*} + ${raid#*+})) --parity "${raid#*+}" "${rest[@]}"
rm -f "$dir/server.pid"
