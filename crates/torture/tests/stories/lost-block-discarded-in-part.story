cygnus torture story 1
world 11452368109926737839
array swan groups 2 raid 3+0 chunk 1 stripe 2 segment 15 segments 21 parity fixed spare 50 reactors 2
volume v0 blocks 1
cycle
  open
  create v2 blocks 105
  end clean
cycle
  open
  client v2 reactor 0
    write 192512 12288
    write 73728 28672 pause 20141
    write 376832 49152
    write 237568 28672 pause 29291
    write 199926 17297 pause 23026
    write 185344 10752
    write 26624 20992 pause 4051
    write 359247 22873 pause 46930
    write 225280 35328 pause 47594
    write 393216 4096 pause 40996
    trim 23552 20480
  client v0 reactor 1
    write 514381914112 4096
    flush 0 0
    write 469878157312 4096 fua
  at 602677 trouble unpowered 50000000 d2
  end clean
