# Two members that are back need what a third one has, and read from it whenever it is asked whether it is idle.
cygnus torture story 1
world 2701704995697517387
array swan groups 2 raid 4+2 chunk 4 stripe 32 segment 100 segments 27 parity rotated spare 200 reactors 1
volume v0 blocks 2145
cycle
  open
  client v0 reactor 0
    write 40960 4096 pause 25865
    write 3706880 36864 pause 44140
    write 3420160 57344
    write 6397952 57344
    read 6889472 4096 pause 40874
    write 3047424 53248
    write 4759552 4096
    write 3506176 12288 pause 12496
    write 5843968 38912 pause 33429
    write 7200768 45056 pause 42764
    write 5001216 65536 pause 22741
    write 7954432 49152 pause 44465
    write 6877184 20480 pause 15430
    write 1552384 8192 pause 30394
    write 1843200 61440 pause 36392
    write 8667136 8192 pause 32652
    write 3313664 49152 pause 39436
    write 7610368 49152
    write 6164480 12288
    write 4096 24576 pause 18417
    write 6590464 40960
    write 2867200 40960
    write 2138112 8192
    write 1093632 20480 pause 12175
    write 262144 16384 pause 14299
    write 6184960 45056
    write 2736134 49955
    write 8572928 57344
    write 24576 49152 pause 1405
    write 6660096 40960
    write 6041088 6144
    write 3538944 45056
    write 8368128 36864
    write 8159232 20480 pause 15871
    write 6074368 20480
    write 1728512 8192
    write 4501504 32768
    write 1589248 4096 pause 26901
    write 7536640 32768 pause 17572
    write 3534848 65536 pause 33487
    write 6795264 4096 pause 33354
    write 6782976 16384 pause 29092
    write 167936 57344 pause 48732
    write 1276416 33792 pause 32817
    write 1249280 4096 pause 19528
    write 8486912 16384 pause 48077
    write 5832704 49152 pause 40170
    write 4825088 4096 pause 18826
    write 8278016 4096 pause 47448
    write 6713344 4096 pause 11580
    write 5058560 4096 pause 6562
    write 2703360 4096 pause 9886
    write 7540736 4096 pause 20670
    write 1691648 4096 pause 32427
    write 5222400 4096 pause 31668
    write 4280320 4096 pause 11497
    write 1261568 4096 pause 32690
    write 1949696 4096 pause 36896
    write 7991296 4096 pause 29143
  client v0 reactor 0
    zero 5021696 24576 pause 7843
    write 1978368 53248
    read 4571136 4096 pause 42758
    write 819200 4096 pause 31912
    write 7049216 57344
    write 28672 12288 pause 14985
    write 2207744 49152 pause 41065
    write 3923968 65536 pause 43820
    write 8159232 40960 pause 40693
    write 2797568 57344 pause 33752
    write 4313088 12288 pause 16265
    write 24576 4096 pause 25806
    write 3796992 32768 pause 34082
    write 2084864 53248 pause 45440
    write 4251648 28672 pause 44988
    write 3903488 57344 pause 25739
    flush 0 0
  at 0 d2 slow 20
  at 482480 trouble err 900000000 d2 d4 d5
  end clean
