cygnus torture story 1
world 9555926242132032681
array salsa groups 3 raid 1+1 chunk 1 stripe 16 segment 73 segments 33 parity fixed spare 400 reactors 1 media flash,disk,disk more 2
volume v0 blocks 1
level v0 durable
keep v0 only disk
cycle
  rest d3 flips-bits 200000
  open
  resize v0 blocks 709
  client v0 reactor 0
    write 16384 8192
  at 0 d3 slow 1
  at 1914 d3 flips-bits 20000
  end kill 387
cycle
  open
  create v1 blocks 1116
  at 0 retire 1
  end kill 1088 power-cut
