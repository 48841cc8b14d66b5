#!/usr/bin/env bash
# Two members of an R-group are device-mapper devices: AWAY=error, they fail everything for a while; AWAY=suspend, they take no
# requests for 40 s.
. "$(dirname "$0")/common.sh"
need dmsetup losetup
need_root "device-mapper"
dmsetup version >/dev/null 2>&1 || skip "this kernel has no device-mapper"
for ((i = 0; i < $(member_count); i++)); do PLACES+=("$DIR/d$i"); done
SECTORS=$(($(bytes "$MEMBER_SIZE") / 512))
MAPPED=()
for i in 0 1; do
    truncate -s "$(bytes "$MEMBER_SIZE")" "$DIR/m$i"
    loop=$(losetup --show -f -b 4096 "$DIR/m$i")
    at_exit "losetup -d $loop"
    MAPPED+=("trouble-$$-$i")
    TABLE[i]="0 $SECTORS linear $loop 0"
    # Where no udev runs, nobody else makes the node.
    dmsetup create "${MAPPED[i]}" --noudevsync --table "${TABLE[i]}"
    at_exit "dmsetup remove --noudevsync --force ${MAPPED[i]}"
    dmsetup mknodes "${MAPPED[i]}"
    PLACES[i]=/dev/mapper/${MAPPED[i]}
    [[ -b ${PLACES[i]} ]] || fail "${PLACES[i]} is no block device"
done
SERVE_FLAGS="$SERVE_FLAGS --hung-after 8s"
serve
load
# becomes INDEX TABLE: the device is something else from now on.
becomes() {
    dmsetup suspend --noflush --nolockfs "${MAPPED[$1]}"
    dmsetup load "${MAPPED[$1]}" --table "$2"
    dmsetup resume --noudevsync "${MAPPED[$1]}"
}
BEGAN=$SECONDS
for i in 0 1; do
    case $AWAY in
    error) becomes "$i" "0 $SECTORS error" ;;
    suspend) dmsetup suspend --noflush --nolockfs "${MAPPED[i]}" && at_exit "dmsetup resume --noudevsync ${MAPPED[i]}" ;;
    esac
done
says "Requests wait" 60
never_said "out of service"
if [[ $AWAY == suspend ]]; then sleep $((40 - (SECONDS - BEGAN) > 0 ? 40 - (SECONDS - BEGAN) : 0)); else sleep "$(long_or 60 5)"; fi
for i in 0 1; do
    case $AWAY in
    error) becomes "$i" "${TABLE[i]}" ;;
    suspend) dmsetup resume --noudevsync "${MAPPED[i]}" ;;
    esac
done
well 120
