# The power goes as one opening begins its session, and again as the next one does: a member that got neither superblock is no old copy.
cygnus torture story 1
world 11006554372249555574
array swan groups 2 raid 6+2 chunk 1 stripe 2 segment 9 segments 17 parity rotated spare 400 reactors 1 transient 60 beside 2
volume v0 blocks 1
cycle
  open cut 120 cut 660
  end clean
