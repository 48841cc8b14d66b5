cygnus torture story 1
world 18052172926403405925
array log-raid groups 1 raid 2+0 chunk 1 stripe 2 segment 8 segments 27 parity rotated spare 50 reactors 2
volume v0 blocks 1
cycle
  open
  client v0 reactor 0
    write 20480 4096
  client v0 reactor 1
    write 24576 4096
    flush 0 0
    write 20480 4096
  at 62870 trouble severed 5000000000 d0
  at 1249339 trouble unpowered 1500000000 d1
  end power-cut
