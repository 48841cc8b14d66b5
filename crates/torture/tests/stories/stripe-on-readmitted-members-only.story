cygnus torture story 1
world 13231789272481612451
array log-raid groups 1 raid 3+2 chunk 2 stripe 4 segment 23 segments 26 parity fixed spare 400 reactors 1
volume v0 blocks 647
cycle
  open
  create v1 blocks 146
  client v0 reactor 0
    write 1609728 184320
    write 548864 253952
    write 913408 253952
  at 0 d4 slow 20
  at 55527 d1 fails-writes
  at 2136 d3 fails-writes
  end kill 858682
cycle
  open cut 138
  force without d2 d0
  delete v1
  at 0 d1 slow 1
  end clean
