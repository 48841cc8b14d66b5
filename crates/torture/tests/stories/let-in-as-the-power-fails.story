cygnus torture story 1
world 6157700910688263864
array log-raid groups 1 raid 2+1 chunk 1 stripe 1 segment 10 segments 24 parity rotated spare 50 reactors 1
cycle
  open
  absent d2 until 3390307
  end kill 6961 power-cut
cycle
  open
  at 0 d2 slow 100
  end power-cut
cycle
  open
  absent d2 until 3734259
  end clean
