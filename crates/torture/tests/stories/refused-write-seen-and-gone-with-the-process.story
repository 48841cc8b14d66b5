# A write is refused while its member is away, a read sees it all the same, and it goes with the killed process, whose memory nobody keeps.
cygnus torture story 1
world 1903248169813697099
array log-raid groups 1 raid 1+0 chunk 1 stripe 8 segment 11 segments 37 parity rotated spare 400 reactors 1
volume v0 blocks 8
level v0 written
cycle
  open
  client v0 reactor 0
    write 196608 32768 pause 15061
    trim 212992 4096 pause 42800
    write 69632 4096
    read 77824 4096
  at 221395 trouble away 20000000000 d0
  requests wait 0
  end kill 6972925
