# from seed 6562, by 3000 runs; ends with: the array cannot be opened: group 0 lacks member 1 (a20bd2d0-9247-45c8-a1aa-dbc33dfabea8), member 2 (86d2b1b4-ef34-479f-bd29-3ecb04f5994c), member 3 (2350907a-7b20-44a8-90b7-d507ef44ccc0) and its parity covers 2: bring back at least 1; d1 holds nothing; d7 holds nothing; d2 holds nothing; d6 at byte 0: Medium (errno 0): neither copy of its superblock can be read, it counts as missing
cygnus torture story 1
world 18431980940230242769
array log-raid groups 1 raid 4+2 chunk 2 stripe 8 segment 18 segments 28 parity fixed spare 200 reactors 1 spares 2
volume v0 blocks 1
cycle
  rest d3 lost
  open
  end power-cut
cycle
  open
  client v0 reactor 1
    write 1355776 4096 pause 22577
    write 77824 4096 pause 48777
    read 2174976 4096 pause 35174
    read 835584 4096 pause 11553
    write 2162688 4096 pause 47731
    write 1404928 4096 pause 34464
    read 2560000 4096 pause 4390
    write 2670592 4096 pause 42297
    write 16384 4096 pause 3702
    read 3026944 4096 pause 47384
    write 1900544 4096 pause 44807
    write 1163264 4096 pause 8357
    write 2387968 4096 pause 38031
    write 647168 4096 pause 25206
    read 798720 4096 pause 29032
    read 2662400 4096 pause 41197
    read 2871296 4096
    read 2068480 4096 pause 19123
    read 487424 4096 pause 34148
    read 1572864 4096 pause 45513
    read 1118208 4096 pause 40239
    read 860160 4096 pause 42853
    write 2551808 4096 pause 25341
    write 1384448 4096 pause 37137
    read 1019904 4096
    read 1298432 4096
    read 4096 4096 pause 40523
    write 1060864 4096 pause 21683
    write 954368 4096 pause 39855
    read 2617344 4096 pause 26294
    write 1015808 4096 pause 33642
    write 1101824 4096 pause 23664
    write 2199552 4096 pause 16020
    trim 1294336 4096 pause 43704
    trim 73728 4096 pause 29498
    read 20480 4096 pause 25629
    read 720896 4096 pause 7462
    write 3141632 4096 pause 34993
    write 12288 4096 pause 35166
    write 2953216 4096 pause 12098
    read 1748992 4096 pause 16305
    write 1531904 4096 pause 16486
    write 1650688 4096 pause 40592
    write 24576 4096 pause 25198
    write 2273280 4096 pause 22413
    write 1679360 4096 pause 34377
    read 139264 4096 pause 18498
    write 2686976 4096 pause 24439
    read 110592 4096 pause 37961
    write 1880064 4096 pause 47188
    trim 12288 4096 pause 45029
    write 3055616 4096 pause 32515
    write 1015808 4096 pause 21244
    write 2220032 4096 pause 38204
    trim 2617344 4096 pause 32643
    write 3006464 4096 pause 47204
    write 2920448 4096 pause 10300
    write 892928 4096 pause 11923
    read 806912 4096 pause 40682
    write 1155072 4096
    write 2207744 4096 pause 12405
    write 294912 4096 pause 42375
    write 741376 4096 pause 8791
    write 61440 4096 pause 19510
    read 1708032 4096 pause 31527
    write 1695744 4096 pause 34178
    trim 610304 4096 pause 49315
    read 2326528 4096
    read 1249280 4096 pause 23432
    write 548864 4096 pause 49469
    read 3100672 4096 pause 44869
    write 593920 4096 pause 45843
    write 528384 4096 pause 47712
    read 1810432 4096 pause 13014
    read 741376 4096 pause 17189
    write 2695168 4096 pause 5358
    write 1806336 4096 pause 44378
    write 532480 4096 pause 12098
    write 28672 4096 pause 14532
    trim 0 4096 pause 17319
    trim 311296 4096 pause 45983
    write 98304 4096 pause 36996
    write 2744320 4096 pause 2730
    trim 495616 4096 pause 48683
    read 16384 4096 pause 36640
    read 1179648 4096 pause 24320
    write 851968 4096 pause 13015
    read 671744 4096 pause 49791
    write 1544192 4096 pause 33578
    read 3145728 4096 pause 15453
    write 950272 4096 pause 21595
    trim 2932736 4096 pause 39803
    write 2871296 4096 pause 2476
    write 1466368 4096 pause 6048
    write 1269760 4096 pause 1831
    write 4096 4096 pause 39014
    read 684032 4096 pause 14964
    read 1474560 4096 pause 47600
    read 2732032 4096 pause 8379
    trim 970752 4096 pause 31662
    write 626688 4096 pause 2418
    read 3022848 4096 pause 36532
    read 20480 4096 pause 2143
    write 2662400 4096 pause 25861
    read 1130496 4096 pause 17424
    read 2908160 4096 pause 28671
    read 376832 4096 pause 35917
    read 2543616 4096 pause 30245
    write 2834432 4096 pause 41346
    read 1384448 4096 pause 39141
  at 3566102 d6 cannot-read 20000
  at 250262 spare 0
  at 270293 drain 1
  end clean
cycle
  open
  at 49 spare 0
  at 4552 drain 2
  end clean
