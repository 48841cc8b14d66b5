# A file system on the volume, mounted through nbdfuse and a loop device, and a server killed under it. Sourced after common.sh.
#
# Two kinds of files must survive: the tree copied and synced before, and every file whose fsync returned before the kill.

TREE=${TREE:-/usr/share/perl}
MOUNT=$DIR/mnt FUSE=$DIR/disk LOOP= NBDFUSE=

# mounted PATH: asks the kernel's list. mountpoint(1) would ask the mount itself, which answers errors once its server is dead.
mounted() { grep -qF " $1 " /proc/mounts; }

need_filesystem() {
    need nbdinfo nbdfuse fusermount3 losetup "mkfs.$1" "$2"
    [[ $EUID == 0 ]] || skip "mounting needs root"
    [[ -e /dev/fuse && -e /dev/loop-control ]] || skip "no /dev/fuse or no loop devices here"
    [[ $TARGET != nbdkit-memory ]] || skip "memory does not survive a kill"
}

# attach: $LOOP becomes the volume.
attach() {
    touch "$FUSE"
    nbdfuse -C 4 "$FUSE" "$URI" >>"$DIR/nbdfuse.log" 2>&1 &
    NBDFUSE=$!
    disown "$NBDFUSE" # it may abort when its server is killed, which is not ours to report
    local i
    for ((i = 0; i < 200; i++)); do
        mounted "$FUSE" && break
        sleep 0.05
    done
    mounted "$FUSE" || fail "nbdfuse does not mount: $(tail -n 3 "$DIR/nbdfuse.log")"
    LOOP=$(losetup --show -f --direct-io=on -b 4096 "$FUSE")
}

# detach: however much of it is still there, from the top down.
detach() {
    if mounted "$MOUNT"; then umount "$MOUNT" || umount -l "$MOUNT"; fi
    if [[ -n $LOOP ]]; then losetup -d "$LOOP" 2>/dev/null || true; fi
    LOOP=
    if mounted "$FUSE"; then umount "$FUSE" 2>/dev/null || umount -l "$FUSE"; fi
    local i
    for ((i = 0; i < 40; i++)); do
        kill -0 "$NBDFUSE" 2>/dev/null || return 0
        sleep 0.05
    done
    kill -9 "$NBDFUSE" 2>/dev/null || true
}

# write_files: writes, overwrites and removes files for ever, and notes in $DIR/fsynced what fsync has promised.
# A name is struck out in the notes before its file is touched again, so the notes never claim too much.
write_files() {
    /usr/bin/python3 - "$MOUNT/work" "$DIR/fsynced" <<'P'
import hashlib, os, random, sys

folder, notes = sys.argv[1:]
rng = random.Random()
out = open(notes, "a", buffering=1)
try:
    for i in range(10**9):
        name = f"f{rng.randrange(400)}"
        path = os.path.join(folder, name)
        content = rng.randbytes(rng.choice([100, 5000, 70000, 900000]))
        out.write(f"{name} -\n")
        with open(path + ".new", "wb") as f:
            f.write(content)
            if i % 3 == 0:
                os.posix_fallocate(f.fileno(), len(content), 300000)
                f.truncate(len(content))
            f.flush()
            os.fsync(f.fileno())
        os.rename(path + ".new", path)
        directory = os.open(folder, os.O_RDONLY)
        os.fsync(directory)
        os.close(directory)
        out.write(f"{name} {hashlib.sha256(content).hexdigest()}\n")
except OSError:
    pass  # the server was killed: what was promised before still holds
P
}

# verify_fsynced: the last note on each name is what its file contains; prints how many files were promised.
verify_fsynced() {
    /usr/bin/python3 - "$MOUNT/work" "$DIR/fsynced" <<'P'
import hashlib, os, sys

folder, notes = sys.argv[1:]
promised = {}
for line in open(notes):
    name, _, digest = line.rstrip("\n").partition(" ")
    promised[name] = digest
promised = {n: d for n, d in promised.items() if len(d) == 64}
for name, digest in promised.items():
    try:
        content = open(os.path.join(folder, name), "rb").read()
    except OSError as e:
        raise SystemExit(f"FAIL: {name} was fsynced and is not there: {e}")
    if hashlib.sha256(content).hexdigest() != digest:
        raise SystemExit(f"FAIL: {name} was fsynced and reads back different")
print(len(promised))
P
}

# filesystem_survives MKFS-COMMAND CHECK-COMMAND: the whole story. CHECK is called with the loop device, unmounted, and must find nothing wrong.
filesystem_survives() {
    local make=$1 check=$2 round rounds=$((QUICK ? 1 : 4)) promised
    serve
    at_exit detach
    mkdir "$MOUNT"
    attach
    $make "$LOOP" >"$DIR/mkfs.log" 2>&1 || { cat "$DIR/mkfs.log" >&2 && fail "$make"; }
    mount "$LOOP" "$MOUNT"
    mkdir "$MOUNT/work"
    cp -a "$TREE" "$MOUNT/tree"
    (cd "$TREE" && find . -type f -exec sha256sum {} +) >"$DIR/tree.sums"
    sync -f "$MOUNT"
    for ((round = 1; round <= rounds; round++)); do
        write_files &
        local writer=$!
        sleep $((1 + RANDOM % 3)).$((RANDOM % 10))
        kill9
        # The file system notices, and so does the writer. Whatever is dirty in the page cache is lost, as in a crash.
        wait "$writer" || true
        detach
        start
        attach
        mount "$LOOP" "$MOUNT" # replays the journal
        umount "$MOUNT"
        $check "$LOOP" >"$DIR/fsck.log" 2>&1 || { tail -n 20 "$DIR/fsck.log" >&2 && fail "round $round: $check finds damage"; }
        mount "$LOOP" "$MOUNT"
        (cd "$MOUNT/tree" && sha256sum --quiet -c "$DIR/tree.sums") || fail "round $round: the synced tree is damaged"
        promised=$(verify_fsynced)
        ((promised > 0)) || fail "round $round: nothing was fsynced before the kill, so nothing was proved"
        say "round $round: fsck clean, $(wc -l <"$DIR/tree.sums") files of the tree and $promised fsynced files intact"
        fstrim "$MOUNT" 2>/dev/null || true
    done
    detach
    stop
}
