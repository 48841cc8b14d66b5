# from seed 11084, by 170 runs; ends with: group 0 lacks member 0 (91c8595b-c572-4252-acad-5af39cb6cd67) and its parity covers 0: bring back at least 1
cygnus torture story 1
world 12683883293650855249
array log-raid groups 1 raid 2+0 chunk 1 stripe 32 segment 67 segments 27 parity rotated spare 400 reactors 1 spares 2
cycle
  open
  at 5 spare 1
  at 9 drain 1
  end clean
cycle
  open
  at 13856 spare 0
  at 988991 drain 1
  end clean
cycle
  open
  at 0 spare 1
  at 163 drain 0
  end clean
