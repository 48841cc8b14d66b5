#!/usr/bin/env bash
# A member's file system gives no answer when the server is started: the log says for whom it waits, and then the array is served
# without that member. Afterwards the member is filled again.
. "$(dirname "$0")/common.sh"
need nbdfuse nbdkit fusermount3 nbdinfo qemu-io
only_on cygnus "the stand-ins have no members"
# Log-structured arrays share this code, and so do those in place: in a short run one of each shows it.
((!QUICK)) || [[ $PRESET == swan || $PRESET == raid5 ]] || { echo "N/A: swan and raid5 show it" >&2 && exit 78; }
[[ $RAID != *+0 ]] || { echo "N/A: it needs redundancy" >&2 && exit 78; }
serve
qemu-io -f raw -c "write -P 7 0 8M" -c flush "$URI" >/dev/null
stop

# The first member comes to lie on a file system that is a process.
mv "$DIR/d0" "$DIR/beneath"
mkdir "$DIR/fuse"
nbdfuse "$DIR/fuse/d0" [ nbdkit -f file "$DIR/beneath" ] >>"$DIR/server.log" 2>&1 &
FUSE=$!
at_exit 'kill -CONT "$FUSE"; fusermount3 -uz "$DIR/fuse"; wait "$FUSE"'
for ((i = 0; i < 200; i++)); do [[ -e $DIR/fuse/d0 ]] && break || sleep 0.05; done
[[ -e $DIR/fuse/d0 ]] || skip "nothing can be mounted here"
ln -s "$DIR/fuse/d0" "$DIR/d0"

kill -STOP "$FUSE"
began=$SECONDS
start
say "served after $((SECONDS - began)) s without the member that gives no answer"
grep -q "waiting for $DIR/d0: it has given no answer for 3 s" "$DIR/server.log" || fail "the log does not say what is waited for"
grep -q "$DIR/d0: it has given no answer for 15 s" "$DIR/server.log" || fail "the log does not say what was left out"
qemu-io -f raw -c "read -P 7 0 8M" -c "write -P 8 0 1M" "$URI" >/dev/null || fail "the array does not serve"
(array_status "$DIR" || true) | grep -qi degraded || fail "the status does not say that a member is missing"
kill -CONT "$FUSE"
kill -TERM "$SERVER" && wait "$SERVER" || fail "SIGTERM: the server ended with $?"
SERVER=
