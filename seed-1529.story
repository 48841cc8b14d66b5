# from seed 1529, by 341 runs; ends with: the check of the stopped array finds damage (header-lost): member 2 at byte 1052672: volume v2 lba 0 (bytes 0 on): the headers that lead to its stripe are lost; the other columns restore it: copy it away or write it anew
cygnus torture story 1
world 15210565892128144307
array swan groups 2 raid 1+2 chunk 1 stripe 2 segment 12 segments 22 parity rotated spare 200 reactors 1 spares 1
volume v2 blocks 1
cycle
  rest d0 lost
  open
  end clean
cycle
  open
  at 17 spare 0
  end clean
cycle
  open
  client v2 reactor 0
    write 323584 4096
  at 47098 d1 lost
  at 11639 spare 0
  at 78188 drain 2
  end clean
