# from seed 2702417, by 708 runs; ends with: in the sweep over the whole volume: volume 0: read of bytes 0..262144 failed at 5.05 s: Unreadable(13) and nothing was lost
cygnus torture story 1
world 16394149053700892993
array salsa groups 2 raid 3+3 chunk 1 stripe 4 segment 11 segments 82 parity fixed spare 200 reactors 1 media disk,flash transient 48
volume v2 blocks 1
level v2 written
cycle
  open
  resize v2 blocks 306
  client v2 reactor 1
    write 536576 4096
    write 790528 4096 pause 15271
    write 245760 4096 fua pause 36899
    write 581632 4096 pause 21851
    write 1167360 4096
    write 53248 4096 fua pause 2225
    write 282624 4096 pause 30043
    write 172032 4096 pause 2483
    write 1126400 4096
  at 1033387 trouble unpowered 5000000000 d9 d10
  at 783555 trouble unpowered 1500000000 d6 d8
  end clean
