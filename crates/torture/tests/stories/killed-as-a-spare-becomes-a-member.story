# from seed 9001162: killed as a spare becomes a member, before it got superblocks; ends with: it does not serve again as before: member 2 is Missing
cygnus torture story 1
world 7012007998136395583
array swan groups 2 raid 3+2 chunk 1 stripe 4 segment 18 segments 23 parity rotated spare 50 reactors 1 zoned 6 but 3 patches 256 spares 1
volume v0 blocks 18
cycle
  open cut 7
  at 442816 trouble severed 5000000000
  at 980826 spare 0
  end clean
cycle
  open
  end power-cut
cycle
  open
  client v0 reactor 0
    write 1835008 90112 pause 15337
    read 1007616 4096 pause 17278
  at 0 d8 slow 1
  at 1298 trouble full 1000000 d2 d7 d8 d9
  at 13 spare 0
  end kill 2368388 power-cut
