# from seed 8200088, by 300 runs; ends with check: the check of the stopped array finds damage (lost): member 3 at byte 2174976: volume v0 lba 2787 (bytes 11415552 on) is on a member that is out of service, and the other columns do not give it: it is beyond redundancy: write it anew or restore it from a backup
cygnus torture story 1
world 8811115453401931599
array swan groups 2 raid 4+2 chunk 1 stripe 16 segment 51 segments 24 parity rotated spare 50 reactors 1 spares 3
volume v0 blocks 3403
cycle
  rest d2 misdirects-writes 20000
  open
  client v0 reactor 0
    write 19496960 53248
    write 21843968 45056
    write 7643136 57344 fua
  client v0 reactor 0
    write 16162816 12288
    write 1847296 53248
    zero 11354112 65536
    write 7065600 45056
    flush 0 0
  at 0 spare 0
  end clean
cycle
  rest d8 new
  rest d5 lost
  open
  at 20 replace 8
  at 150 spare 1
  end clean
cycle
  open
  client v0 reactor 0
    write 3842048 36864
    flush 0 0
  at 6802 d3 lost
  end power-cut 44
