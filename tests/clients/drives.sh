# Software SSDs of $size each, served beside the array; all are killed when the test ends. Sourced after common.sh.

declare -A DRIVE

# drive NUMBER: serves the drive, made at its first time, and waits until it is ready.
drive() {
    rm -f "$DIR/s$1.out"
    "$CYGNUS" ssd serve "$DIR/s$1" --create "$size" --sparse --listen "unix:$DIR/s$1.sock" >"$DIR/s$1.out" 2>>"$DIR/s$1.log" &
    DRIVE[$1]=$!
    local i
    for ((i = 0; i < 200; i++)); do
        if grep -qs "^ready ssd:unix:" "$DIR/s$1.out"; then return; fi
        sleep 0.05
    done
    cat "$DIR/s$1.log" >&2
    fail "drive $1 is not ready after 10 s"
}
end_drives() { kill -9 "${DRIVE[@]}"; }
at_exit end_drives

# member NUMBER: the state of a member.
member() { cygnus "$DIR" --json array status tank | jq -r ".devices[] | select(.index == $1) | .state"; }

# wait_for MEMBER STATE SECONDS
wait_for() {
    local i
    for ((i = 0; i < $3 * 10; i++)); do
        if [[ $(member "$1") == "$2" ]]; then return; fi
        sleep 0.1
    done
    array_status "$DIR" >&2
    fail "member $1 is $(member "$1") and not $2 after $3 s"
}
