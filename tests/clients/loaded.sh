# A volume of 128 MiB under load: random writes that are read again, and servers that are killed under a client's writes. Sourced after
# common.sh; needs fio, and python3 with libnbd.

# verify IO_SIZE SEED: random writes with checksums, all read again.
verify() {
    fio --name=v --ioengine=nbd --uri="$URI" --rw=randwrite --bsrange=4k-256k --iodepth=8 --size=120m --io_size="$1" \
        --randseed="$2" --verify=crc32c --do_verify=1 --verify_fatal=1 --verify_state_save=0 --fsync=32 >"$DIR/fio" 2>&1 ||
        fail "fio: $(tail -20 "$DIR/fio")"
}

# kill_under_load ROUNDS: until the server is killed one client writes without a pause; what another had flushed before must be there
# afterwards.
kill_under_load() {
    local round load
    for ((round = 1; round <= $1; round++)); do
        python "$round" <<'P'
import sys
from client import *
h = connect()
for at in range(32):
    h.pwrite(data(100 * KIB, int(sys.argv[1]) * 100 + at), at * 4 * MIB)
h.flush()
P
        fio --name=load --ioengine=nbd --uri="$URI" --rw=randwrite --bs=16k --iodepth=16 --offset=1m --size=2m --time_based \
            --runtime=20 >"$DIR/load" 2>&1 &
        load=$!
        sleep 1
        kill9
        wait $load || true
        start
        python "$round" <<'P'
import sys
from client import *
h = connect()
for at in range(32):
    same(h, at * 4 * MIB, data(100 * KIB, int(sys.argv[1]) * 100 + at), f"write {at} of round {sys.argv[1]}")
P
    done
}
