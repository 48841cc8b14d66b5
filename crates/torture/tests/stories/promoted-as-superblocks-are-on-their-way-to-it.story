# from seed 12303089: a spare is promoted while superblocks are on their way to it; ended with a panic: what is on its way to d10 could land too late
cygnus torture story 1
world 10682461361514579022
array swan groups 2 raid 2+3 chunk 1 stripe 16 segment 19 segments 21 parity rotated spare 200 reactors 1 spares 1
volume v0 blocks 1
cycle
  rest d4 fails-some-writes 200000
  rest d8 lost
  open stale
  at 0 d4 slow 20
  at 13993 d4 full
  at 32 spare 0
  end kill 5674873 power-cut
