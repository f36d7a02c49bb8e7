// Extents as `inspect` prints them: as ordinary arithmetic, they have the value that the shape program computes.
#include "tools/gcc-graph/inspect/inspect_shapes.h"

#include <gtest/gtest.h>

namespace gcg::tools {
namespace {

using gart::fb::ExprOp;
using gart::fb::Instruction;

constexpr uint32_t kH = 0, kW = 1;  // the symbols

/// A shape program over h and w, and its slots as text.
class Shapes : public testing::Test {
 protected:
  uint32_t add(ExprOp op, uint32_t a, uint32_t b, int64_t value = 0) {
    entry_.program.emplace_back(op, a, b, value);
    return static_cast<uint32_t>(entry_.program.size()) + 1;
  }
  uint32_t number(int64_t value) { return add(ExprOp::constant, 0, 0, value); }
  std::string text(uint32_t slot) {
    gart::fb::EntryPointT entry = entry_;
    for (const char* name : {"h", "w"}) {
      entry.symbols.push_back(std::make_unique<gart::fb::SymbolT>());
      entry.symbols.back()->name = name;
    }
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(gart::fb::EntryPoint::Pack(builder, &entry));
    const auto* packed = flatbuffers::GetRoot<gart::fb::EntryPoint>(builder.GetBufferPointer());
    return SlotTexts(*packed, packed->program())(slot);
  }
  uint32_t halved(uint32_t a) { return add(ExprOp::floor_div, add(ExprOp::add, a, number(1)), number(2)); }

  gart::fb::EntryPointT entry_;
};

TEST_F(Shapes, SumsAndProducts) {
  EXPECT_EQ(text(kH), "h");
  EXPECT_EQ(text(number(7)), "7");
  const uint32_t sum = add(ExprOp::add, kH, kW);
  EXPECT_EQ(text(sum), "h+w");
  EXPECT_EQ(text(add(ExprOp::mul, sum, number(3))), "(h+w)*3");
  EXPECT_EQ(text(add(ExprOp::mul, kH, sum)), "h*(h+w)");
  EXPECT_EQ(text(add(ExprOp::sub, kH, sum)), "h-(h+w)");
  EXPECT_EQ(text(add(ExprOp::max, number(0), sum)), "max(0,h+w)");
}

TEST_F(Shapes, DivisionsStayWhatTheyAre) {
  EXPECT_EQ(text(halved(kH)), "(h+1)//2");
  EXPECT_EQ(text(add(ExprOp::mul, halved(kH), halved(kW))), "(h+1)//2*((w+1)//2)");
  EXPECT_EQ(text(add(ExprOp::floor_div, kH, add(ExprOp::add, kW, number(1)))), "h//(w+1)");
  EXPECT_EQ(text(add(ExprOp::floor_div, kH, add(ExprOp::mul, kW, number(2)))), "h//(w*2)");
  EXPECT_EQ(text(add(ExprOp::mod, add(ExprOp::mul, kH, number(4)), number(8))), "h*4%8");
}

TEST_F(Shapes, NegativeNumbers) {
  EXPECT_EQ(text(add(ExprOp::add, kH, number(-255))), "h-255");
  EXPECT_EQ(text(add(ExprOp::add, kH, add(ExprOp::mul, kW, number(-1)))), "h-w");
  EXPECT_EQ(text(add(ExprOp::add, kH, add(ExprOp::mul, halved(kW), number(-3)))), "h-((w+1)//2)*3");
  EXPECT_EQ(text(add(ExprOp::mul, add(ExprOp::mul, kH, number(-1)), kW)), "(-h)*w");
  EXPECT_EQ(text(add(ExprOp::floor_div, kH, number(-2))), "h//(-2)");
}

TEST_F(Shapes, HugeProgramsAreCutShort) {
  uint32_t slot = kH;
  for (int i = 0; i < 64; ++i) slot = add(ExprOp::add, slot, slot);  // the full expression has 2^64 terms
  EXPECT_LT(text(slot).size(), 1100U);
  for (int i = 0; i < 200000; ++i) slot = add(ExprOp::mul, slot, kW);
  EXPECT_LT(text(slot).size(), 1100U);
}

}  // namespace
}  // namespace gcg::tools
