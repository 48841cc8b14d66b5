cygnus torture story 1
world 15563821208626191559
array log-raid groups 1 raid 3+2 chunk 1 stripe 2 segment 12 segments 28 parity rotated spare 400 reactors 1
volume v0 blocks 1
cycle
  open
  at 0 d3 slow 100
  end clean
cycle
  open
  client v0 reactor 0
    write 520192 4096
    flush 0 0
    zero 585728 4096
    flush 0 0
  at 26290902 d4 fails-writes
  at 103961 d2 fails-writes
  end power-cut
cycle
  open
  force without d0 d3
  end clean

