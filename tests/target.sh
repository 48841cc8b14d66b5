# Which server is tested, and how it is made, started and damaged. Sourced by the scripts of tests/clients and tests/crash.
#
# TARGET=cygnus (default) is the product. The others stand in for it, to prove the scripts themselves:
#   nbdkit-memory, nbdkit-file                 honest servers; only the second survives a kill
#   nbdkit-liar                                nbdkit's cache filter told to ignore flushes
#   qemu-nbd                                   another honest server
#   flawed                                     crates/crashcheck/src/bin/flawed-nbd.rs with the fault named by FAULT

TESTS=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(dirname "$TESTS")
BUILD=${CARGO_TARGET_DIR:-$ROOT/target}
TARGET=${TARGET:-cygnus}
FAULT=${FAULT:-none}
CYGNUS=${CYGNUS:-$BUILD/debug/cygnus}
FLAWED=${FLAWED:-$BUILD/debug/flawed-nbd}
EXPORT=vol0

# The array of the product. Sparse files on a real disk; small, so that the load laps it.
export PRESET=${PRESET:-swan}
case $PRESET in
log-raid | fusion | scala-afa) RAID=${RAID:-8+1} GROUP_COUNT=${GROUP_COUNT:-1} ;;
serial) RAID=${RAID:-1+1} GROUP_COUNT=${GROUP_COUNT:-8} ;;
# In place the level and the number of members say it all; the rest is for those who count lost members.
raid0) RAID=3+0 GROUP_COUNT=1 ;;
raid1) RAID=1+1 GROUP_COUNT=1 ;;
raid4 | raid5) RAID=3+1 GROUP_COUNT=1 ;;
raid6) RAID=3+2 GROUP_COUNT=1 ;;
raid10) RAID=1+1 GROUP_COUNT=2 ;;
esac
GROUP_COUNT=${GROUP_COUNT:-3}
RAID=${RAID:-2+1}
MEMBER_SIZE=${MEMBER_SIZE:-128MiB}
VOLUME_SIZE=${VOLUME_SIZE:-256MiB}
CREATE_FLAGS=${CREATE_FLAGS:-}
VOLUME_FLAGS=${VOLUME_FLAGS:-}
SERVE_FLAGS=${SERVE_FLAGS:-}
# MEMBERS=ssd: each member is a software SSD in a process of its own, which is killed with -9 and started again before the server is.
MEMBERS=${MEMBERS:-file}

# The Debian interpreter has libnbd's bindings; another python3 earlier in PATH has not.
export PATH=/usr/bin:/usr/sbin:$PATH

# Servers that are killed leave memory behind. What tests of earlier hours have left goes.
export CYGNUS_KEPT_IN=/dev/shm/cygnus-tests-$UID
mkdir -p -m 700 "$CYGNUS_KEPT_IN"
find "$CYGNUS_KEPT_IN" -ignore_readdir_race -type f -mmin +120 -delete
# And the signs that lead there.
find /dev/shm -maxdepth 1 -ignore_readdir_race -name 'cygnus-*.at' -mmin +120 -exec grep -qsxF "$CYGNUS_KEPT_IN" {} \; -delete

bytes() { numfmt --from=auto "${1%B}"; }

# Whether the array updates in place.
in_place() { [[ $TARGET == cygnus && $PRESET == raid* ]]; }

cygnus() { "$CYGNUS" --state "$1/state" "${@:2}"; }

# The member files, group by group, in the order in which the array is created.
members() {
    local width=$((${RAID%+*} + ${RAID#*+})) i
    for ((i = 0; i < GROUP_COUNT * width; i++)); do echo "$1/d$i"; done
}

# The same as places that a command takes.
places() {
    local file
    for file in $(members "$1"); do
        if [[ $MEMBERS == ssd ]]; then echo "ssd:unix:$file.sock"; else echo "$file"; fi
    done
}

# drives_down DIR: kills the software SSDs, all at once, and waits until they have let go of their sockets. They are found by what they
# serve: whoever started them may have been killed before it had written down their numbers.
drives_down() {
    local pid pids
    mapfile -t pids < <(pgrep -f "ssd serve $1/d[0-9]")
    ((${#pids[@]} > 0)) || return 0
    kill -9 "${pids[@]}" 2>/dev/null || true
    for pid in "${pids[@]}"; do
        # Files go with the last thread. One that has ended and that nobody has asked about yet is a zombie.
        while grep -qs '^State:[[:space:]]*[^Z]' "/proc/$pid"/task/*/status; do sleep 0.01; done
    done
    # The kernel lets go of an io_uring's sockets later still, on a busy machine by seconds: their flag says that they listen.
    while grep -q " 00010000 .* $1/d[0-9]*\\.sock$" /proc/net/unix; do sleep 0.05; done
}

# drives_up DIR [new]: serves each member's file, if it is there or new ones are to be made, and waits until all are ready.
drives_up() {
    local file i started=()
    for file in $(members "$1"); do
        [[ -e $file || ${2-} == new ]] || continue
        rm -f "$file.out"
        setsid "$CYGNUS" ssd serve "$file" --create "$MEMBER_SIZE" --sparse --listen "unix:$file.sock" \
            </dev/null >"$file.out" 2>>"$1/drives.log" &
        started+=("$file")
    done
    for file in "${started[@]}"; do
        for ((i = 0; i < 400; i++)); do
            grep -qs "^ready ssd:unix:" "$file.out" && continue 2
            sleep 0.05
        done
        echo "the software SSD $file is not ready after 20 s" >&2 && tail -n 5 "$1/drives.log" >&2 && return 1
    done
}

# target_create DIR: a new empty array and volume, in place of any earlier one.
target_create() {
    case $TARGET in
    cygnus)
        drives_down "$1"
        rm -rf "$1/state" "$1"/d[0-9]*
        local list shape=(--groups "$GROUP_COUNT" --raid "$RAID") made
        if in_place; then
            shape=()
            # Volumes have all their space at once; whatever the level, this leaves room for a second one.
            MEMBER_SIZE=$(($(bytes "$VOLUME_SIZE") / 1048576 + 128))MiB
        fi
        mapfile -t list < <(places "$1")
        made=(--create "$MEMBER_SIZE" --sparse)
        if [[ $MEMBERS == ssd ]]; then drives_up "$1" new && made=(); fi
        # shellcheck disable=SC2086
        cygnus "$1" array create tank --preset "$PRESET" "${shape[@]}" \
            "${made[@]}" $CREATE_FLAGS "${list[@]}"
        # shellcheck disable=SC2086
        cygnus "$1" volume create "tank/$EXPORT" --size "$VOLUME_SIZE" $VOLUME_FLAGS
        ;;
    *)
        rm -f "$1"/disk.*
        truncate -s "$(bytes "$VOLUME_SIZE")" "$1/disk.img"
        ;;
    esac
}

# target_exec DIR SOCKET [NBD-ADDRESS...]: becomes the server, in the foreground.
target_exec() {
    local dir=$1 socket=$2 size address extra=()
    shift 2
    size=$(bytes "$VOLUME_SIZE")
    case $TARGET in
    cygnus)
        for address; do extra+=(--nbd "$address"); done
        if [[ $MEMBERS == ssd ]]; then drives_down "$dir" && drives_up "$dir"; fi
        # shellcheck disable=SC2086
        exec "$CYGNUS" --state "$dir/state" serve tank --nbd "unix:$socket" $SERVE_FLAGS "${extra[@]}"
        ;;
    nbdkit-memory) exec nbdkit -f -U "$socket" memory "$size" ;;
    nbdkit-file) exec nbdkit -f -U "$socket" file "$dir/disk.img" ;;
    nbdkit-liar) exec nbdkit -f -U "$socket" --filter=cache file "$dir/disk.img" cache=unsafe ;;
    qemu-nbd) exec qemu-nbd -t -e 32 --discard=unmap -f raw -x "$EXPORT" -k "$socket" "$dir/disk.img" ;;
    flawed) exec "$FLAWED" "$socket" "$dir/disk.img" "$size" "$FAULT" ;;
    *) echo "unknown TARGET $TARGET" >&2 && exit 2 ;;
    esac
}

# array_status DIR ARGS...: status of an array that may need a hand, which exit status 3 tells. A healthy one may: members that share
# a disk with the rest of the machine can look slow for a while.
array_status() { cygnus "$1" "${@:2}" array status tank || (($? == 3)); }

# target_check DIR: verifies the stopped array offline, where the target can do that. `array check` calls an array degraded
# whose members we removed; they must be all that it finds.
target_check() {
    [[ $TARGET == cygnus ]] || return 0
    local report member absent=0
    if report=$(cygnus "$1" --json array check tank); then
        return 0
    fi
    echo "$report"
    for member in $(members "$1"); do [[ -e $member ]] || ((absent += 1)); done
    jq -se --argjson absent "$absent" \
        '[.[0].findings[] | select(.weight != "consistent").kind] | length == $absent and all(. == "member-missing")' \
        <<<"$report" >/dev/null
}

# target_lose DIR INDEX...: destroys members of the stopped array.
target_lose() {
    local dir=$1 i
    shift
    [[ $TARGET == cygnus ]] || { echo "$TARGET has no members to lose" >&2 && return 1; }
    for i; do
        pkill -9 -f "ssd serve $dir/d$i " || true
        rm "$dir/d$i"
    done
}
