#!/usr/bin/env bash
# xfs through nbdfuse and a loop device: kill -9 of the server under a file workload, remount, xfs_repair -n clean, synced files intact.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/filesystem.sh"
need_filesystem xfs xfs_repair
# mkfs.xfs wants 300 MiB at least.
VOLUME_SIZE=384MiB
filesystem_survives "mkfs.xfs -q -f" "xfs_repair -n"
