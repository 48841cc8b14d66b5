#!/usr/bin/env bash
# nbdcopy carries an image in and out unchanged, holes included, and again after a clean restart.
. "$(dirname "$0")/common.sh"
need nbdcopy cmp
serve

size=$(bytes "$VOLUME_SIZE")
truncate -s "$size" "$DIR/in.img"
# Data at odd offsets with holes between.
for ((at = 0; at + 3000000 < size; at += 9000017)); do
    dd if=/dev/urandom of="$DIR/in.img" bs=65536 count=$((1 + at % 23)) seek="$at" oflag=seek_bytes conv=notrunc status=none
done
nbdcopy --flush "$DIR/in.img" "$URI"
nbdcopy "$URI" "$DIR/out.img"
cmp "$DIR/in.img" "$DIR/out.img"
if [[ $TARGET != nbdkit-memory ]]; then
    stop
    start
    rm "$DIR/out.img"
    nbdcopy --connections=1 --requests=1 "$URI" "$DIR/out.img"
    cmp "$DIR/in.img" "$DIR/out.img"
fi
# Overwritten with something else: nothing of the first image may shine through.
head -c "$size" /dev/urandom >"$DIR/in.img"
nbdcopy --flush --connections=4 "$DIR/in.img" "$URI"
nbdcopy "$URI" "$DIR/out.img"
cmp "$DIR/in.img" "$DIR/out.img"
stop
