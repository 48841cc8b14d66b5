# from seed 821, by 637 runs; ends with: in the sweep over the whole volume: volume 0: read of bytes 0..114688 failed at 20.4 ms: Unreadable(15) and block 15 at byte 1064960 of d4 has lost 0 of 3 columns, of which the parity covers 1
cygnus torture story 1
world 14566386755967743837
array swan groups 2 raid 2+1 chunk 1 stripe 2 segment 11 segments 16 parity rotated spare 200 reactors 1
volume v0 blocks 28
cycle
  open
  client v0 reactor 0
    write 57344 4096
    flush 0 0
    write 73728 4096
    flush 0 0
    write 4096 16384
    write 4096 4096
  end power-cut
cycle
  open
  client v0 reactor 0
    write 53248 16384
    write 12288 4096
  end clean
cycle
  open
  ruin v0 block 18 columns 2
  ruin v0 block 15 columns 2
  end kill 758356
