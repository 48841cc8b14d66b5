#!/usr/bin/env bash
# nbdinfo shows every capability promised, and the export in the list.
. "$(dirname "$0")/common.sh"
need nbdinfo jq
only_on cygnus "a stand-in promises other capabilities"
serve

nbdinfo --json "$URI" >"$DIR/info.json"
expect() {
    jq -e "$1" "$DIR/info.json" >/dev/null || { jq . "$DIR/info.json" >&2 && fail "nbdinfo: not true: $1"; }
}
expect '.protocol == "newstyle-fixed" and .structured'
expect ".exports[0].\"export-size\" == $(bytes "$VOLUME_SIZE")"
for capability in can_flush can_fua can_trim can_zero can_fast_zero can_df can_cache can_multi_conn; do
    expect ".exports[0].$capability == true"
done
expect '.exports[0].is_read_only == false and .exports[0].is_rotational == false'
expect '.exports[0].contexts | index("base:allocation")'
expect '.exports[0].block_size_minimum <= 512 and .exports[0].block_size_preferred >= 4096'
expect '.exports[0].block_size_preferred % 4096 == 0 and .exports[0].block_size_maximum >= 33554432'
nbdinfo --list --json "nbd+unix:///?socket=$SOCKET" | jq -e "[.exports[].\"export-name\"] == [\"$EXPORT\"]" >/dev/null ||
    fail "LIST does not name exactly $EXPORT"
nbdinfo --map --json "$URI" | jq -e "length == 1 and .[0].type == $(in_place && echo 0 || echo 3)" >/dev/null ||
    fail "a new volume is not one hole of zeros, or all space"
if nbdinfo "nbd+unix:///absent?socket=$SOCKET" >/dev/null 2>&1; then fail "an export that does not exist was opened"; fi
stop
