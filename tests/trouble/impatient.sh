#!/usr/bin/env bash
# `serve --suspended-for 2s`: requests fail with EIO after two seconds of waiting for members, and are served again when those
# are back. What was acknowledged before is there.
. "$(dirname "$0")/common.sh"
need_root "a tmpfs"
mkdir "$DIR/small"
mount -t tmpfs -o size=150m tmpfs "$DIR/small"
at_exit "umount -l $DIR/small"
for ((i = 0; i < $(member_count); i++)); do PLACES+=("$DIR/small/d$i"); done
SERVE_FLAGS="$SERVE_FLAGS --suspended-for 2s"
serve
DIR=$DIR python <<'P' || fail "the client"
import errno, os, subprocess, sys, threading, time
import nbd

small = os.environ["DIR"] + "/small/ballast"
h = nbd.NBD()
h.connect_uri(os.environ["URI"])
size, piece = 24 << 20, 256 << 10

def contents(at, n):
    return (b"%016x%016x" % (at, n) if n else bytes(32)) * (piece // 32)

def write(at, n):
    h.pwrite(contents(at, n), at)

for at in range(0, size, piece):
    write(at, 1)
h.flush()
# What may be found where. Behind what was written there is as much again twice, without space below yet.
certain = {at: {int(at < size)} for at in range(0, 3 * size, piece)}

with open(small, "wb") as ballast:
    try:
        while True:
            ballast.write(bytes(1 << 20))
            ballast.flush()
    except OSError as e:
        assert e.errno == errno.ENOSPC, e

# Writes until one is refused: with EIO, no sooner than two seconds after the wait began, and not much later.
refused = None
for n in range(1, 200):
    for at in range(n % 3 * size, (n % 3 + 1) * size, piece):
        before = time.monotonic()
        try:
            certain[at].add(n + 1)
            write(at, n + 1)
            certain[at] = {n + 1}
        except nbd.Error as e:
            assert e.errnum == errno.EIO, e
            refused = time.monotonic() - before
            break
    if refused is not None:
        break
    try:
        before = time.monotonic()
        h.flush()
    except nbd.Error as e:
        assert e.errnum == errno.EIO, e
        refused = time.monotonic() - before
        break
assert refused is not None, "nothing was refused"
print(f"  refused after {refused:.1f} s", flush=True)
assert 0.5 < refused < 20, refused

# From now on at once.
before = time.monotonic()
try:
    h.flush()
    raise SystemExit("FAIL: a flush succeeds while members are awaited")
except nbd.Error as e:
    assert e.errnum == errno.EIO, e
at_once = time.monotonic() - before
print(f"  then after {at_once:.2f} s", flush=True)
assert at_once < 1, at_once
# What can be read is read.
assert bytes(h.pread(piece, 0))

said = subprocess.run([os.environ["CYGNUS"], "--state", os.environ["DIR"] + "/state", "array", "status", "tank"],
                      capture_output=True, text=True, timeout=20).stdout
assert "the file system below is full" in said and "Requests fail until then" in said, said

os.unlink(small)
deadline = time.monotonic() + 60
while True:
    try:
        h.flush()
        break
    except nbd.Error:
        assert time.monotonic() < deadline, "still refused 60 s after there is room again"
        time.sleep(0.2)
for at, allowed in certain.items():
    data = bytes(h.pread(piece, at))
    # A request that failed may have been carried out in part, as on a disk: each of its blocks for itself.
    for block in range(0, piece, 4096):
        found = data[block:block + 4096]
        assert any(found == contents(at, n)[:4096] for n in allowed), (at, block, allowed, found[:32])
P
load
well
never_said "out of service"
