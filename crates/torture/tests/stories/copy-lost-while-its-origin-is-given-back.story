# Members without power lose the copy of a block while the segment it was copied from is being given back.
cygnus torture story 1
world 7161209296125038956
array swan groups 2 raid 2+0 chunk 1 stripe 4 segment 10 segments 21 parity rotated spare 200 reactors 1
volume v0 blocks 295
cycle
  open
  client v0 reactor 0
    write 1060864 16384
    write 843776 4096 fua
    write 811008 16384 fua
    write 1003520 16384 fua
    write 409600 4096
    write 1080832 12800
    write 1036288 12288
    write 888832 16384 fua
    write 954368 12288
    write 606208 12288
    write 1003520 16384
    write 598016 16384 fua
    write 778240 12288
  client v0 reactor 0
    write 823296 4096 fua
    write 602112 16384 fua
    write 667648 16384
    write 516096 12288
    write 782336 4096
    write 897024 4096
    write 442368 16384
    write 299008 8192
    write 942080 16384
    write 1036288 12288
    trim 73728 4096
    write 659456 8192
    write 102400 4096
    write 1202851 1747
    write 1150976 16384
    write 1159168 8192
    write 20480 12288
    write 614400 8192
    trim 106496 4096
  end clean
cycle
  open
  client v0 reactor 0
    write 593920 4096
    write 1032192 4096
    write 1069056 16384 fua
    write 843776 4096
    write 417792 12288
    write 491520 12288 fua
    write 741376 12288
    write 483328 16384
    write 552960 4096
    write 282624 12288
    write 61440 12288
    write 704512 12288
  client v0 reactor 0
    write 593920 16384 fua
    write 663552 16384
    trim 208896 4096
    write 1085440 16384
    write 856064 4096
    write 712704 4096 fua
    write 806912 4096
    write 28672 8192
    write 212992 12288
    write 122880 12288
    write 0 16384
    write 446464 16384
    zero 954368 4096
    write 274432 16384
    zero 958464 16384
    write 12288 16384
    write 69632 16384 fua
    trim 106496 4096
    write 0 4096
    write 1041920 11264
  end clean
cycle
  open
  client v0 reactor 0
    write 749568 12288 fua
    write 811008 4096
    write 761856 16384
    trim 925696 4096
    write 506880 5632
    write 253952 4096
    write 430080 8192
    write 16384 16384
    write 897024 16384
    write 1052672 16384
    write 368640 4096
    write 1110016 16384
    write 421888 16384
    write 417792 8192 fua
    zero 712704 4096 fua
    write 933888 4096
    write 12288 4096
    write 958464 4096
    write 892928 4096
    trim 1073152 4096
  client v0 reactor 0
    write 122880 16384
    write 790528 12288
    write 958464 16384
    write 1187840 4096
    write 790528 8192 fua
    write 978944 12288
    write 376832 8192
    write 1052672 16384
    write 581632 4096
    write 1142784 16384
    write 860160 8192
    write 270336 12288
  at 62311 trouble unpowered 5000000000 d2
  at 2045839 trouble unpowered 900000000 d1
  end clean
