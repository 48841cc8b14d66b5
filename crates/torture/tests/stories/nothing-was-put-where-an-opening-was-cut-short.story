cygnus torture story 1
world 16477262992504260727
array swan groups 2 raid 2+2 chunk 1 stripe 4 segment 21 segments 29 parity rotated spare 400 reactors 1
volume v0 blocks 347
volume v1 blocks 347
cycle
  open
  client v0 reactor 0
  client v0 reactor 0
    write 4096 20480
    trim 24576 40960
    flush 0 0
    read 4096 53248
    write 12288 65536
    flush 0 0
    write 589824 36864
    write 8192 16384
    write 118784 53248
    write 12288 12288
    write 4096 45056 fua
    flush 0 0
    write 0 65536 fua
    write 8192 8192 fua
    trim 1232896 20480
    read 561152 12288
    write 98304 24576
    read 0 4096
    trim 20480 24576
    write 622592 36864
    flush 0 0
    flush 0 0
    write 16384 32768
    read 749568 4096
    write 978944 36864
    write 221184 53248
    flush 0 0
    flush 0 0
    write 466944 53248
    flush 0 0
    write 1064960 45056 fua
    trim 790528 20480
    write 598016 20480 fua
    write 503808 20480 fua
    write 0 28672
    write 16384 20480
    write 16384 45056
    write 8192 24576
    write 20480 61440
    read 20480 4096
    write 0 61440
    flush 0 0
    read 438272 12288
    write 36864 32768 fua
    write 24576 65536
    write 929792 40960
    write 16384 45056
    write 733184 20480
    read 90112 45056
    flush 0 0
    write 466944 24576 fua
    flush 0 0
    read 0 45056
    write 24576 45056
    read 81920 4096
    write 12288 36864 fua
    write 299008 57344
    write 69632 12288
    flush 0 0
  client v1 reactor 0
    write 0 65536
    write 1138688 16384
    write 1118208 57344 fua
    flush 0 0
    trim 28672 8192
    write 1159168 53248 fua
    write 491520 57344
    write 274432 8192 fua
    read 503808 12288
    read 20480 53248
    trim 147456 65536
    flush 0 0
    flush 0 0
    write 24576 20480
    write 540672 32768 fua
    write 1060864 28672
    write 712704 36864
    write 24576 45056
    write 536576 57344
    trim 20480 12288
    read 1241088 57344
    write 81920 32768
    write 24576 53248
    read 20480 4096
    write 1126400 8192
    write 8192 61440 fua
    write 1028096 61440
    write 638976 8192 fua
    write 974848 12288
    write 16384 40960
    write 20480 12288
    read 28672 24576
    write 434176 12288
    read 532480 61440
    flush 0 0
    write 565248 32768
    trim 28672 36864
    write 196608 4096 fua
    read 901120 4096
    write 716800 45056
    write 24576 57344 fua
    read 155648 4096
    flush 0 0
    write 16384 8192
    write 1417216 4096
    write 81920 49152
    write 835584 24576
    write 159744 49152
    read 1245184 40960
    write 65536 40960
    write 24576 20480 fua
    write 1089536 28672
    write 1310720 57344
    write 28672 45056
    read 1138688 20480
    write 32768 20480
    write 0 49152 fua
    flush 0 0
    write 1015808 61440 fua
    write 1089536 8192
    read 16384 40960
    write 12288 28672 fua
    flush 0 0
    write 1052672 32768
    write 24576 49152
    write 0 28672
    write 20480 28672
    write 4096 61440
    write 0 36864
    flush 0 0
    read 16384 28672
  end clean
cycle
  open stale
  client v0 reactor 0
    zero 1138688 40960
    trim 630784 8192
  client v0 reactor 0
    write 118784 65536 fua
    write 974848 61440
    trim 450560 61440
    read 745472 40960
    write 12288 8192
    write 24576 53248 fua
    read 86016 12288
    read 1167360 8192
    write 16384 32768
    flush 0 0
    write 16384 28672
    trim 45056 8192
    zero 8192 65536
    flush 0 0
    write 155648 61440 fua
    write 655360 20480 fua
    write 1265664 20480
    flush 0 0
    write 970752 53248 fua
    flush 0 0
    trim 1163264 40960
    write 929792 12288
    zero 798720 49152
    write 28672 8192
    trim 28672 36864
    write 4096 36864
    read 24576 8192
    write 8192 40960
    write 462848 12288
    read 28672 36864
    write 180224 61440
    write 1363968 53248
    write 1171456 28672
    write 708608 45056
    write 0 61440
    write 8192 57344
    write 630784 36864
    write 700416 65536 fua
    flush 0 0
    write 4096 57344 fua
    flush 0 0
    flush 0 0
    read 266240 45056
    write 20480 45056
    flush 0 0
    flush 0 0
    write 12288 24576
    write 8192 8192
    trim 217088 49152
    write 233472 40960
    read 0 40960
    flush 0 0
    write 0 49152
    write 438272 45056
    write 290816 20480
    write 1187840 28672
    write 319488 16384
    write 241664 53248
    write 4096 24576
    read 24576 61440
    write 20480 45056
    read 503808 8192
    trim 278528 28672
    read 765952 20480
    flush 0 0
    read 618496 32768
    write 28672 16384
    write 294912 36864 fua
    write 1032192 32768 fua
    write 20480 12288
    trim 4096 32768
    write 28672 28672
    write 8192 36864 fua
    write 208896 40960
    write 1159168 8192
    write 20480 61440
    flush 0 0
    read 917504 28672
    write 8192 65536
    trim 4096 24576
    write 634880 8192
    write 8192 53248
    flush 0 0
  client v1 reactor 0
  client v1 reactor 0
    write 995328 61440
    trim 532480 8192
    write 16384 16384
    write 20480 4096
    write 790528 32768
    write 913408 24576
    read 884736 53248
    write 1257472 4096
    write 610304 61440
    read 28672 49152
    write 20480 24576
    write 8192 16384
    read 20480 53248
    write 0 57344
    write 1306624 45056 fua
    write 4096 24576
    write 4096 61440
    trim 466944 65536
    flush 0 0
    zero 4096 53248
    write 425984 45056
    trim 1290240 49152
    write 0 45056
    read 86016 8192
    write 0 49152
    zero 0 61440
    write 24576 32768 fua
    trim 1318912 45056
    write 520192 4096 fua
    write 606208 24576
    trim 147456 53248
    write 864256 61440 fua
    write 1036288 8192
    write 61440 36864
    flush 0 0
    write 20480 61440
    trim 319488 16384
    write 1196032 24576
    write 16384 49152 fua
    flush 0 0
    write 1314816 12288 fua
    flush 0 0
    write 16384 57344
    read 667648 53248
    write 1400832 12288
    read 655360 12288
    write 163840 53248 fua
    trim 1339392 12288
    write 466944 28672
    write 16384 36864
    write 286720 65536
    trim 360448 45056
    flush 0 0
    write 618496 12288 fua
    read 630784 24576
    write 8192 8192
    write 1359872 57344
    write 335872 61440
    read 16384 65536
    write 24576 36864
    write 4096 20480
    write 16384 61440
    trim 8192 32768
    write 487424 61440
    write 577536 65536 fua
    write 1417216 4096
    write 258048 24576 fua
    write 16384 61440
    write 24576 8192
    write 1175552 40960
    read 385024 61440
    flush 0 0
    write 8192 40960
    read 233472 57344
    write 1081344 28672 fua
    write 20480 28672
    trim 1204224 8192
    read 28672 12288
    write 28672 65536
    flush 0 0
    write 1150976 49152
    flush 0 0
    flush 0 0
  at 0 d3 slow 1
  at 1823197 d7 fails-writes
  end kill 30150383 power-cut
cycle
  open cut 38 cut 19
  force cut 623 cut 646 without d5 d6
  client v0 reactor 0
  client v0 reactor 0
  client v1 reactor 0
  client v1 reactor 0
  at 0 d1 slow 1
  end clean
