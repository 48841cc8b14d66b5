cygnus torture story 1
world 13232217336476086802
array log-raid groups 1 raid 1+2 chunk 1 stripe 8 segment 43 segments 37 parity rotated spare 200 reactors 1 spares 1
volume v0 blocks 871
cycle
  open
  client v0 reactor 0
    write 16384 4096
    write 905216 245760
    write 2859008 110592
    write 28672 233472
    write 3108864 176128
    zero 983040 4096
    read 12288 172032
    write 3239936 217088
    write 991232 180224
    write 1671168 163840
    write 569344 159744
    write 3018752 118784
    write 344064 110592
    write 4096 184320
    write 2342912 139264
    write 4096 53248
  at 395967 d1 cannot-read 20000
  at 366681 d2 rots header flipped 23356
  at 79 spare 0
  end kill 912280 power-cut
cycle
  rest d2 rots header unreadable 50773
  rest d2 rots superblock zeroed 963
  open
  create v1 blocks 142
  client v1 reactor 0
    write 20480 241664
    zero 16384 4096
    zero 16384 4096
    write 4096 262144
    write 12288 4096
    write 4096 4096
    write 200704 159744
    write 344064 69632
    write 294912 245760
    write 413696 126976
    read 8192 110592
  at 2901 drain 2
  end kill 22188518
