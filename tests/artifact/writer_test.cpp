// Writing an artifact and reading it back: determinism, layout, digests, shape programs.
#include <gtest/gtest.h>

#include "artifact_schema/buffer_plan.h"
#include "artifact_schema/digest.h"
#include "artifact_schema/reader.h"
#include "artifact_schema/shape_program.h"
#include "artifact_schema/spans.h"
#include "tests/artifact/artifact_builder.h"

namespace gart {
namespace {

TEST(Writer, SameContentGivesTheSameBytes) {
  EXPECT_EQ(test::small_artifact().write(), test::small_artifact().write());
}

TEST(Writer, SectionsAreMappable) {
  test::ArtifactBuilder builder = test::small_artifact();
  builder.content.code.push_back(std::vector<uint8_t>(100, 0xc3));
  const std::vector<uint8_t> bytes = builder.write();
  ArtifactView view;
  ASSERT_EQ(read_artifact(bytes, view).message, "");
  ASSERT_EQ(view.sections.size(), 3u);
  EXPECT_EQ(view.sections[1].offset % kRawAlignment, 0u);
  EXPECT_EQ(view.sections[2].offset % kRawAlignment, 0u);
  EXPECT_EQ(view.manifest->targets()->Get(0)->code_section(), 1);
  EXPECT_EQ(view.manifest->weights_section(), 2);
  EXPECT_EQ(std::vector<uint8_t>(view.weights().begin(), view.weights().end()), builder.content.weights);
}

TEST(Digest, DoesNotDependOnThreads) {
  std::vector<uint8_t> bytes((33 << 20) + 17);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = uint8_t(i * 2654435761u >> 13);
  EXPECT_EQ(digest_section(bytes, 1), digest_section(bytes, 4));
  const Digest whole = digest_section(bytes, 4);
  bytes[20 << 20] ^= 1;
  EXPECT_NE(digest_section(bytes, 4), whole);
}

struct Case {
  fb::ExprOp op;
  int64_t a, b, expected;
};

TEST(ShapeProgram, ArithmeticRoundsDown) {
  using enum fb::ExprOp;
  for (const Case& c : {Case{add, 2, 3, 5},
                        {sub, 2, 3, -1},
                        {mul, -4, 3, -12},
                        {floor_div, 7, 2, 3},
                        {floor_div, -7, 2, -4},
                        {floor_div, 7, -2, -4},
                        {floor_div, -7, -2, 3},
                        {floor_div, 6, -2, -3},
                        {mod, 7, 3, 1},
                        {mod, -7, 3, 2},
                        {mod, 7, -3, -2},
                        {mod, -6, 3, 0},
                        {mod, INT64_MIN, -1, 0},
                        {fb::ExprOp::max, 2, 3, 3},
                        {fb::ExprOp::min, 2, 3, 2}}) {
    const std::vector<fb::Instruction> program = {{c.op, 0, 1, 0}};
    Slots slots(3);
    slots.set(0, c.a);
    slots.set(1, c.b);
    ASSERT_EQ(evaluate(program, 2, slots).message, "");
    EXPECT_EQ(slots[2], c.expected) << fb::EnumNameExprOp(c.op) << " " << c.a << " " << c.b;
  }
}

TEST(ShapeProgram, OverflowAndDivisionByZeroFail) {
  using enum fb::ExprOp;
  for (const Case& c : {Case{add, INT64_MAX, 1, 0},
                        {sub, INT64_MIN, 1, 0},
                        {mul, INT64_MAX / 2 + 1, 2, 0},
                        {floor_div, 1, 0, 0},
                        {floor_div, INT64_MIN, -1, 0},
                        {mod, 1, 0, 0}}) {
    const std::vector<fb::Instruction> program = {{c.op, 0, 1, 0}};
    Slots slots(3);
    slots.set(0, c.a);
    slots.set(1, c.b);
    EXPECT_NE(evaluate(program, 2, slots).message.find("slot 2"), std::string::npos) << fb::EnumNameExprOp(c.op);
  }
}

TEST(ShapeProgram, UnknownSymbolsLeaveTheirSlotsUnknown) {
  const std::vector<fb::Instruction> program = {
      {fb::ExprOp::constant, 0, 0, 4}, {fb::ExprOp::mul, 0, 2, 0}, {fb::ExprOp::mul, 1, 2, 0}};
  Slots slots(5);
  slots.set(0, 3);
  ASSERT_EQ(evaluate(program, 2, slots).message, "");
  EXPECT_TRUE(slots.known[3]);
  EXPECT_EQ(slots[3], 12);
  EXPECT_FALSE(slots.known[4]);
}

TEST(ShapeProgram, ReadsAsAnExpression) {
  using enum fb::ExprOp;
  const std::vector<std::string> symbols = {"batch", "seq"};
  const std::vector<fb::Instruction> program = {{constant, 0, 0, 2}, {add, 1, 2, 0},       {mul, 3, 0, 0},
                                                {sub, 0, 3, 0},      {floor_div, 4, 2, 0}, {fb::ExprOp::max, 5, 6, 0}};
  EXPECT_EQ(describe_slot(program, symbols, 0), "batch");
  EXPECT_EQ(describe_slot(program, symbols, 2), "2");
  EXPECT_EQ(describe_slot(program, symbols, 4), "(seq + 2)*batch");
  EXPECT_EQ(describe_slot(program, symbols, 5), "batch - (seq + 2)");
  EXPECT_EQ(describe_slot(program, symbols, 7), "max(batch - (seq + 2), (seq + 2)*batch//2)");
}

TEST(ShapeProgram, HugeExpressionsAreCutShort) {
  std::vector<fb::Instruction> program = {{fb::ExprOp::add, 0, 0, 0}};
  for (uint32_t i = 1; i < 200; ++i) program.emplace_back(fb::ExprOp::add, i, i, 0);
  EXPECT_LT(describe_slot(program, std::vector<std::string>{"n"}, 200).size(), 2000u);
  EXPECT_LT(describe_slot(program, std::vector<std::string>{std::string(1 << 20, 'n')}, 200).size(), 4000u);
}

TEST(Placement, LowestOffsetThatNoConflictCovers) {
  test::ArtifactBuilder b;
  const uint32_t small = b.constant(10), big = b.constant(100);
  for (const uint32_t size : {big, small, big, small}) b.buffer(fb::BufferKind::temporary, 0, size);
  b.plan().buffers[1]->conflicts = {0};
  b.plan().buffers[2]->conflicts = {1};  // shares bytes with buffer 0, because the two do not conflict
  b.plan().buffers[3]->conflicts = {0, 1};
  b.plan().placement = {0, 1, 2, 3};
  b.close_sequence();
  const std::vector<uint8_t> bytes = b.write();
  ArtifactView view;
  ASSERT_EQ(read_artifact(bytes, view).message, "");
  const fb::Plan& plan = *view.manifest->entry_points()->Get(0)->plans()->Get(0);
  Slots slots(2);
  ASSERT_EQ(evaluate(span_of(plan.program()), 0, slots).message, "");
  std::vector<BufferExtent> extents;
  ASSERT_EQ(measure_buffers(plan, slots, 0, extents).message, "");
  int64_t arena_bytes = 0;
  std::vector<PlacedRange> scratch;
  ASSERT_EQ(place_temporaries(plan, extents, arena_bytes, scratch).message, "");
  EXPECT_EQ(extents[0].offset, 0);
  EXPECT_EQ(extents[1].offset, 128);
  EXPECT_EQ(extents[2].offset, 0);
  EXPECT_EQ(extents[3].offset, 192);
  EXPECT_EQ(arena_bytes, 256);
}

}  // namespace
}  // namespace gart
