#!/usr/bin/env bash
# Data that is to move out of the way of contention: members that share a link are told in the status, with the budget and with what became of
# blocks for each reason; an array of one R-group is told at the start that it has nowhere to move anything. fio verifies meanwhile.
. "$(dirname "$0")/common.sh"
need fio jq
only_on cygnus "the stand-ins know nothing of contention"
only_log "its data stays in place"

target_create "$DIR" >>"$DIR/server.log" 2>&1 || fail "creating the array"
export SERVE_FLAGS="--autonomics --link nic0:$DIR/d0,$DIR/d1"
start
fio --name=v --ioengine=nbd --uri="$URI" --rw=randwrite --bs=4k --size=16m --iodepth=16 --verify=crc32c --verify_state_save=0 \
    --output="$DIR/fio.log" || fail "fio: $(tail -n 3 "$DIR/fio.log")"
array_status "$DIR" --json >"$DIR/status.json"
jq -e '.autonomics | .budget_percent == 34 and .budget_per_day >= 0 and (.links[] | select(.name == "nic0") | .members | length == 2) and
    ([.on_links, .on_late, .on_full] | all(.to_other_links >= 0 and .nowhere_cold >= 0))' "$DIR/status.json" >/dev/null ||
    fail "the status: $(jq -c .autonomics "$DIR/status.json")"
array_status "$DIR" | grep -q "budget: 34 for each 100 written" || fail "$(array_status "$DIR")"
told=$(grep -c "has one R-group, so --autonomics moves no data" "$DIR/server.log" || true)
((told == (GROUP_COUNT == 1 ? 1 : 0))) || fail "$GROUP_COUNT R-groups, and told $told times that there is nowhere to move data"
stop
