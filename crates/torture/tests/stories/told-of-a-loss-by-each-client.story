# A flush of one client tells of lost blocks and its next one succeeds; the flush of another client tells of them too.
cygnus torture story 1
world 16508729713917180158
array log-raid groups 1 raid 2+0 chunk 4 stripe 8 segment 29 segments 32 parity rotated spare 400 reactors 1
volume v0 blocks 894976
volume v1 blocks 25
volume v2 blocks 102
cycle
  open
  client v0 reactor 0
    write 3427987456 4096
    write 2118209536 4096
    write 3509460992 4096
  client v0 reactor 0
    write 3108372480 4096
    write 119070720 4096
    zero 507625472 4096
    write 2807570432 4096
    write 1704591360 4096
    write 614162432 4096
    write 300814336 4096
    write 94011392 4096
    write 714424320 4096
    write 3490656256 4096
    write 1961533440 4096
    write 996433920 4096
    write 752029696 4096
    write 3139710976 4096
    write 2657165312 4096
    write 814694400 4096
    write 507621376 4096
    write 2124472320 4096
    write 3283853312 4096
    write 1848729600 4096
    write 808427520 4096
    write 1848733696 4096
    write 689364992 4096
    write 1541660672 4096
    write 1911402496 4096
    write 401088512 4096
    write 507617280 4096
    write 2356350976 4096
    write 2588225536 4096
    write 3371585536 4096
    write 256950272 4096
    write 3039440896 4096
    write 3515723776 4096
    write 3177312256 4096
  client v0 reactor 0
    write 457490432 4096
    write 1610596352 4096
    write 2563158016 4096
    write 689364992 4096
    write 1121771520 4096
    write 1829933056 4096
    write 2425290752 4096
    write 658022400 4096
    write 2036740096 4096
    write 1510318080 4096
    write 983900160 4096
    write 1598054400 4096
    write 1046573056 4096
    write 2199678976 4096
    write 1146843136 4096
    write 3308912640 4096
    zero 2130739200 4096
    write 883630080 4096
    write 2180878336 4096
    write 1278451712 4096
    write 1190707200 4096
    write 708157440 4096
    write 3503185920 4096
    write 31342592 4096
    write 2494218240 4096
    write 3127177216 4096
    zero 3051970560 4096
  client v1 reactor 0
    write 327680 61440
  client v1 reactor 0
    write 712704 4096
    write 237568 40960
  client v1 reactor 0
    write 724992 16384
    write 581632 57344
  client v2 reactor 0
    write 1470464 4096
    write 299008 12288 pause 822537
    write 1085440 4096 pause 659968
    read 307200 4096
    write 294912 24576 pause 898363
    write 643072 4096 pause 892688
    flush 0 0
  client v2 reactor 0
    write 1097728 53248
    write 1548288 4096 pause 458012
    write 1130496 53248
    write 1142784 36864
    read 69632 4096
    write 0 61440
    write 1183744 57344
    write 49152 32768
    flush 0 0
    flush 0 0
  client v2 reactor 0
    write 454656 4096
    write 61440 4096
    write 544768 57344
    write 24576 57344 pause 46927
    write 417792 4096
    write 40960 28672
    write 1040384 4096
    write 1531904 4096
  at 4061143 trouble unpowered 20000000000 d0
  at 224 trouble unpowered 1000000 d1
  end clean
