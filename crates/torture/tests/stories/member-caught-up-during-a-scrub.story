# from seed 6238, by 832 runs; ends with: after a whole scrub, block 0 of v2: the header of its stripe is not as it was written at byte 1089536 of d5
cygnus torture story 1
world 5302268839339393817
array swan groups 2 raid 5+1 chunk 2 stripe 2 segment 10 segments 16 parity rotated spare 50 reactors 1
volume v2 blocks 1
cycle
  open
  client v2 reactor 1
    write 376832 4096
    write 12288 4096
    write 663552 4096
    write 282624 4096
    write 225280 4096
    write 573440 4096
    write 602112 4096
    write 159744 4096
    write 868352 4096
    write 208896 4096
    write 409600 4096
    write 368640 4096 fua
    write 81920 4096
    write 307200 4096
    write 704512 4096
    write 430080 4096
    write 667648 4096
    write 299008 4096
    write 16384 4096
    write 507904 4096
    write 368640 4096
    write 679936 4096
    write 241664 4096
  end clean
cycle
  rest d5 lost
  open
  end clean
cycle
  rest d5 flip 1091909 3
  open
  end clean
cycle
  open stale
  scrub
  end clean
