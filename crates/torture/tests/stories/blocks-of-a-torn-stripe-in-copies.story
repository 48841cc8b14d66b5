cygnus torture story 1
world 13688464932653051499
array swan groups 3 raid 6+1 chunk 1 stripe 8 segment 21 segments 19 parity fixed spare 400 reactors 1 transient 96
volume v0 blocks 2885
cycle
  open
  client v0 reactor 0
    write 1495040 12288
    write 2928640 12288
    write 761856 12288
    write 45056 4096
    write 1085440 12288
    write 3293184 4096
    write 3436544 16384
    flush 0 0
    write 577536 4096
    write 3010560 4096
    flush 0 0
    write 3080192 8192
    write 2527232 8192
    write 3407872 4096
    write 2940928 12288
    flush 0 0
    write 319488 12288
    write 1630208 4096
    flush 0 0
    write 606208 4096
    write 1511424 16384
    write 1871872 16384
    write 1343488 12288
    write 1622016 4096
    write 2809856 4096
    write 1368064 8192
    write 1085440 12288
    flush 0 0
    write 1269760 16384
    write 2834432 16384
    write 2691072 8192
    write 1376256 8192 fua
    flush 0 0
    write 847872 16384
    write 3043328 4096
    write 970752 16384
    flush 0 0
    flush 0 0
    write 319488 8192
    write 2420736 12288
    flush 0 0
    write 1134592 8192
    write 28672 16384
    write 1273856 16384
    write 1159168 4096 fua
    flush 0 0
    write 1839104 8192
    flush 0 0
    write 1884160 8192
    write 2400256 8192 fua
    flush 0 0
    flush 0 0
    write 3145728 16384
    write 20480 16384
    write 307200 4096
    write 1040384 12288
    write 3330048 4096
    write 860160 8192
    flush 0 0
    flush 0 0
    write 1716224 8192
    write 2572288 16384
    write 1003520 4096 fua
    write 1970176 8192
    write 2424832 16384
    write 1400832 4096
    write 1421312 8192
    write 2678784 8192
    write 3354624 8192
    write 344064 12288
    write 1445888 8192
    write 1880064 4096
    write 2744320 8192
    write 1150976 16384
    write 3371008 16384
    write 3137536 8192 fua
    flush 0 0
    write 1437696 16384
    flush 0 0
    write 1024000 4096
  end power-cut 336
