# from seed 541, by 80 runs; ends with: d1 at byte 0: Medium (errno 0)
cygnus torture story 1
world 8795127666093747765
array swan groups 2 raid 6+2 chunk 1 stripe 16 segment 54 segments 29 parity rotated spare 400 reactors 2
volume v0 blocks 1
cycle
  rest d1 cannot-read 2000
  open
  end clean
