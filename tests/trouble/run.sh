#!/usr/bin/env bash
# Trouble that passes: see tests/README.md. usage: tests/trouble/run.sh [--quick | --long] [--side-by-side N] [NAME-PART...]
#
# --quick (default) keeps each trouble as short as it can be and still tell something; --long makes it last. A scenario that
# cannot run here (exit code 77) is listed at the end, and is a failure under CI=true.
set -uo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LONG=0 beside=18 names=()
while (($#)); do
    case $1 in
    --quick) LONG=0 ;;
    --long) LONG=1 ;;
    --side-by-side) beside=${2?"--side-by-side needs a number"} && shift ;;
    --help | -h) sed -n '2,5s/^# \?//p' "$0" && exit 0 ;;
    -*) echo "unknown flag $1" >&2 && exit 2 ;;
    *) names+=("$1") ;;
    esac
    shift
done
export LONG
CYGNUS=${CYGNUS:-${CARGO_TARGET_DIR:-$HERE/../../target}/debug/cygnus}
[[ -x $CYGNUS ]] || { echo "$CYGNUS is missing: cargo build -p cygnus-cli, or set CYGNUS" >&2 && exit 2; }
CYGNUS=$(realpath "$CYGNUS")
export CYGNUS
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# A name, the script, and what is set for it.
scenarios() {
    cat <<'LIST'
stopped stopped
full full
outgrown outgrown
frozen frozen
frozen-beyond-patience frozen PATIENCE=8s
one-hangs hangs HANGING=1
two-hang hangs HANGING=2
only-group-hangs hangs HANGING=2 PRESET=log-raid RAID=2+1
two-gone gone
absent-at-start absent
absent-hangs-at-start absent AWAY=hangs
looked-at-while-it-hangs looked_at
two-loops-full loops
loops-moved moved
smaller smaller
mapped-away mapped AWAY=error
mapped-stopped mapped AWAY=suspend
unplugged unplugged
suspended-for impatient
raid5-full full PRESET=raid5
raid5-one-hangs hangs PRESET=raid5 HANGING=1
raid5-two-hang hangs PRESET=raid5 HANGING=2
raid10-two-gone gone PRESET=raid10
raid10-suspended-for impatient PRESET=raid10
LIST
}

# What needs device-mapper or SCSI disks, which many kernels of containers lack, runs with --long or when it is named.
chosen() {
    ((${#names[@]} == 0)) && { ((LONG)) || [[ $1 != mapped-* && $1 != unplugged ]]; return; }
    local n
    for n in "${names[@]}"; do [[ $1 == *"$n"* ]] && return 0; done
    return 1
}

# one NAME SCRIPT SETTING...: runs it and notes how it ended.
one() {
    local name=$1 script=$2 began=$SECONDS code=0
    shift 2
    env "$@" timeout --kill-after=20 $((LONG ? 900 : 300)) "$HERE/$script.sh" >"$logs/$name" 2>&1 || code=$?
    echo "$code $((SECONDS - began))" >"$logs/$name.ended"
}

started=()
while read -r name script settings; do
    chosen "$name" || continue
    while (($(jobs -rp | wc -l) >= beside)); do wait -n; done
    # shellcheck disable=SC2086
    one "$name" "$script" $settings </dev/null &
    started+=("$name")
done < <(scenarios)
wait
((${#started[@]} > 0)) || { echo "no scenario of that name" && exit 2; }

failed=0 skipped=()
for name in "${started[@]}"; do
    read -r code took <"$logs/$name.ended"
    case $code in
    0) word=ok ;;
    77) word="CANNOT RUN" && skipped+=("$name: $(sed -n 's/^SKIP: //p' "$logs/$name" | head -n 1)") ;;
    124 | 137) word="FAILED (out of time)" && ((failed += 1)) ;;
    *) word=FAILED && ((failed += 1)) ;;
    esac
    printf '%-24s %-10s %3d s\n' "$name" "$word" "$took"
    if [[ $word == FAILED* || ${VERBOSE:-0} == 1 ]]; then sed 's/^/    /' "$logs/$name"; fi
done
echo "trouble: ${#started[@]} scenarios, $failed failed, ${#skipped[@]} cannot run here, $SECONDS s"
for line in "${skipped[@]}"; do echo "  CANNOT RUN HERE: $line"; done
((failed == 0)) || exit 1
[[ ${CI:-} != true ]] || ((${#skipped[@]} == 0)) || { echo "under CI what cannot run is a failure" && exit 1; }
