cygnus torture story 1
world 16477262992504260727
array swan groups 2 raid 2+2 chunk 1 stripe 4 segment 21 segments 29 parity rotated spare 400 reactors 1
volume v0 blocks 347
volume v1 blocks 347
cycle
  open
  client v0 reactor 0
  client v0 reactor 0
    trim 16384 32768
    write 4096 20480
    trim 24576 40960
    write 843776 12288
    write 348160 16384
    trim 167936 4096
    flush 0 0
    flush 0 0
    read 4096 53248
    write 12288 65536
    flush 0 0
    write 589824 36864
    write 8192 16384
    write 118784 53248
    write 12288 12288
    write 4096 45056 fua
    flush 0 0
    write 0 65536 fua
    write 8192 8192 fua
    trim 1232896 20480
    read 561152 12288
    write 98304 24576
    read 0 4096
    trim 20480 24576
    write 622592 36864
    flush 0 0
    flush 0 0
    write 16384 32768
    read 749568 4096
    write 978944 36864
    write 221184 53248
    flush 0 0
    flush 0 0
    write 466944 53248
    flush 0 0
    write 16384 28672
    write 16384 49152
    write 65536 53248
    write 8192 36864
    write 1064960 45056 fua
    trim 790528 20480
    write 598016 20480 fua
    write 503808 20480 fua
    write 0 28672
    write 16384 4096
    trim 49152 40960
    write 16384 20480
    write 16384 45056
    write 8192 24576
    write 20480 61440
    read 20480 4096
    write 0 61440
    flush 0 0
    read 438272 12288
    write 36864 32768 fua
    write 24576 65536
    write 929792 40960
    write 16384 45056
    write 733184 20480
    read 90112 45056
    flush 0 0
    write 466944 24576 fua
    flush 0 0
    read 0 45056
    write 24576 45056
    read 81920 4096
    write 12288 36864 fua
    write 299008 57344
    write 69632 12288
    flush 0 0
    flush 0 0
    write 24576 49152
    write 610304 49152
    write 20480 36864 fua
    write 372736 65536
    write 28672 40960
    write 684032 40960
    read 8192 20480
  client v1 reactor 0
    write 1048576 49152
    zero 8192 32768
    write 28672 4096
    write 655360 36864
    write 315392 45056
    write 544768 65536 fua
    write 294912 24576
    write 1351680 16384
    write 0 65536
    write 1138688 16384
    write 1118208 57344 fua
    flush 0 0
    trim 28672 8192
    write 1159168 53248 fua
    write 491520 57344
    write 274432 8192 fua
    read 503808 12288
    read 20480 53248
    trim 147456 65536
    flush 0 0
    flush 0 0
    write 24576 20480
    write 540672 32768 fua
    write 1060864 28672
    write 712704 36864
    write 24576 45056
    write 536576 57344
    trim 20480 12288
    read 1241088 57344
    write 81920 32768
    write 24576 53248
    read 20480 4096
    write 1126400 8192
    write 8192 61440 fua
    write 1028096 61440
    write 638976 8192 fua
    write 974848 12288
    write 16384 40960
    write 20480 12288
    read 28672 24576
    write 434176 12288
    read 532480 61440
    flush 0 0
    read 909312 57344
    trim 12288 61440
    write 565248 32768
    trim 28672 36864
    write 196608 4096 fua
    read 901120 4096
    write 716800 45056
    write 24576 57344 fua
    read 155648 4096
    flush 0 0
    write 16384 8192
    write 1417216 4096
    write 81920 49152
    write 835584 24576
    write 159744 49152
    read 1245184 40960
    write 65536 40960
    write 24576 20480 fua
    write 1089536 28672
    write 1310720 57344
    read 458752 49152
    trim 737280 4096
    read 24576 32768
    write 1097728 20480
    write 4096 61440
    write 1290240 12288 fua
    write 4096 16384
    write 4096 12288
    read 688128 16384
    read 434176 45056
    write 532480 24576
    write 24576 8192
    write 0 28672
    read 733184 36864
    write 12288 12288
    write 0 24576
    write 28672 45056
    read 1138688 20480
    write 32768 20480
    write 0 49152 fua
    flush 0 0
    write 1015808 61440 fua
    write 1089536 8192
    read 16384 40960
    write 12288 28672 fua
    flush 0 0
    write 1052672 32768
    write 24576 49152
    write 0 28672
    write 20480 28672
    trim 28672 36864
    read 24576 40960
    write 4096 61440
    write 0 36864
    flush 0 0
    read 16384 28672
    flush 0 0
  end clean
cycle
  open stale
  client v0 reactor 0
    zero 0 24576 fua
    write 4096 4096
    flush 0 0
    write 1064960 53248
    write 28672 8192
    write 24576 32768
    flush 0 0
    write 94208 49152 fua
    write 331776 12288
    write 4096 45056
    read 434176 4096
    write 847872 36864
    write 16384 65536 fua
    write 745472 16384 fua
    read 499712 36864
    read 28672 61440
    trim 16384 4096
    flush 0 0
    trim 393216 20480
    write 643072 45056
    write 593920 24576
    write 24576 45056
    write 1142784 32768
    write 618496 49152
    trim 0 61440
    write 724992 12288
    write 1081344 16384
    write 4096 36864
    read 413696 12288
    write 503808 53248
    write 1093632 12288
    flush 0 0
    write 36864 12288 fua
    write 782336 8192 fua
    write 8192 36864
    trim 1040384 53248
    flush 0 0
    trim 380928 32768
    read 561152 61440
    write 917504 40960
    write 0 4096
    trim 8192 12288
    write 352256 53248
    flush 0 0
    write 143360 12288
    write 12288 28672
    trim 933888 36864
    write 557056 61440
    write 28672 36864
    write 892928 32768
    flush 0 0
    write 1179648 4096
    write 409600 53248
    flush 0 0
    write 4096 28672
    read 806912 20480
    write 12288 20480
    read 245760 61440
    trim 8192 24576
    write 8192 45056
    write 1056768 32768
    write 12288 65536
    read 753664 8192
    write 32768 32768
    read 745472 8192
    trim 8192 28672
    write 12288 61440
    write 24576 65536 fua
    write 1347584 49152
    read 8192 36864
    write 872448 28672
    write 12288 65536
    flush 0 0
    write 880640 4096 fua
    trim 671744 45056
    flush 0 0
    write 1277952 36864 fua
    trim 0 4096
    write 348160 36864
    read 12288 24576
    write 987136 57344
    write 1118208 12288 fua
    write 1273856 8192
    trim 126976 32768
    flush 0 0
    flush 0 0
    write 450560 53248 fua
    write 8192 53248 fua
    write 569344 36864 fua
    write 786432 45056 fua
    write 1228800 45056 fua
    write 1204224 32768
    write 8192 8192
    trim 135168 12288
    write 1064960 12288
    write 16384 40960 fua
    flush 0 0
    write 1150976 4096
    zero 1138688 40960
    trim 630784 8192
  client v0 reactor 0
    write 118784 65536 fua
    write 974848 61440
    trim 450560 61440
    read 745472 40960
    write 12288 8192
    write 24576 53248 fua
    read 86016 12288
    read 1167360 8192
    write 16384 32768
    flush 0 0
    write 16384 28672
    trim 45056 8192
    zero 8192 65536
    flush 0 0
    write 155648 61440 fua
    write 655360 20480 fua
    write 1265664 20480
    flush 0 0
    write 970752 53248 fua
    write 233472 65536
    write 1372160 12288
    write 122880 40960
    write 24576 24576 fua
    flush 0 0
    trim 1163264 40960
    write 929792 12288
    zero 798720 49152
    write 28672 8192
    trim 28672 36864
    write 4096 36864
    read 24576 8192
    write 24576 4096
    trim 16384 12288
    write 8192 40960
    write 462848 12288
    read 28672 36864
    write 180224 61440
    write 1363968 53248
    write 1171456 28672
    write 20480 20480
    write 24576 8192
    write 708608 45056
    write 0 61440
    write 8192 57344
    write 630784 36864
    write 700416 65536 fua
    flush 0 0
    write 4096 57344 fua
    flush 0 0
    flush 0 0
    read 266240 45056
    write 20480 45056
    flush 0 0
    flush 0 0
    write 12288 24576
    write 8192 8192
    trim 217088 49152
    write 233472 40960
    read 0 40960
    flush 0 0
    write 0 49152
    write 438272 45056
    write 290816 20480
    write 1187840 28672
    write 319488 16384
    write 241664 53248
    write 4096 24576
    read 24576 61440
    write 20480 45056
    read 503808 8192
    trim 278528 28672
    read 765952 20480
    flush 0 0
    read 618496 32768
    write 28672 16384
    write 294912 36864 fua
    write 1032192 32768 fua
    write 20480 12288
    trim 4096 32768
    write 28672 28672
    write 8192 36864 fua
    write 208896 40960
    write 1159168 8192
    write 20480 61440
    flush 0 0
    read 917504 28672
    write 8192 65536
    trim 4096 24576
    write 634880 8192
    write 8192 53248
    flush 0 0
    trim 8192 40960
    write 225280 28672
    write 1015808 4096
    read 180224 49152
    flush 0 0
    write 544768 16384
    write 4096 45056 fua
    write 20480 20480
    write 1236992 49152
  client v1 reactor 0
    write 24576 36864 fua
    read 0 12288
    write 28672 28672
    flush 0 0
    flush 0 0
    write 4096 61440
    write 0 57344
    write 20480 65536
    write 28672 65536
    write 8192 28672
    write 327680 40960 fua
    write 876544 20480
    write 20480 53248
    trim 8192 20480
    trim 1003520 28672
    trim 618496 65536
    zero 991232 36864
    write 12288 57344
    write 24576 28672
    write 20480 8192
    write 8192 4096
    zero 8192 32768
    write 12288 24576
    write 614400 57344
    read 602112 40960
    write 20480 24576
    flush 0 0
    write 28672 4096
    write 761856 4096 fua
    read 1339392 49152
    read 233472 16384
    write 24576 61440
    write 24576 57344
    flush 0 0
    flush 0 0
    write 1208320 28672
    flush 0 0
    write 0 53248
    flush 0 0
    write 290816 45056
    write 57344 49152
    write 4096 8192
    write 733184 28672
    write 225280 32768
    flush 0 0
    read 856064 61440
    write 266240 65536
    write 0 28672
    read 372736 12288
    read 0 20480
    write 24576 53248
    flush 0 0
    write 4096 49152 fua
    write 90112 20480 fua
    write 929792 16384
    write 405504 32768
    flush 0 0
    write 1253376 20480
    write 12288 49152
    read 143360 61440
    write 77824 32768
    write 1257472 20480 fua
    read 700416 40960
    write 20480 8192
    write 8192 24576 fua
    write 4096 65536
    write 24576 57344
    read 1409024 12288
    flush 0 0
    write 8192 53248
    write 806912 65536
    write 339968 45056 fua
    write 634880 32768
    trim 8192 65536
    write 1351680 36864
    write 540672 4096 fua
    trim 974848 53248
    write 24576 36864
    write 28672 32768
    write 4096 57344
    trim 294912 61440
    write 4096 49152 fua
    write 1118208 28672 fua
    write 1052672 53248 fua
    flush 0 0
    write 1220608 32768
    write 24576 53248
    write 1269760 49152
    zero 659456 8192
    write 1142784 53248
    zero 1024000 8192
    write 229376 36864
    write 851968 65536 fua
    write 135168 65536
    write 28672 24576
    read 12288 57344
    write 196608 4096
    write 24576 32768
    write 16384 20480 fua
    read 1363968 49152
  client v1 reactor 0
    write 20480 49152 fua
    read 20480 24576
    write 4096 8192 fua
    flush 0 0
    read 0 20480
    write 20480 65536
    write 12288 16384
    read 999424 4096
    trim 0 32768
    write 200704 40960
    write 0 12288
    zero 12288 53248
    write 24576 12288
    read 20480 36864
    flush 0 0
    trim 20480 57344
    write 1146880 32768 fua
    write 995328 61440
    trim 532480 8192
    write 16384 16384
    write 20480 4096
    write 790528 32768
    write 913408 24576
    read 884736 53248
    write 1257472 4096
    write 610304 61440
    read 28672 49152
    write 20480 24576
    write 8192 16384
    read 20480 53248
    write 0 57344
    write 1306624 45056 fua
    write 4096 24576
    write 4096 61440
    trim 466944 65536
    flush 0 0
    zero 4096 53248
    write 425984 45056
    trim 1290240 49152
    write 0 45056
    read 86016 8192
    write 0 49152
    zero 0 61440
    write 24576 32768 fua
    trim 1318912 45056
    write 520192 4096 fua
    write 606208 24576
    trim 147456 53248
    write 864256 61440 fua
    write 1036288 8192
    write 61440 36864
    flush 0 0
    write 20480 61440
    trim 319488 16384
    write 1196032 24576
    write 16384 49152 fua
    flush 0 0
    write 1314816 12288 fua
    flush 0 0
    write 16384 57344
    read 667648 53248
    write 1400832 12288
    read 655360 12288
    write 163840 53248 fua
    trim 1339392 12288
    write 466944 28672
    write 16384 36864
    write 286720 65536
    trim 360448 45056
    flush 0 0
    write 618496 12288 fua
    read 630784 24576
    write 8192 8192
    write 1359872 57344
    write 335872 61440
    read 16384 65536
    write 24576 36864
    write 4096 20480
    write 16384 61440
    trim 8192 32768
    write 487424 61440
    write 577536 65536 fua
    write 1417216 4096
    write 258048 24576 fua
    write 16384 61440
    write 24576 8192
    write 1175552 40960
    read 385024 61440
    flush 0 0
    write 8192 40960
    read 233472 57344
    write 1081344 28672 fua
    write 20480 28672
    trim 1204224 8192
    read 28672 12288
    write 28672 65536
    flush 0 0
    write 1150976 49152
    flush 0 0
    flush 0 0
  at 0 d3 slow 1
  at 1823197 d7 fails-writes
  end kill 30150383 power-cut
cycle
  open cut 38 cut 19
  force cut 623 cut 646 without d5 d6
  client v0 reactor 0
    read 401408 8192
    write 253952 57344
    write 1359872 57344
    trim 4096 45056
    write 53248 65536
    trim 0 24576
    flush 0 0
    trim 847872 12288
    trim 126976 20480
    trim 606208 49152
    write 495616 45056
    write 73728 61440
    write 8192 57344
    trim 1114112 57344
    write 991232 57344
    trim 1392640 20480
    write 1310720 20480
    write 12288 12288
    write 8192 20480 fua
    write 28672 36864 fua
    write 8192 28672
    read 512000 53248
    write 1277952 40960 fua
    flush 0 0
    read 12288 49152
    write 692224 24576
    trim 966656 45056
    flush 0 0
    write 20480 49152 fua
    write 0 16384 fua
    write 28672 12288
    write 1257472 61440 fua
    write 4096 20480
    write 20480 24576
    read 1155072 36864
    write 876544 61440
    write 28672 57344 fua
    zero 8192 40960 fua
    flush 0 0
    read 901120 49152
    trim 1290240 32768
    write 675840 8192
    write 0 45056
    write 1302528 12288
    read 4096 32768
    zero 0 53248 fua
    write 147456 61440
    flush 0 0
    write 8192 65536
    write 24576 16384
    write 0 12288
    write 1409024 12288
    write 28672 24576
    read 12288 32768
    flush 0 0
    trim 16384 32768
    read 344064 40960
    write 114688 53248
    write 991232 49152
    write 856064 16384 fua
    write 16384 65536
    write 12288 12288
    write 823296 28672
    flush 0 0
    write 1314816 49152
    write 4096 32768 fua
    write 385024 28672
    write 73728 36864
    read 1400832 16384
    write 24576 32768
    write 24576 28672
    flush 0 0
    flush 0 0
    write 20480 16384
    zero 942080 24576 fua
    trim 20480 8192
    read 8192 45056
    read 176128 40960
    write 16384 8192
    flush 0 0
    flush 0 0
    read 565248 61440
    write 802816 49152
    write 1257472 45056 fua
    write 1134592 53248 fua
    trim 720896 12288
    flush 0 0
    write 20480 53248
    write 20480 40960
    flush 0 0
    read 20480 20480
    write 913408 40960
    write 0 40960
    trim 188416 32768
    write 1114112 45056
    write 28672 8192 fua
    write 8192 61440
    write 28672 4096
    write 905216 45056
    write 0 32768 fua
  client v0 reactor 0
    write 8192 65536
    write 12288 45056
    read 16384 53248
    read 970752 16384
    trim 24576 28672
    write 1409024 8192 fua
    write 20480 4096
    write 659456 20480
    write 286720 8192
    write 487424 61440
    flush 0 0
    write 8192 20480
    zero 389120 53248 fua
    write 557056 49152
    flush 0 0
    flush 0 0
    read 987136 24576
    trim 0 65536
    read 28672 53248
    write 450560 12288 fua
    write 0 28672 fua
    write 8192 4096 fua
    write 610304 61440
    flush 0 0
    trim 8192 36864
    trim 1085440 57344
    trim 24576 61440
    write 4096 4096
    write 1032192 28672
    write 1163264 57344
    flush 0 0
    flush 0 0
    write 1146880 53248 fua
    write 4096 45056
    flush 0 0
    read 0 45056
    read 20480 24576
    read 761856 49152
    flush 0 0
    flush 0 0
    write 16384 40960
    write 974848 57344
    write 16384 32768
    write 389120 8192
    flush 0 0
    write 12288 24576
    write 20480 4096
    trim 548864 36864
    zero 4096 12288
    read 20480 8192
    write 1089536 12288
    read 4096 12288
    write 8192 12288 fua
    trim 864256 20480
    write 16384 40960 fua
    flush 0 0
    write 385024 20480 fua
    write 12288 40960
    write 1130496 61440
    write 983040 12288
    write 0 40960 fua
    write 221184 16384
    write 815104 36864 fua
    read 24576 20480
    flush 0 0
    flush 0 0
    read 1212416 12288
    write 360448 24576
    write 61440 36864
    write 221184 16384
    read 0 28672
    read 737280 57344
    read 1052672 65536
    zero 24576 20480
    read 1228800 45056
    write 516096 45056
    write 1015808 49152
    write 1298432 16384 fua
    write 28672 45056
    zero 12288 28672
    write 28672 57344
    zero 20480 65536 fua
    read 389120 57344
    flush 0 0
    write 16384 28672
    trim 577536 57344
    trim 8192 45056
    write 1327104 16384 fua
    write 925696 65536
    write 1015808 4096
    write 20480 20480
    write 8192 8192 fua
    trim 12288 61440
    flush 0 0
    read 20480 36864
    write 16384 53248
    write 868352 36864
    read 933888 40960
    write 12288 57344
    write 20480 61440
  client v1 reactor 0
    trim 0 49152
    flush 0 0
    read 0 8192
    trim 12288 53248
    read 12288 45056
    trim 8192 57344
    read 4096 12288
    write 831488 32768 fua
    read 860160 36864
    write 249856 49152
    write 4096 61440
    flush 0 0
    read 602112 57344
    write 20480 4096
    write 946176 40960
    write 1155072 28672
    write 1269760 24576
    read 4096 49152
    flush 0 0
    write 1249280 36864 fua
    flush 0 0
    write 1171456 65536
    flush 0 0
    write 8192 57344
    write 94208 61440 fua
    write 905216 20480
    write 24576 45056 fua
    write 28672 36864
    read 856064 24576
    write 569344 28672 fua
    flush 0 0
    write 20480 16384
    write 237568 53248
    write 450560 61440
    trim 782336 65536
    write 20480 57344
    write 319488 40960
    write 245760 57344
    write 745472 32768
    flush 0 0
    flush 0 0
    write 1265664 16384 fua
    trim 28672 32768
    write 28672 57344 fua
    flush 0 0
    write 0 49152 fua
    trim 364544 61440
    write 1269760 24576
    read 28672 16384
    write 0 49152
    read 8192 32768
    trim 1372160 20480
    write 577536 16384
    read 16384 24576
    zero 585728 40960
    write 323584 8192
    read 8192 12288
    read 20480 24576
    read 0 20480
    write 1077248 40960
    write 581632 16384
    write 925696 45056
    write 491520 36864
    write 0 61440
    write 253952 40960
    trim 303104 32768
    write 679936 24576
    write 8192 28672
    read 4096 12288
    flush 0 0
    write 12288 49152
    read 4096 8192
    write 634880 8192
    write 684032 16384
    flush 0 0
    trim 24576 65536
    write 24576 65536 fua
    trim 28672 57344
    flush 0 0
    read 28672 28672
    read 28672 12288
    write 28672 45056 fua
    write 24576 20480
    write 28672 28672
    read 348160 24576
    write 20480 28672
    trim 937984 65536
    write 0 12288
    write 974848 24576
    zero 757760 53248
    write 913408 61440
    read 1036288 20480
    write 4096 8192 fua
    write 4096 28672 fua
    write 610304 16384 fua
    write 24576 16384
    read 12288 4096
    read 192512 36864
    flush 0 0
    read 4096 8192
  client v1 reactor 0
    read 12288 61440
    write 606208 24576
    flush 0 0
    write 8192 65536
    flush 0 0
    write 794624 8192
    read 524288 49152
    write 8192 28672
    write 8192 8192
    write 1351680 8192 fua
    write 28672 8192
    read 12288 45056
    trim 8192 28672
    write 1077248 24576
    trim 16384 49152
    write 24576 45056
    flush 0 0
    write 86016 20480
    write 1335296 57344 fua
    write 24576 20480
    write 1118208 61440
    flush 0 0
    flush 0 0
    write 339968 53248
    flush 0 0
    write 671744 4096
    zero 8192 57344 fua
    write 24576 20480
    flush 0 0
    write 626688 49152 fua
    write 577536 57344 fua
    read 24576 12288
    read 901120 49152
    flush 0 0
    read 1388544 20480
    write 16384 40960
    write 499712 40960
    write 659456 45056 fua
    write 20480 53248
    trim 520192 32768
    zero 0 24576
    write 1134592 24576
    read 24576 65536
    read 311296 24576
    flush 0 0
    write 24576 12288
    write 1302528 65536
    write 28672 49152
    read 16384 4096
    write 475136 40960
    trim 8192 53248
    read 1396736 12288
    read 8192 4096
    flush 0 0
    trim 544768 36864
    write 651264 49152
    write 16384 49152
    read 192512 36864
    write 4096 36864 fua
    write 28672 20480
    flush 0 0
    write 634880 57344
    write 1347584 12288
    write 12288 32768
    write 499712 16384
    trim 28672 32768
    trim 319488 53248
    write 577536 24576
    write 8192 45056 fua
    write 24576 24576 fua
    write 552960 24576 fua
    write 20480 61440
    write 651264 45056
    write 24576 53248
    write 8192 8192
    write 4096 4096
    trim 806912 16384
    read 8192 36864
    read 1282048 20480
    trim 331776 61440
    flush 0 0
    read 12288 53248
    write 20480 16384
    write 331776 65536
    write 851968 4096 fua
    write 286720 65536
    write 0 12288
    trim 24576 20480
    flush 0 0
    write 700416 8192
    write 495616 49152
    read 503808 20480
    trim 221184 20480
    write 28672 53248
    write 24576 40960
    zero 28672 36864
    flush 0 0
    write 331776 8192 fua
    write 24576 4096
    flush 0 0
  at 0 d1 slow 1
  end clean
