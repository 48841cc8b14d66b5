cygnus torture story 1
world 6341721963784799217
array salsa groups 2 raid 1+2 chunk 1 stripe 8 segment 43 segments 47 parity rotated spare 400 reactors 1 media disk,flash disks 2+2 keeps
cycle
  open
  at 157424 retire 1
  at 160538 refresh 0 by 0
  end clean
cycle
  open
  scrub
  end kill 1674
