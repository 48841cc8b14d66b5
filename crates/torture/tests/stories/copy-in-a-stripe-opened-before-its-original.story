# from seed 31613, by 3000 runs; ended with: in the sweep over the whole volume: volume 0: read of bytes 262144..524288 failed: Unreadable(71)
cygnus torture story 1
world 16057639269028707334
array log-raid groups 1 raid 2+0 chunk 1 stripe 4 segment 8 segments 35 parity rotated spare 200 reactors 1
volume v0 blocks 214
cycle
  open
  client v0 reactor 0
    write 805888 49664
    write 18432 49664
    write 794624 57344
    write 249856 4096
    write 692293 53276
    write 823296 36864
    write 5632 52224
    flush 0 0
    write 30208 23040
    read 12288 4096
    write 24576 12288
    write 200704 53248
    write 534528 43008
    write 24576 24576
    write 656384 42496
    write 1024 26112
    write 592384 13824
    read 542720 52736
    write 4096 4096
    read 28672 28672
    write 389120 28672
    write 27648 50176
    write 12288 8192
    write 20480 40960
    write 26402 14427
    write 413696 16384
    zero 599300 57424
    read 24576 20480
    write 286720 24576
    read 28672 4096
    write 811008 49152
    write 33792 44544
    read 741376 4096
    read 720896 40960
  end power-cut
cycle
  open
  client v0 reactor 0
    write 20480 20480
    write 224768 26624
    write 16384 28672
    zero 549078 12301
    write 770560 47616
    write 66560 28160
    zero 0 33280
    read 208896 36864
    write 801280 46080
    write 393216 65536
    read 675840 57344
    read 0 49152
    zero 25600 15872
    write 782336 57344
    write 106496 32768
    read 20480 4096
    read 825856 39424
    read 26624 56320
    zero 23239 30193
    write 28672 45056
    write 28672 57344
    write 4096 49152
    write 493056 3584
    read 16384 57344
    write 606208 45056
    write 520704 36864
    write 53248 49152
    write 6656 30720
    read 802816 4096
    write 518144 41472
    write 25088 38400
    read 24576 45056
    write 761856 12288
    write 102400 24576
    write 245760 20480
    zero 352256 12288
    trim 500224 32256
    zero 16384 36864
    write 237568 61440
    read 700416 4096
    write 13312 58368
    read 16286 55426
    read 20480 4096
    write 16384 61440
    zero 11546 38737
    write 24576 40960
    trim 8192 4096
    read 307148 15090
    read 16384 61440
    write 667648 4096
    flush 0 0
    write 258560 7680
    read 15113 61754
    read 23552 43008
    write 582656 40448
    read 24576 45056
    write 655360 57344
  end power-cut
