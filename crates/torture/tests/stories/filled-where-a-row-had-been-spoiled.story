cygnus torture story 1
world 15796910329879014868
array log-raid groups 1 raid 6+2 chunk 1 stripe 4 segment 11 segments 30 parity rotated spare 200 reactors 1 clients 3 spares 3
volume v0 blocks 1
level v1 durable
cycle
  open
  create v1 blocks 10
  client v1 reactor 0
    write 36864 4096
    write 24576 4096
    write 28672 4096
    write 8192 4096
    write 28672 4096
    write 8192 4096 pause 18751
  end kill 6886047
cycle
  open
  ruin v1 block 2 columns 3
  client v1 reactor 0
    write 28672 4096
    write 24576 4096 pause 906
    write 98304 4096 pause 35201
    read 8192 4096 pause 1312
    read 36864 4096 pause 3247
    write 45056 4096 pause 6108
    write 106496 4096 fua pause 40536
    read 53248 4096
    read 53248 4096 pause 49331
    write 20480 4096 fua pause 48069
    read 98304 4096 pause 37406
    write 118784 4096 pause 43458
    write 32768 4096 fua
    read 61440 4096 pause 47769
    write 0 4096 pause 18016
    write 98304 4096
    write 135168 4096 pause 38446
    write 69632 4096
    read 135168 4096 pause 45347
    read 102400 4096 pause 28027
    write 53248 4096 pause 33145
    read 106496 4096 pause 35338
    read 106496 4096 pause 34667
  at 1186 d3 lost
  at 419 spare 1
  end clean
