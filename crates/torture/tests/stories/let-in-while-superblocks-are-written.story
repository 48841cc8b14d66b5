# A member is let in while the superblocks that record a departure are being written: nobody may wait for it to answer.
cygnus torture story 1
world 12562555949432422825
array log-raid groups 1 raid 1+2 chunk 1 stripe 2 segment 8 segments 29 parity rotated spare 50 reactors 1
volume v0 blocks 1
volume v1 blocks 20
cycle
  rest d2 new
  open
  client v1 reactor 0
    write 65536 12288 pause 39275
    write 16384 53248 pause 27387
    flush 0 0 pause 42522
    write 28672 4096 fua pause 26953
    write 24576 53248 pause 30329
    write 12288 16384 pause 13630
    write 8192 61440 pause 3962
    write 69632 4096 pause 15916
    write 12288 69632 pause 17037
    write 57344 20480 pause 40937
    write 57344 4096
    write 28672 53248
    write 20480 28672
  at 92 replace 2
  end clean
