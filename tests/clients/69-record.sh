#!/usr/bin/env bash
# serve --record: every request of a client is in the recording, none twice; a killed server leaves one that can be read.
. "$(dirname "$0")/common.sh"
once_of_each
need fio jq
only_on cygnus "the stand-ins record nothing"
reactors="--reactors 2"
if in_place; then reactors=; fi # it has one
SERVE_FLAGS="$SERVE_FLAGS $reactors --record vol0=$DIR/vol0.trace"
load() {
    fio --name=load --ioengine=nbd --uri="$URI" --rw=randrw --bsrange=512-64k --iodepth=16 --numjobs=4 --group_reporting \
        --size=64M --fsync=50 --randseed=7 --output="$DIR/fio.json" --output-format=json "$@" >"$DIR/fio.out" 2>&1
}
fio_says() { sed -n '/^{/,$p' "$DIR/fio.json" | jq ".jobs[0].$1"; }
# recorded KIND FIELD
recorded() { jq "[.kinds[] | select(.kind == \"$1\").$2] | add // 0" "$DIR/stat.json"; }

serve
load --io_size=48M || fail "fio: $(tail -n 5 "$DIR/fio.out")"
stop
cygnus "$DIR" trace stat "$DIR/vol0.trace" --json >"$DIR/stat.json"
for kind in read write; do
    got="$(recorded $kind requests) $(recorded $kind bytes)" want="$(fio_says $kind.total_ios) $(fio_says $kind.io_bytes)"
    [[ $got == "$want" ]] || fail "${kind}s recorded and their bytes: $got; fio did $want"
done
flushes=$(recorded flush requests) syncs=$(fio_says sync.total_ios)
((flushes >= syncs && syncs > 0)) || fail "$flushes flushes recorded, fio did $syncs"
jq -e '.recording | .volume == "tank/vol0" and .lost_requests + .damaged_places + .torn_bytes == 0' "$DIR/stat.json" >/dev/null ||
    fail "the recording says: $(jq -c .recording "$DIR/stat.json")"
requests=$(jq .requests "$DIR/stat.json")
say "$requests requests in $(stat -c %s "$DIR/vol0.trace") bytes"
cygnus "$DIR" trace convert "$DIR/vol0.trace" "$DIR/vol0.csv" >/dev/null
(($(wc -l <"$DIR/vol0.csv") == requests)) || fail "the CSV has not $requests lines"

# The file is there: nothing is overwritten.
code=0
timeout 60 "$CYGNUS" --state "$DIR/state" serve tank --nbd "unix:$SOCKET" --record "vol0=$DIR/vol0.trace" 2>"$DIR/refusal" || code=$?
((code == 1)) && grep -q "vol0.trace exists" "$DIR/refusal" || fail "recording over a recording: $code, $(cat "$DIR/refusal")"

SERVE_FLAGS="$SERVE_FLAGS --record vol0=$DIR/killed.trace"
SERVE_FLAGS=${SERVE_FLAGS/--record vol0=$DIR\/vol0.trace/}
start
load --time_based --runtime=60 &
LOAD=$!
sleep 3
kill9
wait "$LOAD" || true
cygnus "$DIR" trace stat "$DIR/killed.trace" --json >"$DIR/stat.json" || fail "the recording of a killed server cannot be read"
jq -e '.requests > 100 and .recording.damaged_places == 0' "$DIR/stat.json" >/dev/null ||
    fail "of the killed server: $(jq -c '{requests, recording}' "$DIR/stat.json")"
say "killed: $(jq -c '{requests, torn: .recording.torn_bytes}' "$DIR/stat.json")"
