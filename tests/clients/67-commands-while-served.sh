#!/usr/bin/env bash
# Volumes are created, resized, listed and deleted on the array being served, while a client works on another volume.
. "$(dirname "$0")/common.sh"
need /usr/bin/python3 nbdinfo jq fio
only_on cygnus "the stand-ins have no volumes"
serve
# It runs until it is killed, so that it cannot end before the commands do.
fio --name=bystander --ioengine=nbd --uri="$URI" --rw=randwrite --bs=4k-64k --iodepth=16 --size=64M --verify=crc32c --verify_backlog=64 \
    --verify_fatal=1 --time_based --runtime=60 --output="$DIR/fio.out" &
FIO=$!
at_exit "kill $FIO"
sleep 0.5
other="nbd+unix:///vol1?socket=$SOCKET"
cygnus "$DIR" volume create tank/vol1 --size 32MiB >/dev/null
[[ $(nbdinfo --size "$other") == 33554432 ]] || fail "a volume created while served cannot be opened"
cygnus "$DIR" volume list tank --json | jq -e '[.. | .name? // empty] | index("vol0") and index("vol1")' >/dev/null ||
    fail "volume list --json: $(cygnus "$DIR" volume list tank --json)"
OTHER=$other python <<'P'
from client import *
h = nbd.NBD()
h.connect_uri(os.environ["OTHER"])
h.pwrite(data(32 * MIB, 1), 0)
h.flush()
P
cygnus "$DIR" volume resize tank/vol1 --size 64MiB >/dev/null
[[ $(nbdinfo --size "$other") == 67108864 ]] || fail "a resized volume keeps its size"
OTHER=$other python <<'P'
from client import *
h = nbd.NBD()
h.connect_uri(os.environ["OTHER"])
same(h, 0, data(32 * MIB, 1), "after growing")
same(h, 32 * MIB, bytes(32 * MIB), "the new part")
P
array_status "$DIR" --json | jq -e .schema >/dev/null || fail "array status --json has no schema version"
cygnus "$DIR" volume delete tank/vol1 --yes >/dev/null
if nbdinfo --size "$other" >/dev/null 2>&1; then fail "a deleted volume can still be opened"; fi
code=0
cygnus "$DIR" volume create tank/vol0 --size 1GiB >/dev/null 2>&1 || code=$?
((code == 1)) || fail "creating a volume that exists ends with $code, not 1"
code=0
cygnus "$DIR" volume create --size >/dev/null 2>&1 || code=$?
((code == 2)) || fail "wrong usage ends with $code, not 2"
kill -0 "$FIO" || fail "the bystander ended: $(tail -n 3 "$DIR/fio.out")"
kill -INT "$FIO"
wait "$FIO" || [[ $? == 128 ]] || true
if grep -qiE 'verify(: bad| failed)|error=' "$DIR/fio.out"; then tail -n 5 "$DIR/fio.out" >&2 && fail "the bystander noticed"; fi
stop
