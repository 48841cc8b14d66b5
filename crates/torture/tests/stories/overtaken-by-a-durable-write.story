# from seed 40129, by 2176 runs; ends with: in the sweep over the whole volume: volume 1: read of bytes 77824..81920 failed at 6.03 s: Unreadable(19) and nothing was lost
cygnus torture story 1
world 5519679244187864396
array log-raid groups 1 raid 2+2 chunk 16 stripe 64 segment 135 segments 40 parity fixed spare 50 reactors 2
volume v0 blocks 20
volume v1 blocks 20
volume v2 blocks 20
cycle
  open
  client v0 reactor 0
    write 4149248 12288
    write 942080 4096
    write 3584000 45056
    write 577536 16384
    flush 0 0
    write 335872 36864
    flush 0 0
    write 2101248 24576
    write 2949120 28672
    write 950272 45056
    write 839680 16384
  client v1 reactor 1
    write 1683456 32768 fua
  client v1 reactor 0
    write 5058560 57344
    write 1720320 45056
    write 2904064 4096
    write 1302528 12288 fua
    write 1699840 61440
  client v1 reactor 1
    write 3010560 28672
    write 5152768 32768
    write 3670016 65536
    write 2412544 32768
    write 1777664 28672
    write 2420736 4096
    write 368640 28672
    write 4685824 53248
    write 1536000 61440
    write 2727936 49152
    write 5042176 65536
  client v2 reactor 0
    write 5668864 65536
    write 6778880 57344
    write 3538944 53248
    write 9560064 36864
    write 5619712 20480
    write 7593984 28672
    write 9072640 45056
    write 1347584 8192
    write 315392 45056
    write 4747264 12288
    write 5337088 40960
    write 3837952 45056
    write 6541312 20480
    write 3604480 16384
    write 4886528 20480
    flush 0 0
    write 172032 40960
  client v2 reactor 1
    write 1781760 45056
  at 204527 trouble unpowered 5000000000 d1 d2
  at 1053210 trouble unpowered 5000000000 d3
  end clean
