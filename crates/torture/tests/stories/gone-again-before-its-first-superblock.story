cygnus torture story 1
world 6731480573566425069
array serial groups 3 raid 1+1 chunk 1 stripe 16 segment 55 segments 27 parity rotated spare 50 reactors 1
volume v0 blocks 1
cycle
  open
  client v0 reactor 0
    write 1564672 4096
    flush 0 0
  at 51600 trouble unpowered 20000000000 d0
  end power-cut
cycle
  open
  end clean
cycle
  open
  at 8824 trouble unpowered 50000000 d0
  end clean
