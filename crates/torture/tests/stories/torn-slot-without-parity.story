cygnus torture story 1
world 6288366243179087998
array log-raid groups 1 raid 2+0 chunk 2 stripe 2 segment 12 segments 28 parity rotated spare 400 reactors 1
volume v0 blocks 1
cycle
  open
  resize v0 blocks 69
  at 0 d1 slow 1
  end kill 91 power-cut
cycle
  open
  scrub
  scrub at 2781
  create v1 blocks 17
  client v0 reactor 0
    write 208896 4096 fua pause 114310
    read 12288 77824 pause 849973
    read 0 118784 pause 908048
    flush 0 0 pause 444658
    write 12288 12288 pause 900119
    flush 0 0 pause 361388
    read 245760 4096 pause 239539
    trim 24576 94208 pause 600722
    write 180224 102400 pause 848345
  client v0 reactor 0
    write 4096 126976 pause 583648
    trim 81920 180224 pause 450519
    read 28672 126976 pause 927049
    read 45056 180224 pause 157669
    read 274432 4096
    write 28672 20480 pause 757767
    read 24576 98304 pause 852503
    trim 4096 73728 pause 822728
    read 0 4096 pause 218720
    flush 0 0 pause 858977
    flush 0 0 pause 163637
    flush 0 0 pause 988540
    read 249856 4096 pause 210851
    write 98304 114688 fua pause 653121
    write 24576 4096 pause 590750
    write 0 81920 pause 284631
    write 24576 61440
    write 28672 28672
    read 118784 151552
  client v1 reactor 0
    write 20480 4096
    write 49152 4096 pause 382343
    flush 0 0 pause 618641
    write 4096 20480 fua pause 179001
    write 28672 24576 pause 949106
    write 12288 32768 pause 186472
    read 45056 4096 pause 401467
    flush 0 0 pause 314689
    read 49152 4096 pause 222
    read 28672 28672 pause 7523
    read 40960 12288 pause 642469
    write 8192 4096 pause 623140
    read 28672 12288 pause 170469
    read 8192 4096 pause 311731
    write 36864 12288 pause 797135
    flush 0 0 pause 571546
    write 12288 49152 pause 243226
    write 28672 36864 fua
    write 4096 4096 pause 173264
    flush 0 0 pause 626682
    flush 0 0 pause 383300
  client v1 reactor 0
    read 24576 4096 pause 626506
    write 28672 4096 pause 732409
    write 28672 8192 fua pause 963901
    write 12288 40960 pause 328542
    trim 12288 36864 pause 228870
    read 61440 4096 pause 801129
    read 0 36864 pause 52399
    flush 0 0
    read 0 4096 pause 235680
    write 28672 32768 pause 896594
    write 20480 36864 fua pause 848508
    write 16384 4096 pause 790834
    write 8192 4096
  at 0 d0 slow 1
  end clean
cycle
  open
  create v2 blocks 3
  client v0 reactor 0
    read 24576 102400 pause 224825
  at 0 d1 slow 1
  end clean
cycle
  open
  resize v1 blocks 5
  client v0 reactor 0
    read 237568 4096 pause 265072
    flush 0 0
  client v0 reactor 0
    write 20480 196608
  client v1 reactor 0
    flush 0 0 pause 238367
    write 12288 4096
  client v1 reactor 0
    flush 0 0
  end kill 469181 power-cut
cycle
  open
  client v0 reactor 0
    trim 0 106496 pause 795416
    flush 0 0 pause 614233
    write 24576 155648 pause 556001
    write 65536 176128 pause 379573
    flush 0 0 pause 240379
    read 8192 81920 pause 136163
    read 266240 4096 pause 661159
    write 28672 172032 fua pause 711233
    read 135168 94208 pause 243190
    flush 0 0 pause 864026
    flush 0 0 pause 875597
    flush 0 0 pause 670515
    trim 24576 163840 pause 297383
    read 0 49152 pause 881748
    flush 0 0
  client v0 reactor 0
    write 12288 212992 pause 651042
    write 20480 94208 pause 856361
    trim 159744 4096 pause 252177
    trim 28672 241664 pause 563479
    write 24576 73728 pause 956425
    write 241664 40960 fua pause 296141
    flush 0 0 pause 944300
    read 188416 49152 pause 631554
    read 12288 212992 pause 877865
    read 12288 262144 pause 706443
    write 0 49152 fua pause 573208
    write 147456 61440 pause 527040
    read 20480 204800 pause 496258
    write 110592 114688 fua
  client v1 reactor 0
    flush 0 0 pause 109613
    write 0 4096 pause 36351
    read 16384 4096 pause 256398
    read 0 4096 pause 539866
    read 12288 4096 pause 128812
    read 16384 4096 pause 524386
    read 12288 4096 pause 774911
    read 0 12288 pause 683870
    read 0 8192 pause 938270
    trim 12288 4096 pause 476136
    read 4096 4096 pause 232690
    trim 0 4096 pause 103081
    write 0 20480 pause 137682
    write 8192 4096 pause 851613
    read 12288 4096 pause 947868
    write 12288 4096 fua pause 358167
    write 8192 4096 fua
    write 12288 4096 fua pause 525528
    read 8192 12288 pause 846448
    read 16384 4096 pause 379259
  client v1 reactor 0
    trim 16384 4096 pause 299013
    write 16384 4096 pause 88349
    write 8192 4096 pause 442501
    write 4096 12288 pause 138714
    write 12288 8192 pause 239203
    write 4096 12288 pause 83330
    read 12288 8192 pause 989588
    write 8192 4096 pause 110686
    write 8192 8192 fua pause 736279
    trim 4096 8192 pause 296316
    read 8192 4096 pause 647785
    read 8192 4096 pause 993670
    write 0 4096 pause 424501
    flush 0 0 pause 135213
    write 0 4096 pause 759318
    flush 0 0 pause 87611
    read 8192 12288 pause 689356
    read 4096 8192 pause 409966
    flush 0 0 pause 611948
    flush 0 0
  client v2 reactor 0
    flush 0 0 pause 790823
    trim 0 4096 pause 802111
    read 4096 4096 pause 786375
    read 0 4096 pause 817895
    write 0 12288 fua pause 833297
    write 0 12288 pause 416076
    read 0 12288 pause 596883
    write 4096 4096 pause 293260
    write 8192 4096 pause 784589
    write 8192 4096 pause 29919
    read 8192 4096 pause 697899
    write 4096 8192 pause 220610
    read 4096 4096 pause 170231
    flush 0 0 pause 824151
    flush 0 0 pause 431206
    write 8192 4096 pause 722716
    write 0 4096
  client v2 reactor 0
    read 0 4096 pause 602447
    read 4096 4096 pause 371132
    write 0 4096 pause 339314
    flush 0 0 pause 899684
    read 0 4096 pause 943725
    write 8192 4096 fua pause 684673
    read 4096 8192 pause 324754
    flush 0 0 pause 995162
    write 0 12288 fua pause 934635
    flush 0 0 pause 481901
    write 8192 4096 pause 111293
    trim 8192 4096 pause 987961
    trim 4096 8192 pause 383561
    write 0 12288 pause 541543
    read 0 4096 pause 651510
  at 0 d1 slow 1
  end kill 9969242
