cygnus torture story 1
world 12309869444114065915
array swan groups 2 raid 4+1 chunk 2 stripe 4 segment 17 segments 21 parity rotated spare 50 reactors 1
volume v0 blocks 360
volume v1 blocks 22
cycle
  rest d5 lost
  open stale
  scrub
  scrub at 1478
  client v0 reactor 0
    write 8192 49152 pause 14754
    write 8192 4096
  client v0 reactor 1
    write 20480 20480
  client v1 reactor 1
    write 8192 28672
  end power-cut 8
cycle
  open
  scrub at 1500
  client v0 reactor 0
    write 28672 32768 pause 13326
    write 933888 40960 pause 4156
    write 905216 53248 pause 4371
    write 1445888 28672 pause 33648
    write 20480 4096 pause 24516
    write 663552 57344 pause 19130
    write 1437696 36864 pause 6425
    write 8192 65536 pause 46230
    read 950272 53248 pause 49919
  client v0 reactor 1
    write 917504 28672 pause 5455
    write 565248 16384 pause 25017
    read 385024 45056 pause 19218
    write 1351680 49152 pause 33671
    read 0 8192 pause 39982
    write 1294336 65536 pause 30141
    write 561152 24576 pause 32273
    write 4096 16384 pause 31156
    write 589824 57344 pause 35511
    write 12288 36864 pause 25099
  client v1 reactor 0
    write 24576 36864 fua pause 25707
    write 0 49152 pause 41360
    read 0 61440 pause 28798
  at 0 d9 slow 1
  end power-cut 172
cycle
  open
  scrub
  end power-cut
