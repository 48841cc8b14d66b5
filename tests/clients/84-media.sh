#!/usr/bin/env bash
# An array of real files on four media, as somebody says for them: a volume bound to each, one that prefers one, hybrid ones on two of them, while
# fio writes and verifies: killed, without a member of each group, with a group that leaves, and without its state directory. What cannot be
# is refused with words that tell what to do.
[[ ${PRESET:-swan} == swan ]] || { echo "N/A: it makes an array of its own" >&2 && exit 78; }
. "$(dirname "$0")/common.sh"
need fio jq nbdinfo /usr/bin/python3
only_on cygnus "the stand-ins know no media"

cd "$DIR"
URI="nbd+unix:///nvm?socket=$SOCKET"
media="nvm flash disk smr"

# refused WORDS ARGS...: this command fails with these words.
refused() {
    ! cygnus "$DIR" "${@:2}" >refused 2>&1 || fail "${*:2} succeeded"
    grep -q -- "$1" refused || fail "${*:2}: $(cat refused)"
}
# done_with ARGS...: this command succeeds.
done_with() { cygnus "$DIR" "$@" >>commands.log 2>&1 || fail "$*: $(tail -n 3 commands.log)"; }
# fios WHAT...: all volumes at once, random blocks that tell what they are.
fios() {
    local volume pids=()
    for volume in $media prefers any hot; do
        fio --name="$volume" --ioengine=nbd --uri="nbd+unix:///$volume?socket=$SOCKET" --rw=randwrite --bs=4k --size=32m --iodepth=16 \
            --verify=crc32c --verify_state_save=0 --randseed=7 --output="fio-$volume.log" "$@" &
        pids+=($!)
    done
    for volume in "${pids[@]}"; do wait "$volume" || fail "fio $*: $(tail -n 3 fio-*.log)"; done
}
verified() { fios --verify_only; }
# groups_are: what the groups store on, by number.
groups_are() { array_status "$DIR" --json | jq -r '[.groups[] | .medium] | join(",")'; }
# live_on MEDIUM: bytes that lie there.
live_on() { array_status "$DIR" --json | jq ".media[] | select(.medium == \"$1\") | .live_bytes"; }
# wants VOLUME: what is on record of its media.
wants() { cygnus "$DIR" --json volume list tank | jq -c ".volumes[] | select(.name == \"$1\") | .media"; }

create=(array create tank --create 256MiB --sparse --preset salsa)
refused "use nvm, flash, disk or smr" "${create[@]}" --media nvm,tape a{0,1,2} b{0,1,2}
refused "names no shape for that: add smr:K+M" "${create[@]}" --media nvm,smr --raid nvm:2+1,disk:2+1 a{0,1,2} b{0,1,2}
refused "which keeps media apart" array create tank --create 256MiB --preset swan --media nvm,smr a{0,1,2} b{0,1,2}
refused "which keeps media apart" array create tank --create 256MiB --preset swan --cleaning smr:circular a{0,1,2} b{0,1,2}
refused "'tape'" "${create[@]}" --cleaning tape:circular,smr:greedy a{0,1,2} b{0,1,2}
[[ -z $(ls a0 2>/dev/null) ]] || fail "what was refused has left files"
done_with "${create[@]}" --media nvm,flash,disk,smr --raid nvm:1+1,flash:2+1,disk:2+1,smr:3+1 --cleaning smr:circular,nvm:greedy \
    n{0,1} f{0,1,2} d{0,1,2} s{0,1,2,3}
for medium in $media; do done_with volume create "tank/$medium" --size 32MiB --media "$medium"; done
done_with volume create tank/prefers --size 32MiB --prefer nvm
done_with volume create tank/any --size 32MiB
done_with volume create tank/hot --size 32MiB --hybrid --media smr,flash
refused "both are smr" volume create tank/v --size 1MiB --hybrid --media smr,smr
refused "on two media, and 1 were named" volume create tank/v --size 1MiB --hybrid --media smr
refused "bound to one medium" volume create tank/v --size 1MiB --media smr,disk
refused "use nvm, flash, disk or smr" volume create tank/v --size 1MiB --prefer tape
start
done_with volume create tank/widest --size 4MiB --hybrid
[[ $(wants widest) == '{"hybrid":{"fast":"nvm","slow":"smr"}}' ]] || fail "the fastest and the slowest: $(wants widest)"
[[ $(wants hot) == '{"hybrid":{"fast":"flash","slow":"smr"}}' ]] || fail "the two that were named: $(wants hot)"
[[ $(groups_are) == nvm,flash,disk,smr ]] || fail "groups: $(groups_are)"
array_status "$DIR" >status
grep -q "nvm:greedy,smr:circular" status || fail "the status does not tell the rules of cleaning: $(cat status)"
fios --do_verify=0 --end_fsync=1
for medium in $media; do
    (($(live_on "$medium") >= 32 << 20)) || fail "$(live_on "$medium") bytes live on $medium"
done

say "what is read again and again of a hybrid volume comes to flash"
URI="nbd+unix:///hot?socket=$SOCKET" python <<'P'
from client import *
h = connect()
for time in range(6):
    for at in range(8):
        h.pread(MIB, at * MIB)
P
moved=$(array_status "$DIR" --json | jq '.volumes[] | select(.name == "hot") | .fast_bytes')
((moved >= 4 << 20)) || fail "$moved bytes have come to flash"
array_status "$DIR" >status
grep -q "moved to the faster medium" status && grep -q "hybrid flash/smr" status || fail "the status says nothing: $(cat status)"

say "killed, and without a member of each group"
kill9
rm n1 f1 d1 s1
start
verified
for pair in 1:x0 3:x1 6:x2 9:x3; do done_with array replace tank "${pair%:*}" "${pair#*:}" --create 256MiB --wait; done

say "without the group on disks, and with another one"
refused "is the last one on disk, and disk may be nowhere else" array retire tank 2
done_with array add tank --media disk --create 256MiB e{0,1,2}
done_with array retire tank 2 --wait
fios --do_verify=0 --end_fsync=1
done_with array scrub tank --wait
kill9
start
verified
stop

say "stopped: the disks alone tell what it is"
done_with array check tank
done_with array salvage tank/smr smr.img
rm -r state
done_with array scan .
[[ $(groups_are) == nvm,flash,smr,disk ]] || fail "groups: $(groups_are)"
[[ $(wants hot) == '{"hybrid":{"fast":"flash","slow":"smr"}}' ]] || fail "what is on record: $(wants hot)"
start
verified
stop
