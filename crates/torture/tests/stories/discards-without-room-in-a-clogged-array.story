# Discards filled the segment that a clogged array keeps for them, and no checkpoint covered them, so none more found room.
cygnus torture story 1
world 13371780287909593064
array swan groups 2 raid 6+0 chunk 1 stripe 1 segment 10 segments 22 parity rotated spare 200 reactors 1
volume v0 blocks 985
cycle
  open
  client v0 reactor 0
    trim 688128 4096 pause 135029
    zero 2277376 4096 pause 516630
    write 2658304 20480 pause 555991
    write 1728512 53248 pause 494069
    write 3952640 8192 pause 251160
    write 4096 49152 fua pause 656320
    flush 0 0 pause 747486
    write 2109440 53248 pause 374039
    write 1105920 65536 pause 484381
    write 1847296 61440 fua pause 708132
    trim 2461696 4096 pause 664540
    trim 3960832 40960 pause 966020
    write 610304 53248 pause 263708
    write 3817472 40960 fua pause 764604
    write 1093632 4096 pause 665043
    write 2998272 4096 fua pause 137868
    trim 2547712 4096 pause 863152
    write 176128 45056 pause 67965
    write 3129344 4096 pause 463887
    write 2064384 57344 pause 623549
    write 249856 32768 pause 846387
    zero 2277376 32768 pause 815147
    trim 1781760 4096 pause 467255
    write 12288 16384
    write 3203072 20480 pause 258338
    zero 3342336 12288 fua pause 975664
    flush 0 0 pause 662426
    write 2580480 4096
    write 1667072 61440 pause 782154
    write 3604480 4096 pause 318775
    write 3358720 4096 pause 577986
    write 712704 45056
    flush 0 0
    write 1110016 4096 pause 764536
    write 1097728 16384
    write 3706880 65536 fua pause 946094
    zero 1556480 65536 pause 849052
    write 266240 4096 pause 504032
    write 3964928 4096 fua pause 133641
    write 1064960 4096 pause 416293
    write 1957888 40960 pause 75647
    flush 0 0
    write 2596864 49152
    write 606208 4096
    write 3096576 28672 pause 593860
    zero 2809856 57344
    flush 0 0 pause 926022
    write 1630208 53248 pause 220059
    trim 1204224 4096 pause 840040
    write 1003520 20480 pause 902221
    write 3551232 53248
  client v0 reactor 0
    write 1650688 57344 pause 919425
    write 671744 65536 pause 206336
    write 868352 53248 pause 51819
    write 2691072 40960 pause 503690
    zero 163840 28672 pause 600002
    write 2007040 61440 pause 979342
    write 1576960 4096 pause 652884
    write 2228224 8192 pause 134455
    trim 2338816 4096 pause 606256
    write 1589248 45056 pause 770571
    write 3809280 45056 pause 105533
    write 3969024 57344 pause 314122
    zero 409600 4096 fua pause 788758
    write 3796992 40960 pause 655756
    write 2973696 57344 pause 549658
    write 3035136 49152 pause 30330
    write 8192 4096 pause 647929
    flush 0 0 pause 767817
    flush 0 0 pause 420257
    write 1712128 61440 pause 856707
    write 2281472 8192 pause 980563
    write 1933312 53248 pause 805333
    trim 581632 4096 pause 21896
    write 24576 65536 pause 800346
    zero 499712 32768 pause 927890
    trim 1761280 49152 pause 746207
    write 28672 65536 fua pause 227279
    trim 335872 4096 pause 89733
    write 3411968 61440 pause 3082
    write 630784 36864 pause 872157
    flush 0 0 pause 68261
    write 1458176 4096 pause 518506
    trim 3108864 61440 pause 250009
    write 1916928 36864 pause 670804
    write 1544192 32768 pause 393462
    trim 3522560 4096 pause 724550
    write 3231744 45056 pause 587674
    write 2617344 45056 fua pause 103852
    flush 0 0 pause 837062
    write 2011136 40960 pause 762788
    flush 0 0
    flush 0 0 pause 312219
    write 1753088 20480 pause 177898
    write 1462272 61440
    zero 3362816 4096 fua
    write 2969600 53248
    flush 0 0
    write 2822144 4096 pause 944535
    write 3780608 4096 pause 969735
    write 2207744 4096 pause 243175
    zero 2105344 4096 fua pause 701944
    write 438272 57344
    write 3837952 45056 fua
    trim 1794048 4096
    write 1167360 28672 pause 858585
    zero 528384 4096 fua
    zero 1261568 28672
    write 3944448 4096
    write 917504 61440 pause 823855
    flush 0 0 pause 656383
    write 2641920 4096 pause 151227
    zero 3338240 40960 pause 725335
    write 3174400 65536 pause 47863
    write 3891200 36864 pause 223752
    write 3522560 53248 pause 957838
    write 1150976 57344 pause 416257
    write 2478080 40960 fua pause 750353
    flush 0 0 pause 177204
    write 2969600 65536
    write 2535424 16384
  at 60079 trouble hang 1000000 d3 d4
  end clean
cycle
  rest d6 rots page zeroed 32376
  open
  client v0 reactor 0
    write 1896448 32768
  client v0 reactor 0
    write 12288 28672
  client v0 reactor 0
    write 901120 28672
  at 52048 trouble unpowered 20000000000
  end kill 5778
cycle
  open cut 31 cut 10
  client v0 reactor 0
  client v0 reactor 0
    write 1409024 49152 fua
  at 1198 trouble hang 50000000 d11
  end kill 75639
cycle
  open
  client v0 reactor 0
    write 2211840 65536 pause 438232
    zero 1568768 4096 pause 586034
    flush 0 0 pause 298540
    zero 3846144 4096 pause 774233
    write 2473984 4096 pause 481601
    write 1601536 4096 pause 516723
    write 3858432 4096
    write 229376 4096
    write 8192 4096 pause 881011
    write 1859584 4096 pause 489410
    flush 0 0
    write 278528 4096 pause 574428
    flush 0 0
  client v0 reactor 0
    zero 1269760 4096
    write 589824 49152 pause 918188
    write 2895872 4096 pause 320089
    write 827392 4096 pause 293737
    write 2830336 4096 pause 666480
    write 1523712 4096 pause 782331
    write 3432448 4096 pause 843918
    write 2969600 4096 pause 623323
    trim 2793472 24576
    write 249856 4096 pause 893170
    trim 655360 4096
    trim 647168 4096
    flush 0 0
    trim 3874816 4096
    flush 0 0
    zero 4096 4096
    flush 0 0
    zero 2617344 4096 fua
    zero 1470464 4096
    flush 0 0
  at 805 trouble away 1500000000 d10
  end clean
