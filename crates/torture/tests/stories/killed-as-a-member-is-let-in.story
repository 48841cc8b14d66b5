# a member that was being let in is killed with the array before it got superblocks; ends with: it does not serve again as before: d1 is Missing
cygnus torture story 1
world 12025581963237023531
array log-raid groups 1 raid 1+2 chunk 1 stripe 1 segment 11 segments 25 parity rotated spare 200 reactors 1
volume v0 blocks 1
cycle
  open
  client v0 reactor 0
    write 4096 4096
    write 16384 4096 pause 277052
  at 639 trouble unpowered 50000000 d1
  end power-cut
cycle
  open
  end clean
cycle
  open
  end kill 59240
cycle
  open
  at 986 trouble unpowered 50000000 d1
  end clean
