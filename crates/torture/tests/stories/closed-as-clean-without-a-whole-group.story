cygnus torture story 1
world 10470124185079388892
array serial groups 3 raid 1+1 chunk 1 stripe 16 segment 55 segments 17 parity rotated spare 400 reactors 1
cycle
  open
  at 1301 trouble unpowered 1000000 d4 d5
  end clean
