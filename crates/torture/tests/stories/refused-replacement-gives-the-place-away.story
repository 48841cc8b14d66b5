# from seed 1334, by 81 runs; ends with: a panic, which is always a bug:
cygnus torture story 1
world 12440895897440496535
array swan groups 2 raid 1+2 chunk 1 stripe 4 segment 22 segments 28 parity fixed spare 400 reactors 1 spares 1
cycle
  rest d1 new
  open
  at 14 replace 1
  at 223 replace 1
  at 3594 spare 0
  end clean
