// Divisions of integers against 64-bit arithmetic, for all types of at most 32 bits and divisors that a run reads.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "codegen/cpu/compile_kernel.h"
#include "tests/codegen/inner_loops.h"
#include "tests/codegen/loop_harness.h"
#include "tests/codegen/loop_kernels.h"

namespace gcg::test {
namespace {

constexpr int64_t kCount = 5000;  // not a multiple of any vector

Kernel division(DType type, BinaryOp op) {
  const Operand numbers{type, {kCount}};
  return map_kernel("division", {numbers, numbers, numbers},
                    [&](const auto& i) { return binary(op, load(0, type, i), load(1, type, i)); });
}

/// The extremes, their neighbours and small numbers are frequent.
template <class T>
T any(std::mt19937_64& random) {
  const auto bits = static_cast<T>(random());
  const auto near = static_cast<T>(static_cast<T>(random() % 5) - T{2});
  switch (random() % 4) {
    case 0:
      return bits;
    case 1:
      return static_cast<T>(std::numeric_limits<T>::max() - static_cast<T>(random() % 3));
    case 2:
      return static_cast<T>(std::numeric_limits<T>::min() + static_cast<T>(random() % 3));
    default:
      return near;
  }
}

/// Zero divisors give zero, as in integer_arithmetic.cpp.
int64_t expected(BinaryOp op, int64_t a, int64_t b) {
  if (b == 0) return 0;
  const int64_t quotient = a / b, rest = a % b;
  const bool step = rest != 0 && (rest < 0) != (b < 0);
  switch (op) {
    case BinaryOp::div:
      return quotient;
    case BinaryOp::fmod:
      return rest;
    case BinaryOp::floor_div:
      return quotient - (step ? 1 : 0);
    default:
      return rest + (step ? b : 0);
  }
}

template <class T>
void check(DType type) {
  std::mt19937_64 random(7);
  for (const BinaryOp op : {BinaryOp::div, BinaryOp::fmod, BinaryOp::floor_div, BinaryOp::mod})
    for (const std::string& target : runnable_targets()) {
      const Kernel kernel = division(type, op);
      const RunnableKernel code(kernel, target);
      for (int turn = 0; turn < 20; ++turn) {
        std::vector<T> a(kCount), b(kCount), y(kCount);
        for (T& v : a) v = any<T>(random);
        for (T& v : b) v = any<T>(random);
        code.call({a.data(), b.data(), y.data()}, {}, 0, code.tasks({}));
        for (size_t i = 0; i < y.size(); ++i)
          ASSERT_EQ(y[i], static_cast<T>(expected(op, int64_t{a[i]}, int64_t{b[i]})))
              << target << " " << name_of(type) << " operator " << static_cast<int>(op) << ": " << int64_t{a[i]}
              << " by " << int64_t{b[i]};
      }
    }
}

TEST(IntegerDivision, IsExact) {
  check<int32_t>(DType::i32);
  check<uint32_t>(DType::u32);
  check<int16_t>(DType::i16);
  check<uint16_t>(DType::u16);
  check<int8_t>(DType::i8);
  check<uint8_t>(DType::u8);
}

TEST(IntegerDivision, VectorsDivideNoLaneAlone) {
  for (const DType type : {DType::i32, DType::u32, DType::i16, DType::u8})
    for (const char* target : {"x86-64-v3", "x86-64-v4"})
      for (const cpu::InnerLoop& loop : cpu::inner_loops(
               cpu::kernel_assembly(division(type, BinaryOp::div), cpu::cpu_target(*find_target(target))))) {
        if (loop.count({"vdivp"}) == 0) continue;
        EXPECT_EQ(loop.count({"idiv", "\tdiv"}), 0) << target << " " << name_of(type);
      }
  const std::string text =
      cpu::kernel_assembly(division(DType::i32, BinaryOp::div), cpu::cpu_target(*find_target("x86-64-v4")));
  EXPECT_NE(text.find("vdivpd"), std::string::npos);
}

}  // namespace
}  // namespace gcg::test
