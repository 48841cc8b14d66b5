# Superblocks are lost and the array is opened by force, and then killed: what the session behind the lost ones had in memory was taken for the forced one's.
cygnus torture story 1
world 1747320803818092801
array log-raid groups 1 raid 1+1 chunk 1 stripe 2 segment 12 segments 24 parity fixed spare 400 reactors 1 keeps
volume v0 blocks 9
volume bystander0 blocks 1
volume bystander1 blocks 1
volume bystander2 blocks 1
volume bystander3 blocks 1
volume bystander4 blocks 1
volume bystander23 blocks 1
cycle
  open
  client v0 reactor 0
    write 77824 163840
  end kill 6688
cycle
  open
  beyond superblock unreadable 12058 d0 d1
  end kill 107807
