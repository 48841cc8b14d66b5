#!/usr/bin/env bash
# Member files under a running fio --verify are corrupted, truncated, deleted and made inaccessible; scrub, replace, drain and a spare mend all of it, and fio never notices.
. "$(dirname "$0")/common.sh"
need fio jq nbdinfo
only_on cygnus "the stand-ins have no members"
only_log "there are neither checksums nor spares in place"
only_wide
MEMBER_SIZE=64MiB VOLUME_SIZE=96MiB
serve

# wait_healthy SECONDS: until no job runs and every member is online.
wait_healthy() {
    local i
    for ((i = 0; i < $1 * 5; i++)); do
        array_status "$DIR" --json >"$DIR/status.json"
        jq -e '[.devices[].state == "online"] | all' "$DIR/status.json" >/dev/null &&
            jq -e '[.jobs[]?.state == "running"] | any | not' "$DIR/status.json" >/dev/null && return
        sleep 0.2
    done
    fail "not healthy after $1 s: $(jq -c '[.state, .devices[].state, .jobs]' "$DIR/status.json")"
}

scrub() {
    cygnus "$DIR" --json array scrub tank --wait >"$DIR/scrub.json" || { cat "$DIR/scrub.json" >&2 && fail "array scrub after $1"; }
    say "scrub after $1: $(jq -c '.report | {wrong_blocks, wrong_parity, wrong_headers, moved_blocks, lost}' "$DIR/scrub.json")"
    jq -e '.report.complete and .report.lost == 0' "$DIR/scrub.json" >/dev/null || fail "the scrub after $1 gave up blocks"
}

# once SIZE SEED NAME DEPTH: writes at random and verifies what it wrote.
once() {
    fio --name=verify --ioengine=nbd --uri="$URI" --rw=randwrite --bsrange=4k-256k --iodepth="$4" --size="$1" --randseed="$2" \
        --numjobs=2 --offset_increment=40M --verify=crc32c --do_verify=1 --verify_fatal=1 --output="$DIR/fio-$3.out" \
        >>"$DIR/fio.log" 2>&1 || { tail -n 20 "$DIR/fio-$3.out" "$DIR/fio.log" >&2 && return 1; }
}

once 16M 1 first 16 || fail "fio before anything went wrong"
passes() {
    local n
    for ((n = 2; ; n++)); do
        # Few requests at a time: beside more of them scrubs go at the pace that is left to background work.
        once 6M "$n" passes 2 || { touch "$DIR/fio-failed" && return; }
        echo "$n" >"$DIR/passes"
        if [[ -e $DIR/enough ]]; then return; fi
    done
}
passes &
FIO=$!
at_exit "touch $DIR/enough"
alive() { [[ ! -e $DIR/fio-failed ]] || fail "fio gave up after $1"; }

# Corrupted: 24 MiB of one member, headers, data and parity alike. (Directly: the page cache would write it later, onto
# what the array has written since.)
dd if=/dev/urandom of="$DIR/d1" bs=1M seek=2 count=24 conv=notrunc oflag=direct status=none
scrub "dd of urandom"
jq -e '.report.wrong_blocks + .report.wrong_parity + .report.wrong_headers > 0' "$DIR/scrub.json" >/dev/null ||
    fail "the scrub found nothing where 24 MiB had been overwritten"
scrub "a scrub"
jq -e '.report.wrong_blocks + .report.wrong_parity + .report.wrong_headers == 0' "$DIR/scrub.json" >/dev/null ||
    fail "the scrub before left damage behind"
alive "corruption"

# Truncated: what lies behind the end can be neither read nor written. The member goes, another takes its place.
truncate -s 3M "$DIR/d3"
scrub "truncation"
cygnus "$DIR" array replace tank 3 "$DIR/new3" --create "$MEMBER_SIZE" --force --wait >"$DIR/replace.log" 2>&1 ||
    { cat "$DIR/replace.log" >&2 && fail "array replace after truncation"; }
alive "truncation"

# Deleted: the server still holds the file, and warns; when it starts anew, a spare steps in by itself.
rm "$DIR/d6"
alive "deletion"
array_status "$DIR" | grep -q "$DIR/d6 is suspect: its path does not exist any more" || fail "deletion was not noticed"
cygnus "$DIR" array spare add tank "$DIR/spare" --create "$MEMBER_SIZE" >/dev/null || fail "array spare add"
cygnus "$DIR" array spare list tank | grep -q "$DIR/spare" || fail "the spare is not listed"
scrub "deletion"

# About to fail: a spare takes over from a member that still works; then nobody misses it.
cygnus "$DIR" array drain tank 4 >"$DIR/drain.log" 2>&1 || { cat "$DIR/drain.log" >&2 && fail "array drain"; }
if cygnus "$DIR" array spare remove tank "$DIR/spare" >/dev/null 2>&1; then fail "a spare that takes over can be removed"; fi
wait_healthy 120
jq -e --arg path "$DIR/spare" '.devices[4].path == $path' "$DIR/status.json" >/dev/null || fail "the spare has not taken over"
jq -e '[.jobs[] | select(.kind == "drain")][0].state == "done"' "$DIR/status.json" >/dev/null || fail "the drain is not done"
dd if=/dev/urandom of="$DIR/d4" bs=1M count=64 conv=notrunc oflag=direct status=none
code=0
cygnus "$DIR" array drain tank 4 >"$DIR/drain.log" 2>&1 || code=$?
((code == 1)) && grep -q "array spare add" "$DIR/drain.log" || fail "a drain without a spare: $(cat "$DIR/drain.log")"
cygnus "$DIR" array spare add tank "$DIR/d4" --force --yes >/dev/null || fail "the drained device as a spare"
alive "a drain"
scrub "a drain"

touch "$DIR/enough"
wait "$FIO"
alive "all of it"
say "fio wrote and verified $(cat "$DIR/passes") times meanwhile"

# Restarted with a member deleted: the spare takes its place.
kill -TERM "$SERVER"
wait "$SERVER" || fail "SIGTERM: the server ended with an error"
start
wait_healthy 60
cygnus "$DIR" array spare list tank | grep -q "$DIR/d4" && fail "the spare is still one"

# Inaccessible: chmod 000 (for anybody but root), and back again with what the member lacks.
kill -TERM "$SERVER"
wait "$SERVER" || fail "SIGTERM: the server ended with an error"
# The server writes down where members are once a second, which a stop right after the promotion may forestall.
cygnus "$DIR" array scan "$DIR" >/dev/null 2>&1 || fail "array scan"
chmod 000 "$DIR/d8"
if [[ $(id -u) == 0 ]]; then mv "$DIR/d8" "$DIR/hidden"; fi
start
once 8M 1001 hidden 16 || fail "fio with a member inaccessible"
kill -TERM "$SERVER"
wait "$SERVER" || fail "SIGTERM: the server ended with an error"
if [[ $(id -u) == 0 ]]; then mv "$DIR/hidden" "$DIR/d8"; fi
chmod 600 "$DIR/d8"
start
wait_healthy 60
once 8M 1002 back 16 || fail "fio after the member came back"
scrub "everything"

# Stopped, damaged, repaired offline.
kill -TERM "$SERVER"
wait "$SERVER" || fail "SIGTERM: the server ended with an error"
SERVER=
dd if=/dev/urandom of="$DIR/d2" bs=1M seek=2 count=40 conv=notrunc oflag=direct status=none
if cygnus "$DIR" array check tank >"$DIR/check.log" 2>&1; then fail "array check does not see the damage"; fi
cygnus "$DIR" array check tank --repair >"$DIR/repair.log" 2>&1 || { tail -n 5 "$DIR/repair.log" >&2 && fail "array check --repair"; }
cygnus "$DIR" array check tank >"$DIR/check.log" 2>&1 || { tail -n 5 "$DIR/check.log" >&2 && fail "damage is left after the repair"; }

# More members gone than the parity covers: no serve, but salvage has the rest.
cygnus "$DIR" array salvage tank/vol0 "$DIR/whole.img" >/dev/null || fail "salvage of a sound array"
truncate -s 1M "$DIR/d0" "$DIR/d2"
if cygnus "$DIR" --json array salvage tank/vol0 "$DIR/part.img" --map "$DIR/part.map" >"$DIR/salvage.json" 2>"$DIR/salvage.err"; then
    fail "salvage of a broken array says that nothing is missing"
fi
say "salvaged: $(jq -sc '.[0] | {data_bytes, lost_bytes, unknown_bytes, holes: (.holes | length)}' "$DIR/salvage.json")"
grep -q "  +$" "$DIR/part.map" && grep -q "  [-?]$" "$DIR/part.map" || { head "$DIR/part.map" >&2 && fail "the map tells nothing"; }
