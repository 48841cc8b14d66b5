# from seed 7047, by 537 runs; ends with: the check of the stopped array finds damage (data): d2 at byte 2109440: a slot that was never filled is not what was written: it is not in use, but the parity of its row counts on it; cleaning will move its neighbours away
cygnus torture story 1
world 1466069997871755547
array log-raid groups 1 raid 2+1 chunk 1 stripe 8 segment 11 segments 30 parity rotated spare 200 reactors 1
volume v0 blocks 8
level v0 written
cycle
  open
  absent d2 until 3
  client v0 reactor 0
    write 118784 4096
    write 16384 4096
    write 0 4096
    write 110592 4096
    write 32768 4096
    write 102400 4096
    write 61440 4096
    write 3072 1024
  end power-cut
