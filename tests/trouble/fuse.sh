# Members on FUSE: each a file that nbdfuse shows and nbdkit keeps. Sourced after common.sh.

# fuse_member INDEX: begins to show member INDEX, whose contents outlive both programs.
fuse_member() {
    local i=$1
    [[ -e $DIR/kept$i ]] || truncate -s "$(bytes "$MEMBER_SIZE")" "$DIR/kept$i"
    touch "$DIR/fuse$i"
    # 4 connections, so that not each request waits for the one before.
    nbdfuse -C 4 "$DIR/fuse$i" --command nbdkit -s file "$DIR/kept$i" >>"$DIR/nbdfuse.log" 2>&1 &
    FUSE[i]=$!
    disown "${FUSE[i]}"
    at_exit "kill -9 ${FUSE[i]}; umount -l $DIR/fuse$i"
    local n
    for ((n = 0; n < 100; n++)); do
        if grep -qF " $DIR/fuse$i " /proc/mounts && [[ -s $DIR/fuse$i ]]; then return; fi
        sleep 0.05
    done
    fail "nbdfuse does not show a member: $(tail -n 3 "$DIR/nbdfuse.log")"
}

# with_fuse_members INDEX...: an array whose members of these numbers lie on FUSE.
with_fuse_members() {
    need nbdfuse nbdkit fusermount3
    need_root "/dev/fuse"
    [[ -e /dev/fuse ]] || skip "there is no /dev/fuse"
    FUSE=()
    local i
    for ((i = 0; i < $(member_count); i++)); do PLACES+=("$DIR/d$i"); done
    for i; do
        fuse_member "$i"
        PLACES[i]=$DIR/fuse$i
    done
}
