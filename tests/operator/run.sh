#!/usr/bin/env bash
# A walk through every command as an impatient operator takes it: good input, bad input, twice, cut short, with servers that
# are stopped, killed or have lost their state directory. usage: tests/operator/run.sh
#
# Each step says how it must end (docs/exit-status.md) and what it must tell. No step may panic, hang or answer --json with
# anything but one object.

set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CYGNUS=$(realpath "${CYGNUS:-$HERE/../../target/debug/cygnus}")
[[ -x $CYGNUS ]] || { echo "$CYGNUS is missing: cargo build -p cygnus-cli, or set CYGNUS" >&2 && exit 2; }
DIR=$(mktemp -d "${TMPDIR:-/var/tmp}/cygnus-operator.XXXXXX")
# What servers that are killed leave in memory goes with the rest.
CYGNUS_KEPT_IN=$(mktemp -d /dev/shm/cygnus-operator.XXXXXX)
export CYGNUS_KEPT_IN
SERVER=
steps=0

finish() {
    local code=$?
    trap - EXIT
    set +e
    [[ -n $SERVER ]] && kill -9 "$SERVER" 2>/dev/null && wait "$SERVER" 2>/dev/null
    mountpoint -q "$DIR/small" && umount "$DIR/small"
    find /dev/shm -maxdepth 1 -name 'cygnus-*.at' -exec grep -qsxF "$CYGNUS_KEPT_IN" {} \; -delete
    rm -rf "$CYGNUS_KEPT_IN"
    if ((code == 0)) || [[ ${KEEP:-0} == 0 ]]; then rm -rf "$DIR"; else echo "kept $DIR" >&2; fi
    exit "$code"
}
trap finish EXIT
cd "$DIR"
export CYGNUS_STATE=$DIR/state
unset NOTIFY_SOCKET JOURNAL_STREAM

fail() {
    echo "FAIL: $*" >&2
    [[ -s $DIR/output ]] && sed 's/^/    /' "$DIR/output" >&2
    exit 1
}

# ends STATUS TEXT COMMAND...: the command must end so, and say the text, on either stream.
ends() {
    local wanted=$1 text=$2 code=0
    shift 2
    timeout 60 "$CYGNUS" "$@" >"$DIR/output" 2>&1 </dev/null || code=$?
    ((steps += 1))
    ((code == wanted)) || fail "cygnus $*: ended with $code, not $wanted"
    grep -q "panicked at" "$DIR/output" && fail "cygnus $*: panicked"
    [[ -z $text ]] || grep -qF -- "$text" "$DIR/output" || fail "cygnus $*: does not say \"$text\""
}

# json STATUS FILTER COMMAND...: the command's standard output must be one object that the filter is true of.
json() {
    local wanted=$1 filter=$2 code=0
    shift 2
    timeout 60 "$CYGNUS" --json "$@" >"$DIR/json" 2>"$DIR/output" </dev/null || code=$?
    ((steps += 1))
    ((code == wanted)) || fail "cygnus --json $*: ended with $code, not $wanted: $(cat "$DIR/json")"
    jq -es 'length == 1 and .[0].schema == 1' "$DIR/json" >/dev/null || fail "cygnus --json $*: no single object: $(cat "$DIR/json")"
    jq -e "$filter" "$DIR/json" >/dev/null || fail "cygnus --json $*: not $filter: $(cat "$DIR/json")"
}

# serve ARGS...: starts a server of $ARRAY and waits for it.
ARRAY=tank
serve() {
    : >"$DIR/ready"
    "$CYGNUS" serve "$ARRAY" --nbd "unix:$DIR/tank.sock" "$@" >"$DIR/ready" 2>"$DIR/server.log" &
    SERVER=$!
    local i
    for ((i = 0; i < 300; i++)); do
        if [[ -s $DIR/ready ]]; then return; fi
        kill -0 "$SERVER" 2>/dev/null || break
        sleep 0.1
    done
    cat "$DIR/server.log" >&2
    fail "the server does not start"
}

# gone SIGNAL: ends the server.
gone() {
    kill "-$1" "$SERVER"
    wait "$SERVER" 2>/dev/null || [[ $1 == 9 ]] || fail "the server ended with an error: $(tail -n 5 "$DIR/server.log")"
    SERVER=
}

# Without any array.
ends 0 "knows no arrays" array list
json 0 '.arrays == []' array list
for verb in "status" "check" "forget" "destroy -y" "scrub" "dump" "retire tank" "drain tank" "cancel tank" "spare list"; do
    read -r first rest <<<"$verb"
    case $first in
    retire | drain | cancel) ends 1 "not being served" array "$first" tank 0 ;;
    scrub) ends 1 "not being served" array scrub tank ;;
    spare) ends 1 "knows no array" array spare list tank ;;
    *) ends 1 "knows no array" array "$first" tank ${rest:+$rest} && json 1 '.exit_status == 1' array "$first" tank ${rest:+$rest} ;;
    esac
done
ends 1 "knows no array" volume list tank
ends 1 "knows no array" volume create tank/a --size 1MiB
ends 1 "knows no array" serve tank
ends 1 "No such file" array scan /nowhere/at/all

# Names and numbers that cannot be meant.
for name in ../tank "a b" -x ä "" "$(printf 'x%.0s' {1..300})"; do
    ends 2 "" array status -- "$name"
    ends 2 "" volume create --size 1MiB -- "tank/$name"
done
for size in 8EiB 16EiB 99999999999999999999 0 -1 1.5 5000 1ZiB "" nan 1e9 0x1000; do
    ends 2 "" volume create tank/a "--size=$size"
    ends 2 "" array create tank "--create=$size" d0 d1 d2 d3 d4 d5
    ends 2 "" array create tank "--chunk=$size" --create 64MiB d0 d1 d2 d3 d4 d5
    json 2 '.exit_status == 2' volume resize tank/a "--size=$size"
done
for segment in 8EiB 16EiB 4KiB 1TiB 5000; do
    code=0
    timeout 60 "$CYGNUS" array create tank "--segment=$segment" --create 64MiB d0 d1 d2 d3 d4 d5 >output 2>&1 </dev/null || code=$?
    ((code == 1 || code == 2)) || fail "a segment of $segment: ended with $code"
    grep -q "panicked at" output && fail "a segment of $segment: panicked"
    [[ ! -e d0 ]] || fail "a segment of $segment: files were left behind"
done
for span in 18446744073709551615h 1y -1s "" 9999999999999999999999; do
    ends 2 "" serve tank "--hung-after=$span"
    ends 2 "" serve tank "--scrub-every=$span"
done
ends 2 "9 members, and 8 members are given" array create tank --groups 3 --raid 2+1 d0 d1 d2 d3 d4 d5 d6 d7

# Places that cannot be written.
ends 1 "/proc/nowhere" --state /proc/nowhere array create tank --create 64MiB --groups 2 d0 d1 d2 d3 d4 d5
[[ ! -e d0 ]] || fail "files were made for an array that nobody would remember"
touch a-file
ends 1 "a-file" --state a-file array list
ends 1 "/proc" array create tank --create 64MiB --groups 2 /proc/d0 /proc/d1 d2 d3 d4 d5
[[ ! -e d2 ]] || fail "files of an array that did not come to be were left behind"
if [[ $(id -u) == 0 ]]; then
    mkdir small
    mount -t tmpfs -o size=64k tmpfs small
    head -c 64K /dev/zero >small/fill 2>/dev/null || true
    ends 1 "No space left" --state small/state array create tank --create 64MiB --groups 2 d0 d1 d2 d3 d4 d5
    rm -f d[0-5]
    ends 1 "0 B left; make room there" array create tank --create 64MiB --groups 2 small/d{0..5}
    umount small
    rm -rf state
fi

# Made, twice, by JSON too.
json 0 '.groups == 2 and (.unused_bytes | add) == 0' array create tank --groups 2 --raid 2+1 --create 64MiB d0 d1 d2 d3 d4 d5
ends 1 "choose another name" array create tank --groups 2 --raid 2+1 --create 64MiB d0 d1 d2 d3 d4 d5
ends 1 "holds a member of array" array create two --groups 2 --raid 2+1 d0 d1 d2 d3 d4 d5
ends 1 "add --yes" array create two --groups 2 --raid 2+1 --force d0 d1 d2 d3 d4 d5
echo y | "$CYGNUS" array destroy tank >output 2>&1 && fail "a pipe was taken for consent"
echo n | "$CYGNUS" array destroy tank >output 2>&1 && fail "no was taken for consent"
ends 0 "healthy, stopped" array status tank
ends 0 "1 R-group of 2+1" array create one --preset log-raid --raid 2+1 --create 64MiB o0 o1 o2
ends 0 "3 members are free" array destroy one --yes
json 0 '.size_bytes == 16777216' volume create tank/a --size 16MiB
ends 1 "exists already" volume create tank/a --size 16MiB
ends 1 "--shrink" volume resize tank/a --size 8MiB
ends 1 "add --yes" volume resize tank/a --size 8MiB --shrink
json 0 '.size_before_bytes == 16777216' volume resize tank/a --size 8MiB --shrink -y
ends 1 "no volume named" volume resize tank/b --size 8MiB
ends 1 "add --yes" volume delete tank/a
ends 0 "consistent" array check tank
json 0 '.consistent' array check tank --repair
ends 0 "superblock" array dump tank
json 0 '.lost_bytes == 0' array salvage tank/a a.img --map a.map
ends 1 "exists" array salvage tank/a a.img
ends 1 "is a member of array tank" array salvage tank/a d0 --force
ends 1 "no regular file" array salvage tank/a /dev/null --force
ends 1 "no volume" array salvage tank/b b.img
ends 0 "6 of 6 members" array scan .
ends 1 "no member of an array" array scan a-file
"$CYGNUS" array list >/dev/full 2>output && fail "a full standard output is success"
"$CYGNUS" array status tank | head -n 0

# Served.
serve
grep -Eq '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z ' server.log || fail "the log's lines have no time: $(head -n 3 server.log)"
for verb in "check tank" "dump tank" "forget tank" "destroy tank -y" "salvage tank/a x.img"; do
    # shellcheck disable=SC2086
    ends 1 "being served" array $verb
done
ends 1 "being served" serve tank
ends 0 "healthy, served" array status tank
json 0 '.state == "healthy" and .served' array status tank
json 0 '.arrays[0].served' array list
ends 0 "is done" array scrub tank --wait
json 0 '.report.lost == 0 and .job.state == "done"' array scrub tank --wait
ends 1 "no job" array cancel tank 4711
ends 1 "there is no member 99" array replace tank 99 n0 --create 64MiB
[[ ! -e n0 ]] || fail "a file was left behind by a refusal"
ends 1 "add --force" array replace tank 0 n0 --create 64MiB
ends 1 "no spare" array drain tank 0
json 0 '.kept' array spare add tank s0 --create 64MiB
ends 1 "" array spare add tank s0
json 0 '.spares | length == 1' array spare list tank
json 0 '.kept == false' array spare remove tank s0
json 0 '.groups[0].index == 2' array add tank n0 n1 n2 --create 64MiB
ends 1 "" array add tank n0 n1 n2
ends 1 "" array retire tank 9
ends 0 "is done" array retire tank 2 --wait
ends 1 "" array retire tank 2 --wait
# Meanwhile the server may put files there again.
for ((i = 0; i < 20; i++)); do rm -rf state 2>/dev/null && break; done
for ((i = 0; i < 100; i++)); do
    "$CYGNUS" array status tank >output 2>&1 && break
    sleep 0.1
done
ends 0 "healthy, served" array status tank
grep -q "had lost the control socket" server.log || fail "the lost state directory was not told of"

# Killed, with what was added meanwhile; stopped with SIGSTOP; cut short.
gone 9
ends 0 "stopped" array status tank
serve
"$CYGNUS" array add tank m0 m1 m2 --create 64MiB >output 2>&1 &
ADD=$!
sleep 0.0$((RANDOM % 9 + 1))
gone 9
wait "$ADD" && code=0 || code=$?
((code == 0 || code == 1 || code == 5)) || fail "array add with its server killed: ended with $code"
ends 0 "members found" array scan .
serve
ends 0 "healthy, served" array status tank
gone TERM
for line in "array check tank" "array salvage tank/a cut.img" "array check tank --repair"; do
    # shellcheck disable=SC2086
    timeout -s INT 0.05 "$CYGNUS" $line >output 2>&1 </dev/null || true
done
ends 0 "consistent" array check tank

# A group that is added to the stopped array gets the number of one that has left.
ARRAY=two
ends 0 "" array create two --preset salsa --raid 1+1 --create 64MiB p0 p1 p2 p3
serve
ends 0 "is done" array retire two 0 --wait
gone TERM
json 0 '.groups[0].index == 0' array add two q0 q1 --create 64MiB
jq -Rse 'split("\n") | map(select(startswith("path"))) | length == 4 and (unique | length == 4)' state/two.toml >/dev/null ||
    fail "members are remembered twice: $(cat state/two.toml)"
ends 0 "consistent" array check two
json 0 '[.devices[].path | split("/") | last] == ["q0", "q1", "p2", "p3"]' array status two
serve
ends 0 "healthy, served" array status two
gone TERM
ends 0 "consistent" array check two
ends 0 "4 members are free" array destroy two --yes
ARRAY=tank

# Members that go, one by one.
mv d1 away
ends 3 "degraded" array status tank
json 3 '.state == "degraded"' array status tank
ends 3 "degraded" array check tank
truncate -s 5M d4
ends 3 "truncated; it takes no part" array status tank
mv d2 away2
ends 4 "failed" array status tank
json 4 '.state == "failed"' array status tank
ends 4 "lacks" array check tank
ends 4 "lacks" serve tank
ends 4 "lacks" volume create tank/c --size 1MiB
json 4 '.error' volume create tank/c --size 1MiB
rm -f d? m? n? s0 away away2
ends 4 "array forget tank" array status tank
json 0 '.array == "tank"' array forget tank
ends 1 "knows no array" array forget tank
json 0 '.arrays == []' array list

# One that was away, and then another one that does not come back: the first is re-admitted by force.
ends 0 "" array create tank --preset log-raid --raid 2+1 --create 64MiB d0 d1 d2
ends 0 "" volume create tank/a --size 8MiB
mv d0 away
serve
gone 9
mv away d0
mv d1 away
ends 4 "re-admit $DIR/d0 by force" serve tank
ends 4 "array check tank" array status tank
ends 4 "can be read" array check tank
json 4 '.readmission.members[0].index == 0 and .readmission.volumes[0].volume == "a"' array check tank
ends 1 "add --yes" serve tank --force
serve --force --yes
ends 3 "degraded" array status tank
gone TERM
ends 3 "degraded" array check tank
rm -f d? away
ends 0 "" array forget tank

# Everything else, and the help of all of it.
ends 0 "R-groups" plan --network 10Gbit --device 850-pro --utilisation 60%
json 0 '.' plan --network 10Gbit --device 850-pro --utilisation 60%
ends 2 "" plan --network 10Gbit --device no-such-drive --utilisation 60%
ends 2 "" plan --network 99999999999999999999Gbit --device 850-pro
json 0 '.' sim list
ends 2 "no-such" sim run no-such
json 0 '.experiments | length > 10' lab list
json 0 '.' trace list
ends 0 "requests" trace synth proxy0 --requests 100 --out t.csv
ends 1 "exists" trace synth proxy0 --requests 100 --out t.csv
ends 2 "" trace synth proxy0 --requests 100 --out u.csv --size 99EiB
json 0 '.' trace stat t.csv
ends 1 "" trace stat /nowhere
for shell in bash zsh fish elvish powershell; do ends 0 "cygnus" completions "$shell"; done
"$CYGNUS" completions bash | bash -n || fail "the completions are no bash"
ends 0 "cygnus" man
ends 0 "" man --out man
ends 1 "" man --out /proc/nowhere
for topic in options config values exit-status destroying; do ends 0 "" help "$topic"; done
ends 2 "no topic" help nonsense
pages=0
for page in man/*.1; do
    words=$(basename "$page" .1)
    words=${words#cygnus}
    # The pages of commands whose names have a dash are those of `cygnus help` too.
    # shellcheck disable=SC2086
    ends 0 "Usage: cygnus" help ${words//-/ }
    lines=$(wc -l <output)
    ((lines <= 120)) || fail "the help of 'cygnus ${words//-/ }' has $lines lines"
    ((pages += 1))
done
((pages > 40)) || fail "only $pages commands have help"

echo "operator: $steps steps in $SECONDS s"
