# from seed 6309, by 815 runs; ends with: the array cannot be opened: group 1 lacks member 9 (0366aec5-8467-4a5d-aa8e-b2a110934280) and its parity covers 0: bring back at least 1; d14 holds nothing; d13 is stale: it is an old copy of a device that was being rebuilt, or was a spare; it stays out of service: replace member 9 by it, or by another device; d9 was replaced by another device and is left out
cygnus torture story 1
world 7735014688920956751
array swan groups 2 raid 6+0 chunk 4 stripe 16 segment 52 segments 18 parity rotated spare 50 reactors 2 spares 3
volume v0 blocks 2784
cycle
  open
  client v0 reactor 1
    write 5277184 12288 fua
    write 19431424 12288 fua
    flush 0 0
    write 10208256 8704 fua
    write 671744 8192 fua
    write 8912896 4096 fua
    flush 0 0
    write 8511488 12288
    write 8404992 4096 fua
  at 0 d10 slow 1
  at 166 spare 0
  at 24 spare 1
  end kill 1034543
cycle
  open
  client v0 reactor 0
    write 24576 4096
  client v0 reactor 1
    write 21557248 4096
    flush 0 0
    write 4681728 4096
  at 27367 drain 9
  end power-cut 234
