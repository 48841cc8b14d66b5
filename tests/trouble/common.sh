# What every scenario needs: an array in a place that gets into trouble, served to a client that writes and verifies all the
# time, and the questions asked before, meanwhile and afterwards. Sourced.
#
# LONG=1: trouble lasts as long as it may. The rest is as for the client tests (tests/clients/common.sh).

. "$(dirname "${BASH_SOURCE[0]}")/../clients/common.sh"
LONG=${LONG:-0}
need fio jq nbdinfo
MEMBER_SIZE=${TROUBLE_MEMBER:-64MiB} VOLUME_SIZE=${TROUBLE_VOLUME:-80MiB}
# Where the members are, if not in $DIR; those that exist are used as they are.
PLACES=()
members() {
    if ((${#PLACES[@]} == 0)); then
        local i
        for ((i = 0; i < $(member_count); i++)); do echo "$1/d$i"; done
    else
        printf '%s\n' "${PLACES[@]}"
    fi
}
# As tests/target.sh has the shape of the preset.
member_count() { echo $((GROUP_COUNT * (${RAID%+*} + ${RAID#*+}))); }

# long_or SECONDS SECONDS: the first in the long mode.
long_or() { if ((LONG)); then echo "$1"; else echo "$2"; fi; }

# root REASON: skips loudly what only root may do.
need_root() { [[ $EUID == 0 ]] || skip "$1 needs root"; }

# Places of the volume in which the load writes by turns.
SPREAD=2

# pass NUMBER ARGS...: one pass of fio over one of these places. What it wrote stays until its turn comes again.
pass() {
    local n=$1
    shift
    fio --name=pass --ioengine=nbd --uri="$URI" --rw=randwrite --bsrange=4k-64k --iodepth=8 --randseed="$n" --fsync=40 \
        --offset=$((n % SPREAD * 8))M --size=8M --rate=8m,8m --verify=crc32c --do_verify=1 --verify_fatal=1 --end_fsync=1 \
        --output="$DIR/fio.$n" "$@" >>"$DIR/fio.log" 2>&1 ||
        { { echo "pass $n:" && tail -n 20 "$DIR/fio.$n" "$DIR/fio.log"; } >&2 && return 1; }
}

# load: writes and verifies until `load_ends`.
load() {
    rm -f "$DIR/enough"
    passes &
    LOAD=$!
    at_exit "touch $DIR/enough; kill $LOAD; pkill -P $LOAD"
    until_passes 1 60
}

passes() {
    trap - EXIT
    local n
    for ((n = 1; ; n++)); do
        pass "$n" || { touch "$DIR/fio-failed" && return 1; }
        echo "$n" >"$DIR/passes"
        if [[ -e $DIR/enough ]]; then return; fi
    done
}

passed() { cat "$DIR/passes" 2>/dev/null || echo 0; }
alive() { [[ ! -e $DIR/fio-failed ]] || fail "fio gave up $1"; }

# until_passes NUMBER SECONDS: until so many passes have ended.
until_passes() {
    local i
    for ((i = 0; i < $2 * 5; i++)); do
        alive "early"
        if (($(passed) >= $1)); then return; fi
        sleep 0.2
    done
    fail "fio has ended $(passed) passes after $2 s, not $1"
}

# load_ends SECONDS: the pass that was under way must end well.
load_ends() {
    touch "$DIR/enough"
    local i
    for ((i = 0; i < $1 * 5; i++)); do
        kill -0 "$LOAD" 2>/dev/null || break
        sleep 0.2
    done
    alive "in the end"
    kill -0 "$LOAD" 2>/dev/null && fail "fio still waits $1 s after the trouble has passed"
    say "fio wrote and verified $(passed) times"
}

# verified WHEN: the last two passes are there, as they were written.
verified() {
    local last n
    last=$(passed)
    for n in $((last - 1)) "$last"; do
        ((n == 0)) || pass "$n" --verify_only=1 || fail "$1: what fio wrote is not there"
    done
}

# status: what `array status` says, whatever its exit status, in $DIR/status; it must answer.
status() {
    local code=0
    timeout 20 "$CYGNUS" --state "$DIR/state" array status tank "$@" >"$DIR/status" 2>&1 || code=$?
    ((code != 124)) || fail "array status hangs"
}

# says TEXT SECONDS: `array status` must come to say it within so long.
says() {
    local i
    for ((i = 0; i < $2 * 4; i++)); do
        status
        if grep -qF -- "$1" "$DIR/status"; then return; fi
        alive "while '$1' was expected"
        sleep 0.25
    done
    cat "$DIR/status" >&2
    fail "array status does not say '$1' after $2 s"
}

# never_said TEXT: what must not be in the log of the server.
never_said() {
    if grep -F -- "$1" "$DIR/server.log" >&2; then fail "the server's log says '$1'"; fi
}

# healthy SECONDS: until every member is in service, nobody is awaited and no job runs. Nobody does anything for that.
healthy() {
    local i
    for ((i = 0; i < $1 * 4; i++)); do
        status --json
        if jq -e '.state == "healthy" and .suspended == null and ([.devices[].state == "online"] | all)
            and ([.jobs[]?.state == "running"] | any | not)' "$DIR/status" >/dev/null 2>&1; then return; fi
        alive "while the array was to get well"
        sleep 0.25
    done
    status && cat "$DIR/status" >&2
    fail "not healthy $1 s after the trouble has passed"
}

# well: the trouble has passed. The array gets well by itself, and all that was written is there: at once, after a clean stop,
# and after a kill.
well() {
    healthy "${1:-90}"
    alive "when the trouble had passed"
    load_ends 120
    verified "afterwards"
    stop
    start
    healthy 30
    verified "after a clean stop"
    pass 1001 || fail "fio after everything"
    kill9
    start
    healthy 60
    verified_after_kill
    stop
    never_said panicked
}

verified_after_kill() {
    local last
    last=$(passed)
    # Pass 1001 has replaced what an odd one wrote.
    ((last % 2 == 0)) || last=$((last - 1))
    for n in $last 1001; do
        ((n == 0)) || pass "$n" --verify_only=1 || fail "after a kill: what fio wrote is not there"
    done
}
