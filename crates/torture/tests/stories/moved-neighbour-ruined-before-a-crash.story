# from seed 821, by 531 runs; ends with: in the sweep over the whole volume: volume 0: read of bytes 0..57344 failed at 27.3 ms: Unreadable(7) and block 7 at byte 1064960 of d5 has lost 0 of 3 columns, of which the parity covers 1
cygnus torture story 1
world 14566386755967743840
array swan groups 2 raid 2+1 chunk 1 stripe 2 segment 11 segments 16 parity rotated spare 200 reactors 1
volume v0 blocks 14
cycle
  open
  client v0 reactor 0
    write 73728 4096
    write 4096 16384
  end power-cut
cycle
  open
  client v0 reactor 0
    write 24576 12288
  end clean
cycle
  open
  ruin v0 block 8 columns 2
  scrub
  end kill 758356
