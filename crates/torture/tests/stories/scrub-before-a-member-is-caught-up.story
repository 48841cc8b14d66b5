# from seed 13551, by 1014 runs; ends with: the scrub gave up block 120 of v1 and block 120 at byte 1052672 of d2 has lost 1 of 4 columns, of which the parity covers 1
cygnus torture story 1
world 3297223186095354403
array log-raid groups 1 raid 3+1 chunk 1 stripe 8 segment 30 segments 29 parity fixed spare 400 reactors 1
volume v1 blocks 180
cycle
  open
  client v1 reactor 0
    write 483328 61440
  end clean
cycle
  rest d2 lost
  open
  ruin v1 block 120 columns 2
  end clean
cycle
  open stale
  scrub
  end clean
