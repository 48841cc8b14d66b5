# A write under durable tells of lost blocks, and so does the client's next flush, though all else is durable by then.
cygnus torture story 1
world 2283231076626047570
array serial groups 3 raid 1+0 chunk 1 stripe 4 segment 19 segments 33 parity rotated spare 200 reactors 1
volume v0 blocks 1
level v0 durable
cycle
  open
  client v0 reactor 0
    write 311296 4096
    write 299008 4096
    flush 0 0
  at 58704 trouble unpowered 5000000000 d0
  end clean
