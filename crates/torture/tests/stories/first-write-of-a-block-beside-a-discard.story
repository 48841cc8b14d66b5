cygnus torture story 1
world 10345065273414393695
array swan groups 2 raid 1+2 chunk 1 stripe 8 segment 38 segments 16 parity rotated spare 200 reactors 1
volume v0 blocks 1
volume v1 blocks 1
cycle
  open
  absent d4 until 17
  create v2 blocks 821
  client v0 reactor 0
    write 708608 4096
    write 1339392 4096
    write 2277376 4096
    write 3260416 4096
  client v1 reactor 0
    write 2453504 4096
    write 155648 4096
    write 1179648 4096
    flush 0 0
    write 3375104 4096
    write 3391488 4096
    write 290816 4096
    write 1908736 4096
    write 1855488 4096
    write 757760 4096
    write 2396160 4096
    write 1060864 4096
    write 3080192 4096
    flush 0 0
    flush 0 0
    write 2277376 4096
    write 2600960 4096
  client v2 reactor 0
    write 663552 4096
    flush 0 0
    write 757760 4096
    write 3272704 4096
    write 2928640 4096
    write 258048 4096
    write 1343488 4096
    write 561152 4096
    write 2375680 8192
    write 2908160 4096
    flush 0 0
    write 442368 4096
    write 8192 4096
  client v2 reactor 0
    write 1495040 16384
    write 1093632 12288
    write 1380352 8192
    flush 0 0
    write 2387968 12288
    write 1048576 4096
    write 16384 16384
    write 1404928 12288
    write 151552 12288
    write 2785280 12288
    write 2641920 4096
    flush 0 0
    trim 4096 12288
  end clean
