// sm_90a: macros for each number of columns of a wgmma: the names of its registers in the text of the instruction, and
// its sums as operands. gart_wgmma.cuh and gart_wgmma_whole.cuh build their instructions from them.
#pragma once

#define GART_NAMES_4 "%0,%1,%2,%3"
#define GART_NAMES_8 GART_NAMES_4 ",%4,%5,%6,%7"
#define GART_NAMES_12 GART_NAMES_8 ",%8,%9,%10,%11"
#define GART_NAMES_16 GART_NAMES_12 ",%12,%13,%14,%15"
#define GART_NAMES_20 GART_NAMES_16 ",%16,%17,%18,%19"
#define GART_NAMES_24 GART_NAMES_20 ",%20,%21,%22,%23"
#define GART_NAMES_28 GART_NAMES_24 ",%24,%25,%26,%27"
#define GART_NAMES_32 GART_NAMES_28 ",%28,%29,%30,%31"
#define GART_NAMES_36 GART_NAMES_32 ",%32,%33,%34,%35"
#define GART_NAMES_40 GART_NAMES_36 ",%36,%37,%38,%39"
#define GART_NAMES_44 GART_NAMES_40 ",%40,%41,%42,%43"
#define GART_NAMES_48 GART_NAMES_44 ",%44,%45,%46,%47"
#define GART_NAMES_52 GART_NAMES_48 ",%48,%49,%50,%51"
#define GART_NAMES_56 GART_NAMES_52 ",%52,%53,%54,%55"
#define GART_NAMES_60 GART_NAMES_56 ",%56,%57,%58,%59"
#define GART_NAMES_64 GART_NAMES_60 ",%60,%61,%62,%63"
#define GART_NAMES_68 GART_NAMES_64 ",%64,%65,%66,%67"
#define GART_NAMES_72 GART_NAMES_68 ",%68,%69,%70,%71"
#define GART_NAMES_76 GART_NAMES_72 ",%72,%73,%74,%75"
#define GART_NAMES_80 GART_NAMES_76 ",%76,%77,%78,%79"
#define GART_NAMES_84 GART_NAMES_80 ",%80,%81,%82,%83"
#define GART_NAMES_88 GART_NAMES_84 ",%84,%85,%86,%87"
#define GART_NAMES_92 GART_NAMES_88 ",%88,%89,%90,%91"
#define GART_NAMES_96 GART_NAMES_92 ",%92,%93,%94,%95"
#define GART_NAMES_100 GART_NAMES_96 ",%96,%97,%98,%99"
#define GART_NAMES_104 GART_NAMES_100 ",%100,%101,%102,%103"
#define GART_NAMES_108 GART_NAMES_104 ",%104,%105,%106,%107"
#define GART_NAMES_112 GART_NAMES_108 ",%108,%109,%110,%111"
#define GART_NAMES_116 GART_NAMES_112 ",%112,%113,%114,%115"
#define GART_NAMES_120 GART_NAMES_116 ",%116,%117,%118,%119"
#define GART_NAMES_124 GART_NAMES_120 ",%120,%121,%122,%123"
#define GART_NAMES_128 GART_NAMES_124 ",%124,%125,%126,%127"

/// `as`: the constraint, "+f" or "+r".
#define GART_SUMS_OF_4(as, i) as(d[i]), as(d[i + 1]), as(d[i + 2]), as(d[i + 3])
#define GART_SUMS_4(as) GART_SUMS_OF_4(as, 0)
#define GART_SUMS_8(as) GART_SUMS_4(as), GART_SUMS_OF_4(as, 4)
#define GART_SUMS_12(as) GART_SUMS_8(as), GART_SUMS_OF_4(as, 8)
#define GART_SUMS_16(as) GART_SUMS_12(as), GART_SUMS_OF_4(as, 12)
#define GART_SUMS_20(as) GART_SUMS_16(as), GART_SUMS_OF_4(as, 16)
#define GART_SUMS_24(as) GART_SUMS_20(as), GART_SUMS_OF_4(as, 20)
#define GART_SUMS_28(as) GART_SUMS_24(as), GART_SUMS_OF_4(as, 24)
#define GART_SUMS_32(as) GART_SUMS_28(as), GART_SUMS_OF_4(as, 28)
#define GART_SUMS_36(as) GART_SUMS_32(as), GART_SUMS_OF_4(as, 32)
#define GART_SUMS_40(as) GART_SUMS_36(as), GART_SUMS_OF_4(as, 36)
#define GART_SUMS_44(as) GART_SUMS_40(as), GART_SUMS_OF_4(as, 40)
#define GART_SUMS_48(as) GART_SUMS_44(as), GART_SUMS_OF_4(as, 44)
#define GART_SUMS_52(as) GART_SUMS_48(as), GART_SUMS_OF_4(as, 48)
#define GART_SUMS_56(as) GART_SUMS_52(as), GART_SUMS_OF_4(as, 52)
#define GART_SUMS_60(as) GART_SUMS_56(as), GART_SUMS_OF_4(as, 56)
#define GART_SUMS_64(as) GART_SUMS_60(as), GART_SUMS_OF_4(as, 60)
#define GART_SUMS_68(as) GART_SUMS_64(as), GART_SUMS_OF_4(as, 64)
#define GART_SUMS_72(as) GART_SUMS_68(as), GART_SUMS_OF_4(as, 68)
#define GART_SUMS_76(as) GART_SUMS_72(as), GART_SUMS_OF_4(as, 72)
#define GART_SUMS_80(as) GART_SUMS_76(as), GART_SUMS_OF_4(as, 76)
#define GART_SUMS_84(as) GART_SUMS_80(as), GART_SUMS_OF_4(as, 80)
#define GART_SUMS_88(as) GART_SUMS_84(as), GART_SUMS_OF_4(as, 84)
#define GART_SUMS_92(as) GART_SUMS_88(as), GART_SUMS_OF_4(as, 88)
#define GART_SUMS_96(as) GART_SUMS_92(as), GART_SUMS_OF_4(as, 92)
#define GART_SUMS_100(as) GART_SUMS_96(as), GART_SUMS_OF_4(as, 96)
#define GART_SUMS_104(as) GART_SUMS_100(as), GART_SUMS_OF_4(as, 100)
#define GART_SUMS_108(as) GART_SUMS_104(as), GART_SUMS_OF_4(as, 104)
#define GART_SUMS_112(as) GART_SUMS_108(as), GART_SUMS_OF_4(as, 108)
#define GART_SUMS_116(as) GART_SUMS_112(as), GART_SUMS_OF_4(as, 112)
#define GART_SUMS_120(as) GART_SUMS_116(as), GART_SUMS_OF_4(as, 116)
#define GART_SUMS_124(as) GART_SUMS_120(as), GART_SUMS_OF_4(as, 120)
#define GART_SUMS_128(as) GART_SUMS_124(as), GART_SUMS_OF_4(as, 124)

/// Calls make(columns, seven numbers) for each shape. The numbers are those of the operands after the sums. The first
/// one is also the number of sums of a thread.
#define GART_WGMMA_SHAPES_OF_S8(make) \
  make(8, 4, 5, 6, 7, 8, 9, 10) \
  make(16, 8, 9, 10, 11, 12, 13, 14) \
  make(24, 12, 13, 14, 15, 16, 17, 18) \
  make(32, 16, 17, 18, 19, 20, 21, 22) \
  make(48, 24, 25, 26, 27, 28, 29, 30) \
  make(64, 32, 33, 34, 35, 36, 37, 38) \
  make(80, 40, 41, 42, 43, 44, 45, 46) \
  make(96, 48, 49, 50, 51, 52, 53, 54) \
  make(112, 56, 57, 58, 59, 60, 61, 62) \
  make(128, 64, 65, 66, 67, 68, 69, 70) \
  make(144, 72, 73, 74, 75, 76, 77, 78) \
  make(160, 80, 81, 82, 83, 84, 85, 86) \
  make(176, 88, 89, 90, 91, 92, 93, 94) \
  make(192, 96, 97, 98, 99, 100, 101, 102) \
  make(208, 104, 105, 106, 107, 108, 109, 110) \
  make(224, 112, 113, 114, 115, 116, 117, 118) \
  make(240, 120, 121, 122, 123, 124, 125, 126) \
  make(256, 128, 129, 130, 131, 132, 133, 134)
#define GART_WGMMA_SHAPES(make)      \
  GART_WGMMA_SHAPES_OF_S8(make)      \
  make(40, 20, 21, 22, 23, 24, 25, 26) \
  make(56, 28, 29, 30, 31, 32, 33, 34) \
  make(72, 36, 37, 38, 39, 40, 41, 42) \
  make(88, 44, 45, 46, 47, 48, 49, 50) \
  make(104, 52, 53, 54, 55, 56, 57, 58) \
  make(120, 60, 61, 62, 63, 64, 65, 66) \
  make(136, 68, 69, 70, 71, 72, 73, 74) \
  make(152, 76, 77, 78, 79, 80, 81, 82) \
  make(168, 84, 85, 86, 87, 88, 89, 90) \
  make(184, 92, 93, 94, 95, 96, 97, 98) \
  make(200, 100, 101, 102, 103, 104, 105, 106) \
  make(216, 108, 109, 110, 111, 112, 113, 114) \
  make(232, 116, 117, 118, 119, 120, 121, 122) \
  make(248, 124, 125, 126, 127, 128, 129, 130)
