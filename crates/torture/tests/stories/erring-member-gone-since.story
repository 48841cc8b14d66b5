# A member that left as its writes failed is without power later: its device has to be opened anew before it answers.
cygnus torture story 1
world 9678527984735415485
array swan groups 3 raid 2+2 chunk 1 stripe 4 segment 15 segments 18 parity rotated spare 50 reactors 1
volume v0 blocks 1
volume v1 blocks 91
cycle
  open
  client v1 reactor 0
    write 1253888 213504
    write 1015808 4096 fua
    write 1024 101376
    flush 0 0
  end power-cut 101
cycle
  open
  client v0 reactor 0
    write 925696 4096 fua
  at 18941 trouble err 50000000 d11
  at 68975 trouble unpowered 1500000000 d11
  end clean
