# from seed 700164, by 1698 runs; ends with: the array cannot be opened: group 1 lacks member 2 (9434cc6e-8327-45f3-b0f5-c7a772bdb150), member 3 (d23694c7-a517-4bce-b431-1c0da1a77fd0) and its parity covers 1: bring back at least 1
cygnus torture story 1
world 6190352037228733468
array serial groups 3 raid 1+1 chunk 1 stripe 8 segment 32 segments 22 parity rotated spare 400 reactors 1
volume v0 blocks 696
cycle
  open
  end power-cut
cycle
  open
  client v0 reactor 0
    write 1753088 57344
    write 684032 49152
    write 2682880 4096
  client v0 reactor 0
    write 327680 65536
    write 2654208 36864
    write 81920 45056
  end kill 36661
cycle
  open
  client v0 reactor 0
    write 2232320 4096 fua
    write 364544 45056
    write 2371584 53248
    write 954368 53248
    write 1826816 53248
    write 614400 4096 fua
    read 2347008 40960
    write 266240 61440
  client v0 reactor 0
    write 1167360 16384 fua
    write 1249280 16384
    write 323584 32768 fua
    write 684032 53248
    write 2834432 4096
    write 1671168 28672 fua
    write 2375680 4096 fua
    write 1425408 61440
    write 737280 32768
    write 1732608 20480
    write 2805760 20480
    read 94208 4096
    read 352256 12288
    write 2465792 40960
  client v0 reactor 0
    read 1724416 57344
    write 1273856 28672
    write 397312 32768
    write 1163264 40960
    write 696320 20480
    write 2564096 4096 fua
    write 1286144 24576
    write 2396160 57344
    write 229376 61440
  at 2266680 trouble full 50000000 d2 d3 d5
  end clean cut 11714
