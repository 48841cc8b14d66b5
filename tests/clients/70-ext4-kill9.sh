#!/usr/bin/env bash
# ext4 through nbdfuse and a loop device: kill -9 of the server under a file workload, remount, e2fsck clean, synced files intact.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/filesystem.sh"
need_filesystem ext4 e2fsck
filesystem_survives "mkfs.ext4 -q -F" "e2fsck -fn"
