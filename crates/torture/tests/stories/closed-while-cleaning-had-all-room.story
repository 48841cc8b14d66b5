cygnus torture story 1
world 1862852746648423165
array log-raid groups 1 raid 4+1 chunk 4 stripe 8 segment 21 segments 32 parity rotated spare 400 reactors 1 cleaning d-choices:2 zoned 7 but 3 patches 256
volume v0 blocks 285
volume v1 blocks 285
volume v2 blocks 570
level v0 durable
level v1 durable
level v2 written
map v0 pages 4 fine 0
map v2 pages 4 fine 10
cycle
  open
  client v0 reactor 0
    write 831488 4096
    write 335872 4096
    write 753664 4096
    write 1077248 4096
    write 892928 4096
    write 98304 4096
    flush 0 0
    write 884736 4096
    flush 0 0
    write 135168 4096
    flush 0 0
    write 557056 4096
    write 1150976 4096
    write 770048 4096
    write 933888 4096
    write 671744 4096
    write 737280 4096
    write 487424 4096
    write 958464 4096
    write 1007616 4096
    write 962560 4096
    write 651264 4096
    write 577536 4096
  client v1 reactor 0
    flush 0 0
    write 122880 4096
    flush 0 0
    write 438272 4096
    write 868352 4096
    write 1085440 4096
    write 225280 4096
    write 626688 4096
    write 180224 4096
    flush 0 0
    flush 0 0
    write 303104 4096
    write 839680 4096
    write 200704 4096
    write 909312 4096
    write 196608 4096
    write 12288 4096
    flush 0 0
    write 1155072 4096
    write 647168 4096
    flush 0 0
    write 77824 4096
    flush 0 0
    flush 0 0
    write 602112 4096
    write 831488 4096
    write 536576 4096
    write 892928 4096
    write 806912 4096
    write 868352 4096
    write 667648 4096
    write 1015808 4096
    write 978944 4096
    zero 155648 4096
    write 475136 4096
    write 114688 4096
  client v2 reactor 0
    flush 0 0
    write 458752 4096
    write 565248 4096
    flush 0 0
    write 1265664 4096
    write 2101248 4096
    flush 0 0
    write 1314816 4096
    write 1925120 4096
    write 2207744 4096
    write 1835008 4096
    write 1093632 4096
    write 155648 4096
    write 2023424 4096
    write 1679360 4096
    write 618496 4096
    write 2207744 4096
    write 1196032 4096
    write 2027520 4096
    write 253952 4096
    write 552960 4096
    write 471040 4096
    zero 2023424 4096
    write 983040 4096
  end power-cut
cycle
  open
  client v0 reactor 0
    flush 0 0
    flush 0 0
    flush 0 0
    write 548864 4096
    write 282624 4096
    zero 532480 4096
    write 94208 4096
    write 405504 4096
    write 528384 4096
    write 249856 4096
    write 933888 4096
    write 892928 4096
    flush 0 0
    write 991232 4096
    write 794624 4096
    write 684032 4096
    write 573440 4096
    write 348160 4096
    write 65536 4096
    read 770048 4096
    flush 0 0
    write 417792 4096
    write 1122304 4096
    write 430080 4096
    write 655360 4096
    write 57344 4096
    write 1138688 4096
    write 430080 4096
    write 569344 4096
    write 430080 4096
    write 352256 4096
  client v1 reactor 0
    write 999424 4096
    write 393216 4096
    write 290816 4096
    write 1081344 4096
    flush 0 0
    write 1130496 4096
    write 401408 4096
    write 1003520 4096
    write 479232 4096
    flush 0 0
    write 172032 4096
    write 808960 1536
    write 339968 4096
    write 540672 4096
    write 671744 4096
    write 94208 4096
    write 921600 4096
    write 1110016 4096
    write 753664 4096
    write 16384 4096
    write 860160 4096
    write 929792 4096
    write 901120 4096
    write 229376 4096
    flush 0 0
    write 208896 4096
    write 417792 4096
    write 770048 4096
  client v2 reactor 0
    write 1609728 4096
    flush 0 0
    flush 0 0
    write 139264 4096
    write 221184 4096
    write 339968 4096
    write 1703936 4096
    write 462848 4096
    flush 0 0
    write 53248 4096
    write 299008 4096
    write 81920 4096
    flush 0 0
    flush 0 0
    write 1150976 4096
    write 692224 4096
    flush 0 0
    write 1974272 4096
    flush 0 0
    zero 1982464 4096
    write 1294336 4096
    write 1245184 4096
    write 1839104 4096
    flush 0 0
    write 1007616 4096
    flush 0 0
    write 1273856 4096
    write 1056768 4096
    flush 0 0
    write 1859584 4096
    write 286720 4096
    write 2043904 4096
    write 1826816 4096
    write 761856 4096
  at 4145 trouble hang 1500000000 d0 d2 d4
  end power-cut 2001
