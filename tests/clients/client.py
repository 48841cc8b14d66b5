"""What the Python client tests share: connections, reproducible data, expected errors."""

import errno
import os
import random

import nbd

URI = os.environ["URI"]
SOCKET = os.environ["SOCKET"]
TARGET = os.environ["TARGET"]
IN_PLACE = TARGET == "cygnus" and os.environ["PRESET"].startswith("raid")
EXPORT = "vol0"
KIB, MIB = 1024, 1024 * 1024
ALLOCATION = "base:allocation"
HOLE, ZERO = 1, 2


def connect(structured=True, contexts=()):
    """A connection that lets every request through to the server, valid or not."""
    h = nbd.NBD()
    h.set_strict_mode(0)
    h.set_request_structured_replies(structured)
    for context in contexts:
        h.add_meta_context(context)
    h.connect_uri(URI)
    return h


def data(length, seed):
    """The same bytes for the same seed."""
    return random.Random(seed).randbytes(length)


def check(truth, what):
    """An assertion that python -O keeps."""
    if not truth:
        raise SystemExit(f"FAIL: {what}")


def same(h, offset, expected, what):
    """The bytes at `offset` are `expected`; says where they differ first."""
    limit = 32 * MIB
    for start in range(0, len(expected), limit):
        part = expected[start : start + limit]
        got = bytes(h.pread(len(part), offset + start))
        if got != part:
            at = next(i for i in range(len(part)) if got[i] != part[i])
            raise SystemExit(f"FAIL: {what}: byte {offset + start + at} is {got[at]:#x}, not {part[at]:#x}")


def refused(call, *codes):
    """The call fails with one of the errno `codes`."""
    names = "/".join(errno.errorcode[c] for c in codes)
    try:
        call()
    except nbd.Error as e:
        check(e.errnum in codes, f"expected {names}, got {e.string} (errno {e.errnum})")
        return
    raise SystemExit(f"FAIL: expected {names}, but the request succeeded")


def extents(h, offset, length):
    """[(length, flags)] of base:allocation over the range, following the server's partial answers."""
    found = []
    end = offset + length
    while offset < end:
        part = []

        def collect(context, start, entries, error, part=part):
            if context == ALLOCATION:
                part.extend(entries)
            return 0

        h.block_status(end - offset, offset, collect)
        check(part, "block status returns at least one extent")
        for size, flags in zip(part[0::2], part[1::2]):
            check(size > 0, "an extent has a length")
            size = min(size, end - offset)
            found.append((size, flags))
            offset += size
            if offset == end:
                break
    return found


def flags_at(h, offset, length):
    """The set of flags that occur in the range."""
    return {flags for _, flags in extents(h, offset, length)}
