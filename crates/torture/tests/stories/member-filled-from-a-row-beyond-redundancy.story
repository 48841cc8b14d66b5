cygnus torture story 1
world 18242075493013344602
array log-raid groups 1 raid 4+1 chunk 1 stripe 8 segment 29 segments 25 parity rotated spare 400 reactors 1
volume v0 blocks 21
cycle
  rest d4 lost
  open
  client v0 reactor 0
    write 45056 4096
    write 147456 16384
  end clean
cycle
  open
  ruin v0 block 11 columns 2
  end clean
cycle
  open stale
  scrub
  end clean
