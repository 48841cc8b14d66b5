cygnus torture story 1
world 14832515674467070631
array log-raid groups 1 raid 1+1 chunk 1 stripe 2 segment 12 segments 33 parity rotated spare 50 reactors 1
volume v0 blocks 4
cycle
  open
  client v0 reactor 0
    write 172032 16384
    write 303104 4096 pause 26745
    write 0 8192 pause 35208
  at 0 d0 slow 20
  end power-cut
cycle
  rest d1 lost
  open stale
  end clean
