# from seed 28027, by 208 runs; ends with: in the sweep over the whole volume: volume 0 block 0 at 7.99 ms
cygnus torture story 1
world 16283084537559969422
array log-raid groups 1 raid 1+1 chunk 1 stripe 48 segment 150 segments 33 parity rotated spare 400 reactors 1
volume v0 blocks 1
cycle
  open
  absent d0 until 3171803
  end power-cut
cycle
  open
  absent d1 until 90
  client v0 reactor 0
    write 991232 4096
    flush 0 0
  end clean cut 1
