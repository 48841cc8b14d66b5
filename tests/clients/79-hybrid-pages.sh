#!/usr/bin/env bash
# The same as of a hybrid volume by blocks, of one that is mapped by pages.
VOLUME_FLAGS="--hybrid --page 64KiB" exec "$(dirname "$0")/75-hybrid.sh"
