#!/usr/bin/env bash
# An array of files and of files that stand for devices with zones, whose open stripes have copies: kept where no member has zones, while in the other group each flush
# ends a stripe. Killed with flushed writes in both, and without a member of each: all that was flushed is there. An array of zones only has no place for copies and is refused.
[[ ${PRESET:-swan} == swan ]] || { echo "N/A: it makes an array of its own" >&2 && exit 78; }
. "$(dirname "$0")/common.sh"
need fio jq
only_on cygnus "the stand-ins know no zones"

cd "$DIR"
URI="nbd+unix:///on-flash?socket=$SOCKET"
# done_with ARGS...: this command succeeds.
done_with() { cygnus "$DIR" "$@" >>commands.log 2>&1 || fail "$*: $(tail -n 3 commands.log)"; }
# flushed VOLUME WHAT...: random blocks that tell what they are, each with a flush.
flushed() {
    fio --name="$1" --ioengine=nbd --uri="nbd+unix:///$1?socket=$SOCKET" --rw=randwrite --bs=4k --size=16m --io_size=8m --iodepth=4 --fsync=1 \
        --verify=crc32c --verify_state_save=0 --randseed=7 --output="fio-$1.log" "${@:2}" || fail "fio ${*:2} on $1: $(tail -n 3 "fio-$1.log")"
}
copied() { array_status "$DIR" --json | jq '.copies.written_bytes // .parity_buffer.written_bytes'; }

for n in 0 1 2 3; do done_with zoned make z$n --size 160MiB --zone 1MiB --conventional 16; done
zones=(zoned:z0 zoned:z1 zoned:z2)
! cygnus "$DIR" array create tank --preset log-raid --protection two-phase --raid 2+1 --segment 2MiB "${zones[@]}" >refused 2>&1 || fail "zones alone were taken"
grep -q "each R-group here has a member that is written in order" refused || fail "refused with: $(cat refused)"

for protection in two-phase parity-buffer; do
    done_with array create tank --preset salsa --media flash,smr --raid 2+1 --segment 2MiB --protection $protection --create 160MiB --sparse f{0,1,2} "${zones[@]}" --force
    for medium in flash smr; do done_with volume create tank/on-$medium --size 16MiB --media $medium; done
    start
    array_status "$DIR" >status
    grep -q "not in R-group 1, with members that are written in order" status || fail "the status does not tell: $(cat status)"
    before=$(copied)
    flushed on-smr --do_verify=0
    ((($(copied) - before) == 0)) || fail "copies of a group with zones"
    flushed on-flash --do_verify=0
    ((($(copied) - before) > 8 << 20)) || fail "flushed writes on flash had no copies: $(copied) bytes"
    say "$protection: $(array_status "$DIR" | grep -A1 "^ *protection" | tr -s ' \n' ' ')"

    kill9
    mv f1 f1.away && mv z1 z1.away
    start
    for medium in flash smr; do flushed on-$medium --verify_only; done
    done_with array replace tank 1 n1 --create 160MiB --wait
    done_with array replace tank 4 zoned:z3 --wait
    flushed on-flash --do_verify=0
    stop
    done_with array check tank
    done_with array destroy tank --yes
    rm -f f* n1 z1.away && done_with zoned make z1 --size 160MiB --zone 1MiB --conventional 16
done
