#!/usr/bin/env bash
# An array of real files whose groups on disks have another shape than those on flash, while fio writes and verifies: killed, without as many
# members of each group as that may lose, with new ones in their places, with groups of either shape that come and go, and without its
# state directory. What makes no whole groups is refused.
[[ ${PRESET:-swan} == swan ]] || { echo "N/A: it makes an array of its own" >&2 && exit 78; }
. "$(dirname "$0")/common.sh"
need fio jq nbdinfo
only_on cygnus "the stand-ins know no shapes"

cd "$DIR"
URI="nbd+unix:///db?socket=$SOCKET"
volumes="db cold any"

# refused WORDS ARGS...: this command fails with these words.
refused() {
    ! cygnus "$DIR" "${@:2}" >refused 2>&1 || fail "${*:2} succeeded"
    grep -q -- "$1" refused || fail "${*:2}: $(cat refused)"
}
# done_with ARGS...: this command succeeds.
done_with() { cygnus "$DIR" "$@" >>commands.log 2>&1 || fail "$*: $(tail -n 3 commands.log)"; }
# fios WHAT...: the three volumes at once, random blocks that tell what they are.
fios() {
    local volume pids=()
    for volume in $volumes; do
        fio --name="$volume" --ioengine=nbd --uri="nbd+unix:///$volume?socket=$SOCKET" --rw=randwrite --bs=4k --size=64m --iodepth=16 \
            --verify=crc32c --verify_state_save=0 --randseed=7 --output="fio-$volume.log" "$@" &
        pids+=($!)
    done
    for volume in "${pids[@]}"; do wait "$volume" || fail "fio $*: $(tail -n 3 fio-*.log)"; done
}
verified() { fios --verify_only; }
# shapes: of all groups, by number.
shapes() { array_status "$DIR" --json | jq -r '[.groups[] | "\(.medium) \(.data_columns)+\(.parity_columns)"] | join(", ")'; }

create=(array create tank --create 256MiB --sparse)
refused "new R-group 1, on disk, takes 6 devices (4+2), and 5 are left" "${create[@]}" --preset salsa --raid flash:2+1,disk:4+2 --media flash,disk f{0,1,2} d{0,1,2,3,4}
refused "takes all R-groups for alike" "${create[@]}" --preset swan --raid flash:2+1,disk:4+2 f{0,1,2} d{0,1,2,3,4,5}
refused "use nvm, flash, disk or smr" "${create[@]}" --preset salsa --raid flash:2+1,tape:4+2 f{0,1,2}
[[ -z $(ls f0 d0 2>/dev/null) ]] || fail "what was refused has left files"
done_with "${create[@]}" --preset salsa --raid flash:2+1,disk:4+2 --media flash,disk f{0,1,2} d{0,1,2,3,4,5}
done_with volume create tank/db --size 64MiB --media flash
done_with volume create tank/cold --size 64MiB --media disk
done_with volume create tank/any --size 64MiB
start
[[ $(shapes) == "flash 2+1, disk 4+2" ]] || fail "shapes: $(shapes)"
array_status "$DIR" >status
grep -q "1 R-group of 2+1, 1 R-group of 4+2" status && grep -q "RAID" status || fail "the status does not tell: $(cat status)"
fios --do_verify=0 --end_fsync=1

say "killed, and without one member on flash and two on disks"
kill9
rm f1 d1 d4
start
array_status "$DIR" >status || true
grep -q "R-group [01] has no redundancy left" status || fail "the status does not tell: $(cat status)"
verified
for pair in 1:n1 4:n4 7:n7; do done_with array replace tank "${pair%:*}" "${pair#*:}" --create 256MiB --wait; done

say "with groups of either shape more, and without the first ones"
refused "takes 6 devices (4+2), and 3 are left" array add tank --media disk --create 256MiB x{0,1,2}
[[ ! -e x0 ]] || fail "what was refused has left files"
done_with array add tank --media disk,flash --create 256MiB e{0,1,2,3,4,5} g{0,1,2}
fios --do_verify=0 --end_fsync=1
done_with array retire tank 1 --wait
done_with array retire tank 0 --wait
verified
done_with array scrub tank --wait
kill9
start
verified
stop

say "stopped: a group more, and the disks alone tell what it is"
done_with array check tank
done_with array add tank --media flash --create 256MiB h{0,1,2}
done_with array salvage tank/cold cold.img
rm -r state
done_with array scan .
[[ $(shapes) == "flash 2+1, disk 4+2, flash 2+1" ]] || fail "shapes: $(shapes)"
start
verified
cmp <(nbdcopy "nbd+unix:///cold?socket=$SOCKET" -) cold.img || fail "what was salvaged is not what the volume holds"
stop
