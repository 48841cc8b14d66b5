# Salvage with a stale member, by headers alone, said that it knew all blocks.
cygnus torture story 1
world 7348750014423032294
array log-raid groups 1 raid 2+1 chunk 1 stripe 8 segment 37 segments 24 parity rotated spare 200 reactors 1 spares 1
volume v0 blocks 2
cycle
  open
  client v0 reactor 0
    write 2236416 53248
  at 50 d2 fails-some-writes 200000
  end clean
salvage without d0
