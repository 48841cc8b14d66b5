#!/usr/bin/env bash
# fio: random writes of 512 bytes to 1 MiB, 4 jobs at depth 32, past the array's capacity twice, all verified by CRC32C.
. "$(dirname "$0")/common.sh"
need fio jq
MEMBER_SIZE=${FIO_MEMBER_SIZE:-64MiB} VOLUME_SIZE=${FIO_VOLUME_SIZE:-272MiB}
serve

# Raw capacity is the upper bound of what can be stored: writing it twice makes the log lap itself with cleaning under way.
width=$((${RAID%+*} + ${RAID#*+}))
raw=$((GROUP_COUNT * width * $(bytes "$MEMBER_SIZE")))
size=$(bytes "$VOLUME_SIZE")
if in_place; then raw=$size; fi # there is nothing to lap
region=$((size / 4 / 1048576 * 1048576))
loops=$(((2 * raw + size - 1) / size))
say "$loops passes over $((size >> 20)) MiB: $((loops * size >> 20)) MiB written, raw capacity $((raw >> 20)) MiB"
status=0
fio --name=verify --ioengine=nbd --uri="$URI" --rw=randwrite --bsrange=512-1M --iodepth=32 --numjobs=4 \
    --size=$region --offset_increment=$region --loops="$loops" --fsync=200 \
    --verify=crc32c --do_verify=1 --verify_fatal=1 --randrepeat=0 --group_reporting \
    --output="$DIR/fio.json" --output-format=json >"$DIR/fio.out" 2>&1 || status=$?
if ((status != 0)); then
    tail -n 20 "$DIR/fio.out" "$DIR/fio.json" >&2
    fail "fio ended with $status"
fi
written=$(sed -n '/^{/,$p' "$DIR/fio.json" | jq '.jobs[0].write.io_bytes')
read=$(sed -n '/^{/,$p' "$DIR/fio.json" | jq '.jobs[0].read.io_bytes')
say "written $((written >> 20)) MiB, verified $((read >> 20)) MiB"
((written >= 2 * raw && read >= 2 * raw)) || fail "fio wrote or verified less than twice the raw capacity"
if [[ $TARGET == cygnus ]]; then
    array_status "$DIR" --json >"$DIR/status.json" ||
        { cat "$DIR/status.json" >&2 && fail "not all of the array can be read and written"; }
    say "$(jq -r .state "$DIR/status.json") array; slow or doubtful: $(jq -c '[.devices[] | select(.pace.slow or .suspect) | {index, pace, suspect}]' "$DIR/status.json")"
fi
if [[ $TARGET == cygnus ]] && ! in_place; then
    say "$(jq -r '.writes | "\(.client_bytes / 1048576 | floor) MiB of clients, \(.cleaned_bytes / 1048576 | floor) MiB moved by cleaning"' "$DIR/status.json")"
    jq -e '.writes.cleaned_bytes > 0' "$DIR/status.json" >/dev/null || fail "nothing was cleaned: the test was too easy"
    jq -e '[.devices[].io.cleaning_read_bytes > 0] | all' "$DIR/status.json" >/dev/null || fail "not every group was cleaned: the roles did not rotate"
fi
if [[ $TARGET == cygnus ]]; then
    jq -e '[.repairs[]] + [.devices[].io | .errors, .checksum_errors] | all(. == 0)' "$DIR/status.json" >/dev/null ||
        fail "healthy members, and yet: $(jq -c '.repairs' "$DIR/status.json")"
fi
stop
