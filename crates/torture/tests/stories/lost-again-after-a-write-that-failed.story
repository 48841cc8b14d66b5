cygnus torture story 1
world 15251357661138348871
array log-raid groups 1 raid 1+0 chunk 1 stripe 16 segment 38 segments 36 parity rotated spare 200 reactors 1 zoned 19 but 1 patches 256
volume v2 blocks 75
cycle
  open
  client v2 reactor 0
    write 954368 4096
    write 126976 253952
    write 698103 35377
  at 349014 trouble unpowered 1500000000 d0
  end clean
cycle
  open
  client v2 reactor 0
    write 39053 149712
  at 735068 trouble unpowered 20000000000 d0
  end clean
