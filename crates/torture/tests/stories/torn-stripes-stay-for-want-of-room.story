# from seed 30029, by 4366 runs; ends with: the check of the stopped array finds damage (data): d8 at byte 2928640: a slot that was never filled is not what was written: it is not in use, but the parity of its row counts on it; cleaning will move its neighbours away
cygnus torture story 1
world 11152283496876019431
array salsa groups 2 raid 6+1 chunk 2 stripe 4 segment 11 segments 35 parity rotated spare 50 reactors 1 media disk,flash
volume v0 blocks 787
level v0 written
keep v0 only flash
cycle
  open
  client v0 reactor 0
    write 3006464 40960
    write 1228800 32768
    write 704512 49152
    write 454656 4096
    write 1527808 57344
    write 737280 32768
    write 0 40960
    write 2129920 8192
    write 2547712 45056
    write 139264 61440
    write 2633728 45056
    write 110592 24576
    write 360448 45056
    write 2670592 36864
    write 8192 40960
    write 2818048 32768
    write 2449408 12288
    write 1789952 36864
    write 2068480 53248
    write 1654784 65536
    write 675840 49152
    write 303104 4096
    write 790528 40960
    write 557056 8192
    write 299008 4096
    write 1187840 8192
    write 2707456 53248
    write 421888 36864
    write 1441792 61440
    write 602112 16384
    write 1675264 16384
    write 729088 32768
    write 761856 36864
    write 1286144 53248
    write 2027520 28672
    write 790528 40960
    write 20480 4096
    write 2502656 8192
    write 1458176 8192
    write 1769472 36864
    write 1597440 49152
    write 2121728 36864
    write 3010560 4096
    write 466944 49152
    write 1277952 65536
    write 1167360 53248
    write 1228800 57344
    write 3215360 8192
    write 1937408 49152
    write 2248704 57344
    write 2064384 40960
    write 0 61440
    write 446464 45056
    write 36864 53248
    write 2121728 28672
    write 2711552 20480
    write 282624 61440
    write 1892352 20480
  end power-cut
cycle
  open
  client v0 reactor 0
    write 106496 4096
    write 2011136 45056
    write 3158016 4096
    write 16384 53248
    write 397312 8192
    write 1658880 28672
    write 614400 4096
    write 937984 28672
    write 2629632 12288
    write 12288 4096
    write 2822144 61440
    write 696320 4096
    write 1728512 40960
    write 2945024 28672
    write 2887680 32768
    write 2568192 40960
    write 1048576 40960
    write 28672 40960
    write 3125248 20480
    write 36864 28672
    write 966656 12288
    write 598016 4096
    write 2174976 24576
    write 2879488 36864
    write 651264 4096
    write 1798144 36864
    write 8192 61440
    write 462848 49152
    write 1110016 4096
    write 1822720 57344
    write 667648 53248
    write 212992 4096
    write 1671168 65536
    write 417792 61440
    write 94208 61440
    write 1753088 40960
    write 1732608 16384
    write 1904640 57344
    write 876544 65536
    write 2203648 4096
    write 1081344 4096
    write 2572288 57344
    write 2543616 53248
    write 172032 8192
    write 2678784 40960
    write 1937408 28672
    write 20480 16384
    write 2650112 45056
    write 1495040 57344
    write 8192 40960
    write 1904640 24576
    write 1167360 24576
    write 2945024 36864
    write 1093632 20480
    write 1761280 53248
    write 557056 4096
    write 2981888 4096
    write 1527808 12288
    write 2334720 12288
    write 2215936 57344
    write 2469888 4096
    write 1830912 32768
    write 425984 4096
  at 14366 trouble away 5000000000 d7 d8 d10 d11 d12 d13
  end power-cut
