# from seed 4886, by 3000 runs; ends with: no end after 2.00 min: a request was never answered
cygnus torture story 1
world 435532092172174845
array serial groups 3 raid 1+1 chunk 1 stripe 8 segment 21 segments 21 parity rotated spare 50 reactors 2
volume v0 blocks 165
cycle
  open
  client v0 reactor 0
    write 671744 4096 pause 310573
    write 86016 32768 pause 172661
    write 20480 53248
  client v0 reactor 1
    write 221184 69632 pause 527967
    zero 4096 4096 fua
  at 68913 d3 cannot-read 200000
  end power-cut 29
cycle
  open
  client v0 reactor 1
    flush 0 0 pause 349614
    write 16384 212992 pause 761487
    read 376832 4096 pause 662850
    read 25088 252928 pause 543223
    read 5632 44544 pause 935627
    read 4096 81920 pause 742691
    write 241664 196608 fua pause 148139
    write 16384 221184
    trim 405504 4096 pause 444700
    write 12288 204800
    write 12288 126976 pause 201000
    read 4096 57344 pause 29600
  at 0 d0 slow 1
  at 7191 d0 fails-some-writes 200000
  end power-cut
cycle
  open
  client v0 reactor 0
    write 565248 90112 pause 607128
    write 413696 225280 pause 637635
    write 622592 4096 pause 903315
    write 339968 225280 pause 242095
    write 4096 143360 pause 956764
    write 65536 81920 pause 466868
    read 28672 4096 pause 917363
    write 16384 135168
  client v0 reactor 1
    write 438272 176128 pause 477014
    write 615642 22273
    write 18944 97280 pause 25039
    write 332800 96256
    write 491008 18944 pause 586745
    write 4096 36864
    zero 0 151552
    read 12288 4096 pause 673184
    write 416333 132870 pause 994516
    read 20480 4096 pause 489374
    read 12288 4096 pause 796235
    trim 557056 4096
    write 401408 135168
    read 196608 4096
    write 28672 176128
  end clean
cycle
  open
  end clean
cycle
  open
  client v0 reactor 0
    write 5120 252928
  client v0 reactor 1
    write 28672 221184
    write 456192 99840
  end clean
