cygnus torture story 1
world 2714968405763844444
array serial groups 3 raid 1+2 chunk 2 stripe 2 segment 10 segments 18 parity rotated spare 400 reactors 1 cleaning cost-benefit transient 60 converts 1
volume v0 blocks 23
volume v1 blocks 23
cycle
  open
  client v0 reactor 0
    write 53248 4096
    write 16384 16384
    write 57344 12288
    write 8192 12288
    write 12288 8192
    write 69632 16384
    write 4096 12288
  client v1 reactor 0
    write 20480 4096
    write 0 4096
    write 24576 4096
    write 12288 12288
    flush 0 0
    write 24576 4096
    write 12288 16384
    flush 0 0
    write 4096 16384
    write 20480 4096
    flush 0 0
    write 16384 16384
    write 12288 4096
    flush 0 0
    write 28672 16384
    flush 0 0
    write 20480 4096
    flush 0 0
    write 28672 16384
    write 0 12288
    write 73728 8192
    write 12288 16384
    write 20480 4096 fua
    write 8192 16384
    write 12288 8192
    flush 0 0
    write 0 8192
    flush 0 0
    write 81920 8192
    write 77824 4096
    write 0 8192
    write 12288 12288
    write 24576 4096
    write 0 4096
    flush 0 0
    write 65536 4096
    write 24576 12288
    write 81920 8192
    write 49152 12288
    write 40960 12288
    write 36864 8192
    write 8192 12288
    flush 0 0
    write 28672 8192 fua
    write 16384 16384
    write 24576 16384
    write 16384 4096
    flush 0 0
    write 16384 16384
    write 86016 4096
    write 12288 16384
    flush 0 0
    flush 0 0
    write 12288 8192
    flush 0 0
    flush 0 0
    write 81920 12288
    flush 0 0
    write 28672 16384
    flush 0 0
    flush 0 0
    write 28672 8192
    write 45056 16384
    write 12288 12288
    flush 0 0
    write 20480 8192
    write 69632 16384
    flush 0 0
    write 24576 8192
    write 53248 12288
    write 20480 4096
    write 20480 4096 fua
    write 8192 16384
    write 4096 12288
    flush 0 0
    write 49152 4096
    write 61440 12288
    write 12288 8192
    write 24576 12288
    flush 0 0
    flush 0 0
    write 16384 16384
    flush 0 0
    write 28672 12288
    write 77824 8192
    write 40960 4096
    write 45056 8192
    write 90112 4096
    flush 0 0
    write 40960 8192
    write 0 16384
    write 12288 4096
    write 16384 8192
    write 16384 8192
    write 24576 12288
    flush 0 0
    write 0 4096
    write 20480 4096
    write 8192 8192
    write 0 8192
    write 20480 12288
    write 20480 16384
    write 16384 8192
    write 16384 12288
    write 16384 12288
    write 32768 8192
    flush 0 0
    flush 0 0
    write 24576 16384
    write 69632 4096
    write 12288 16384
    write 12288 8192
    flush 0 0
    write 45056 16384
    write 24576 12288
  end power-cut
cycle
  open
  client v1 reactor 0
    write 12288 4096
  at 0 d4 slow 1
  at 3383521 trouble unpowered 900000000 d5 d6 d7 d8
  at 698 trouble unpowered 5000000000 d2 d3 d4 d5
  end clean
