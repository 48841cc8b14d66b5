cygnus torture story 1
world 14052917330767468662
array swan groups 2 raid 1+0 chunk 1 stripe 8 segment 36 segments 18 parity rotated spare 200 reactors 1
volume v0 blocks 9
cycle
  open
  client v0 reactor 0
    write 12288 4096
    zero 24576 4096
    write 65536 4096
    write 2445312 4096
    write 0 4096
    write 2158592 4096
    write 20480 4096
    write 397312 4096
    write 4096 4096
  end power-cut
cycle
  open
  ruin v0 block 40 columns 1
  ruin v0 block 3 columns 1
  at 0 d1 slow 100
  end clean
cycle
  open
  scrub
  end clean
