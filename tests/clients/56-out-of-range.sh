#!/usr/bin/env bash
# Requests that are out of range or malformed are refused with the right error, and the connection goes on.
. "$(dirname "$0")/common.sh"
once_of_each
need /usr/bin/python3 nbdinfo
serve
python <<'P'
from client import *
h = connect()
size = h.get_size()
end = data(512, 1)
h.pwrite(end, size - 512)
refused(lambda: h.pread(512, size), errno.EINVAL)
refused(lambda: h.pread(1024, size - 512), errno.EINVAL)
refused(lambda: h.pread(512, 2**63 - 512), errno.EINVAL)
space = (errno.ENOSPC,) if TARGET == "cygnus" else (errno.ENOSPC, errno.EINVAL)
refused(lambda: h.pwrite(bytes(512), size), *space)
refused(lambda: h.pwrite(bytes(1024), size - 512), *space)
refused(lambda: h.zero(1024, size - 512), *space)
refused(lambda: h.trim(1024, size - 512), errno.EINVAL, errno.ENOSPC)
refused(lambda: h.pread(512, 0, 1 << 9), errno.EINVAL)  # a flag that does not exist
same(h, size - 512, end, "the last sector, after requests beyond the end")
if TARGET == "cygnus":
    refused(lambda: h.cache(4096, size), errno.EINVAL)
    refused(lambda: h.pread(64 * MIB, 0), errno.EINVAL, errno.EOVERFLOW, errno.ENOMEM)
    same(h, size - 512, end, "the last sector, after a request too large")
P
stop
