cygnus torture story 1
world 7852887347604218762
array salsa groups 2 raid 4+2 chunk 1 stripe 8 segment 18 segments 42 parity fixed spare 50 reactors 1 media flash,disk,disk disks 2+1 spares 2
volume v0 blocks 1654
keep v0 prefers disk
cycle
  open
  end clean
cycle
  rest d1 new
  open
  ruin v0 block 1938 columns 3
  ruin v0 block 910 columns 3
  client v0 reactor 0
    read 7307264 4096 pause 36915
  at 3333 d6 cannot-read 20000
  end power-cut
cycle
  open
  ruin v0 block 1038 columns 3
  ruin v0 block 941 columns 3
  client v0 reactor 0
    read 11112448 4096 pause 21936
  client v0 reactor 0
    write 9105408 233472
    read 10055680 4096 pause 28490
    read 13021184 4096 pause 20905
    write 3485696 4096 pause 20147
    read 3170304 4096 pause 48340
    read 4558848 4096 pause 19118
    write 13275136 4096 pause 1288
    read 13365248 4096 pause 354
  at 7622 d1 lost
  end power-cut
