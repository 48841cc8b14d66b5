#!/usr/bin/env bash
# qemu-img: a qcow2 image converted onto the volume, compared, and converted back out.
. "$(dirname "$0")/common.sh"
once_of_each
need qemu-img qemu-io
serve

qemu-img create -q -f qcow2 "$DIR/in.qcow2" "$(bytes "$VOLUME_SIZE")"
for ((i = 0; i < 40; i++)); do
    commands+=(-c "write -P $((1 + i * 5)) $((i * 5))M $((64 + i * 37))k")
done
qemu-io "${commands[@]}" "$DIR/in.qcow2" >/dev/null
qemu-img convert -n -W -m 8 -O raw "$DIR/in.qcow2" "$URI"
qemu-img compare -q -f qcow2 -F raw "$DIR/in.qcow2" "$URI" || fail "the volume differs from the image converted onto it"
qemu-img convert -f raw -O qcow2 "$URI" "$DIR/out.qcow2"
qemu-img compare -q "$DIR/in.qcow2" "$DIR/out.qcow2" || fail "the image converted back differs"
# compare itself must be able to fail
qemu-io -c 'write -P 0xff 100M 4k' -f raw "$URI" >/dev/null
if qemu-img compare -q -f qcow2 -F raw "$DIR/in.qcow2" "$URI"; then fail "a changed volume compares equal"; fi
stop
