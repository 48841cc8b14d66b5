#!/usr/bin/env bash
# qemu-io: patterns at odd offsets, zeroes, discards, flushes, reads of what lies between.
. "$(dirname "$0")/common.sh"
need qemu-io
serve

io() {
    local out
    out=$(qemu-io -f raw "$URI" "$@" 2>&1) || { echo "$out" >&2 && fail "qemu-io $*"; }
    if grep -qiE 'pattern verification failed|error|failed' <<<"$out"; then echo "$out" >&2 && fail "qemu-io $*"; fi
}
io -c 'write -P 0xa1 0 1M' -c 'write -P 0xb2 512 512' -c 'write -P 0xc3 4095 4098' -c 'write -P 0xd4 1000000 3' -c flush
io -c 'read -P 0xa1 0 512' -c 'read -P 0xb2 512 512' -c 'read -P 0xa1 1024 3071' -c 'read -P 0xc3 4095 4098' \
    -c 'read -P 0xa1 8193 991807' -c 'read -P 0xd4 1000000 3' -c 'read -P 0xa1 1000003 48573' -c 'read -P 0 1M 1M'
io -c 'write -f -P 0xe5 2M 64k' -c 'write -z 2100k 1M' -c 'write -z -u 4M 1M' -c 'discard 2M 32k'
io -c 'read -P 0 2100k 1M' -c 'read -P 0 4M 1M' -c 'read -P 0xe5 2080k 20k'
in_place || io -c 'read -P 0 2M 32k' # NBD does not promise it, we do of logs
io -c 'aio_write -P 0x11 8M 1M' -c 'aio_write -P 0x22 9M 1M' -c 'aio_write -P 0x33 10M 64k' -c 'aio_flush' \
    -c 'read -P 0x11 8M 1M' -c 'read -P 0x22 9M 1M' -c 'read -P 0x33 10M 64k'
if [[ $TARGET != nbdkit-memory ]]; then
    stop
    start
    io -c 'read -P 0xa1 0 512' -c 'read -P 0xb2 512 512' -c 'read -P 0xc3 4095 4098' -c 'read -P 0 2100k 1M' -c 'read -P 0x33 10M 64k'
fi
stop
