# from seed 10590, by 85 runs; ends with: drain 2: d3 left service at the end
cygnus torture story 1
world 6417852359327933502
array swan groups 3 raid 1+0 chunk 1 stripe 4 segment 13 segments 20 parity rotated spare 50 reactors 1 spares 1
cycle
  open
  at 354 retire 2
  at 14 spare 0
  at 16 drain 2
  end clean
