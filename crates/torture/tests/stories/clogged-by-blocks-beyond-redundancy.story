cygnus torture story 1
world 12345
array log-raid groups 1 raid 2+1 chunk 2 stripe 4 segment 22 segments 25 parity rotated spare 50 reactors 1
volume v0 blocks 384
cycle
  open
  client v0 reactor 0
    write 0 262144
    write 262144 262144
    write 524288 262144
    write 786432 262144
    write 1048576 262144
    write 1310720 262144
  end clean
cycle
  open
  ruin v0 block 0 columns 2
  ruin v0 block 12 columns 2
  ruin v0 block 24 columns 2
  ruin v0 block 36 columns 2
  ruin v0 block 48 columns 2
  ruin v0 block 60 columns 2
  ruin v0 block 72 columns 2
  ruin v0 block 84 columns 2
  ruin v0 block 96 columns 2
  ruin v0 block 108 columns 2
  ruin v0 block 120 columns 2
  ruin v0 block 132 columns 2
  ruin v0 block 144 columns 2
  ruin v0 block 156 columns 2
  ruin v0 block 168 columns 2
  ruin v0 block 180 columns 2
  ruin v0 block 192 columns 2
  ruin v0 block 204 columns 2
  ruin v0 block 216 columns 2
  ruin v0 block 228 columns 2
  ruin v0 block 240 columns 2
  ruin v0 block 252 columns 2
  ruin v0 block 264 columns 2
  ruin v0 block 276 columns 2
  ruin v0 block 288 columns 2
  ruin v0 block 300 columns 2
  ruin v0 block 312 columns 2
  ruin v0 block 324 columns 2
  ruin v0 block 336 columns 2
  ruin v0 block 348 columns 2
  ruin v0 block 360 columns 2
  ruin v0 block 372 columns 2
  client v0 reactor 0
    write 475136 49152
    write 786432 20480
    write 401408 8192
    write 176128 20480
    write 516096 28672
    write 839680 4096
    write 962560 65536
    write 950272 53248
    write 1036288 28672
    write 843776 12288
    write 1015808 32768
    write 40960 36864
    write 1089536 57344
    write 991232 53248
    write 237568 36864
    write 200704 12288
    write 806912 53248
    write 225280 8192
    write 708608 32768
    write 1445888 12288
    write 1040384 28672
    write 1216512 20480
    write 1269760 12288
    write 1130496 8192
    write 1024000 28672
    write 307200 61440
    write 1224704 61440
    write 598016 49152
    write 892928 20480
    write 331776 16384
    write 1114112 45056
    write 1470464 49152
    write 1347584 65536
    write 1052672 28672
    write 647168 20480
    write 745472 40960
    write 1069056 12288
    write 1060864 32768
    write 720896 32768
    write 24576 40960
    write 716800 32768
    write 557056 8192
    write 884736 36864
    write 786432 40960
    write 1478656 57344
    write 364544 53248
    write 241664 24576
    write 1388544 4096
    write 421888 24576
    write 626688 16384
  end clean
