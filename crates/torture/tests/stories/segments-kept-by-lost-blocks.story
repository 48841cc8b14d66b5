cygnus torture story 1
world 12082679182428896911
array swan groups 2 raid 2+1 chunk 1 stripe 2 segment 14 segments 22 parity rotated spare 50 reactors 1
volume v0 blocks 577
cycle
  open
  client v0 reactor 0
    write 0 36864 fua
    write 24576 4096 fua
    flush 0 0
    write 2297856 4096
    flush 0 0
    read 0 24576
    write 1249280 8192 fua
    write 1961984 57344
    write 8192 49152 fua
    write 28672 57344
    write 16384 40960
  client v0 reactor 0
    write 1437696 49152
    write 24576 24576
    write 1265664 53248
    write 4096 61440
    write 733184 4096
    write 2117632 36864
    write 208896 61440 fua
    write 4096 4096
    write 1785856 4096
    write 4096 4096 fua
    write 0 57344 fua
    write 1323008 28672
    write 0 65536
    write 1073152 24576
    write 2195456 61440
    write 8192 24576 fua
    write 331776 53248
    write 1146880 65536
    flush 0 0
    write 1961984 24576
    write 1576960 28672
    write 860160 49152
    flush 0 0
    write 606208 45056
    write 958464 57344
    write 12288 24576
    write 1753088 32768
    write 2260992 12288
    read 4096 4096
    write 241664 8192
    write 0 16384
    write 24576 28672
    write 24576 36864
    flush 0 0
    write 1888256 45056
    write 20480 57344
  at 11355 d2 lost
  end clean
cycle
  open
  force without d1
  client v0 reactor 0
    read 856064 61440
    write 2351104 4096
    write 24576 36864
    write 28672 40960
    flush 0 0
    write 1855488 4096
    write 12288 32768
    write 16384 57344
    write 12288 49152
    write 1359872 28672
    write 1478656 20480
    write 12288 16384
    write 2297856 4096 fua
    write 12288 28672 fua
    write 634880 45056
    write 12288 45056
    write 491520 49152
    write 4096 36864
    read 28672 16384
    write 446464 61440
    write 0 20480
  end clean
