#!/usr/bin/env bash
# Volumes that are mapped by pages, over real files: clients write and read in all sizes and see nothing of it but the size they are
# told to prefer; a killed server and a lost member lose nothing; a file system lives on one. What cannot be is refused.
[[ ${PRESET:-swan} == swan ]] || { echo "N/A: it makes an array of its own" >&2 && exit 78; }
export PRESET=log-raid GROUP_COUNT=1 RAID=2+1 VOLUME_FLAGS="--page 64KiB"
. "$(dirname "$0")/common.sh"
need /usr/bin/python3 nbdinfo fio jq
only_on cygnus "the stand-ins have no maps"

serve
volumes() { cygnus "$DIR" --json volume list tank | jq -c '.volumes | sort_by(.name) | map([.name, .pages])'; }
cygnus "$DIR" volume create tank/dual --size 32MiB --page 16KiB --fine 2MiB >>"$DIR/made" 2>&1 || fail "$(cat "$DIR/made")"
expected='[["dual",{"page_bytes":16384,"fine_bytes":2097152}],["vol0",{"page_bytes":65536,"fine_bytes":0}]]'
[[ $(volumes) == "$expected" ]] || fail "the volumes are $(volumes)"
preferred=$(nbdinfo --json "$URI" | jq '.exports[0]."block_size_preferred"')
((preferred == 65536)) || fail "clients are told to prefer $preferred bytes"
dual=${URI/vol0/dual}
for round in 1 2 3; do
    for export in "$URI" "$dual"; do
        for size in 64k-64k 4k-4k 1k-100k; do
            fio --name=v --ioengine=nbd --uri="$export" --rw=randwrite --bsrange="$size" --bs_unaligned --size=24m --io_size=6m \
                --iodepth=8 --randseed="$round" --verify=crc32c --do_verify=1 --verify_fatal=1 --fsync=64 >"$DIR/fio" 2>&1 ||
                fail "$size on $export: $(tail -20 "$DIR/fio")"
        done
    done
    python "$round" <<'P'
import sys
from client import *
h = connect()
n = int(sys.argv[1])
for at in range(64):
    size = (4 * KIB, 64 * KIB, 100 * KIB, 33 * KIB)[at % 4]
    h.pwrite(data(size, n * 100 + at), at * 256 * KIB + at * 512)
P
    kill9
    ((round < 3)) || rm "$DIR/d1"
    start
    python "$round" <<'P'
import sys
from client import *
h = connect()
n = int(sys.argv[1])
for at in range(64):
    size = (4 * KIB, 64 * KIB, 100 * KIB, 33 * KIB)[at % 4]
    same(h, at * 256 * KIB + at * 512, data(size, n * 100 + at), f"write {at} of round {n}")
P
done
own=$(cygnus "$DIR" --json volume list tank | jq '.volumes[] | select(.name == "dual") | .own_entries_bytes')
((own > 0)) || fail "no block of the dual volume has an entry of its own"
say "by 4 KiB: $own bytes of the dual volume"

# refused WORDS ARGS...: this command fails with these words.
refused() {
    ! cygnus "$DIR" "${@:2}" >"$DIR/refused" 2>&1 || fail "${*:2} succeeded"
    grep -q -- "$1" "$DIR/refused" || fail "${*:2}: $(cat "$DIR/refused")"
}
refused "use 4, 8, 16, 32 or 64 KiB" volume create tank/v --size 1MiB --page 24KiB
refused "leave it out" volume create tank/v --size 1MiB --page 16KiB --fine 0
refused "must be a multiple" volume create tank/v --size 100KiB --page 64KiB
refused "must be a multiple" volume resize tank/dual --size 33558528
refused "no R-group is on" volume create tank/v --size 1MiB --page 16KiB --hybrid
stop
cygnus "$DIR" array create small --preset log-raid --raid 2+1 --chunk 8KiB --create 64MiB "$DIR"/p{0,1,2} >"$DIR/small.log" 2>&1 ||
    fail "no array: $(cat "$DIR/small.log")"
refused "its chunks are" volume create small/v --size 1MiB --page 64KiB
cygnus "$DIR" array create old --preset raid5 --create 64MiB "$DIR"/q{0,1,2} >"$DIR/old.log" 2>&1 || fail "no array in place"
refused "has no map" volume create old/v --size 1MiB --page 64KiB
