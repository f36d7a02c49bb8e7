// Convolutions of bytes against sums in 64-bit integers, run from compiled code between guard pages.
#include <gtest/gtest.h>

#include "codegen/cpu/compile_kernel.h"
#include "codegen/cpu/llvm/cpu_target.h"
#include "tests/codegen/conv_harness.h"
#include "tests/codegen/inner_loops.h"
#include "tests/codegen/matmul_runner.h"

namespace gcg::test {
namespace {

using cpu::conv_case;
using cpu::ConvCase;

constexpr int64_t block = 16;

enum class Values : uint8_t {
  any,
  extreme,
  narrow
};  // extreme: 255 by -128 throughout, where saturating arithmetic fails

/// The case with u8 inputs, i8 weights and i32 sums as the result.
Kernel kernel_of(const ConvCase& c, bool narrow) {
  Kernel kernel = cpu::make_conv_kernel(c);
  auto& conv = std::get<ConvKernel>(kernel.body);
  conv.bytes = true;
  conv.narrow = narrow;
  conv.epilogue = accumulator(DType::i32);
  conv.result = 2;
  kernel.operands = {kernel.operands[0], kernel.operands[1], kernel.operands[4]};
  kernel.operands[0].dtype = DType::u8;
  kernel.operands[1].dtype = DType::i8;
  kernel.operands[2].dtype = DType::i32;
  return kernel;
}

int64_t taps(const ConvCase& c) { return c.kernel_d * c.kernel_h * c.kernel_w; }

struct Operands {
  Operands(const ConvCase& c, Values values)
      : packing{c.in_channels / c.groups, c.out_channels, c.groups, false, true},
        place(c.planes() * c.height * c.width),
        points(c.out_depth() * c.out_height() * c.out_width()),
        x(c.batch * c.in_blocks() * place * block),
        w(packing.panels() * packing.panel_elements(taps(c))),
        y(c.batch * c.out_blocks() * points * block * 4) {
    uint64_t state = 12345;
    const auto next = [&] { return state = state * 6364136223846793005ULL + 1442695040888963407ULL, state >> 40; };
    for (int64_t i = 0; i < c.batch * c.in_blocks() * place * block; ++i)
      left()[i] = static_cast<uint8_t>(values == Values::extreme ? 255 : next());  // lanes past the last channel, too
    std::memset(right(), 0, static_cast<size_t>(packing.panels() * packing.panel_elements(taps(c))));
    for (int64_t o = 0; o < c.out_channels; ++o)
      for (int64_t i = 0; i < packing.inputs; ++i)
        for (int64_t t = 0; t < taps(c); ++t) {
          const auto any = static_cast<int8_t>(next());
          const auto narrow = static_cast<int8_t>(next() % 129 - 64);
          right()[packing.place(o, i, t, taps(c))] = values == Values::extreme  ? int8_t{-128}
                                                     : values == Values::narrow ? narrow
                                                                                : any;
        }
  }

  uint8_t* left() { return reinterpret_cast<uint8_t*>(x.floats()); }
  int8_t* right() { return reinterpret_cast<int8_t*>(w.floats()); }
  int32_t* sums() { return reinterpret_cast<int32_t*>(y.floats()); }

  int64_t expected(const ConvCase& c, int64_t n, int64_t o, int64_t plane, int64_t row, int64_t column) {
    const int64_t first = o / packing.group_outputs() * packing.inputs;
    int64_t sum = 0;
    for (int64_t t = 0; t < taps(c); ++t) {
      const int64_t kw = t % c.kernel_w, kh = t / c.kernel_w % c.kernel_h, kd = t / c.kernel_w / c.kernel_h;
      const int64_t d = plane * c.stride_d - c.pad_front + kd * c.dilation_d,
                    h = row * c.stride_h - c.pad_top + kh * c.dilation_h,
                    v = column * c.stride_w - c.pad_left + kw * c.dilation_w;
      if (d < 0 || d >= c.planes() || h < 0 || h >= c.height || v < 0 || v >= c.width) continue;
      for (int64_t i = 0; i < packing.inputs; ++i) {
        const int64_t channel = first + i,
                      at = ((n * c.in_blocks() + channel / block) * place + (d * c.height + h) * c.width + v) * block;
        sum += int64_t{left()[at + channel % block]} * right()[packing.place(o, i, t, taps(c))];
      }
    }
    return sum;
  }

  ConvPacking packing;
  int64_t place, points;
  GuardedBuffer x, w, y;
};

class ConvBytes : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!can_run(GetParam())) GTEST_SKIP() << "this machine does not run " << GetParam();
  }

  void check(const ConvCase& c, Values values = Values::any) {
    const MappedKernel kernel(kernel_of(c, values == Values::narrow), GetParam());
    Operands operands(c, values);
    const int64_t tasks = kernel.tasks(c.symbols()), threads = 3;
    GuardedBuffer scratch(kernel.info().scratch_bytes.evaluate(c.symbols()));
    for (int64_t t = 0; t < threads; ++t)
      ASSERT_EQ(kernel.run({operands.left(), operands.right(), operands.sums()}, kernel.params(c.symbols()),
                           scratch.floats(), tasks * t / threads, tasks * (t + 1) / threads),
                0);
    const int64_t rows = c.out_height(), columns = c.out_width();
    for (int64_t n = 0; n < c.batch; ++n)
      for (int64_t o = 0; o < c.out_channels; ++o)
        for (int64_t p = 0; p < operands.points; ++p) {
          const int64_t got =
              operands.sums()[((n * c.out_blocks() + o / block) * operands.points + p) * block + o % block];
          ASSERT_EQ(got, operands.expected(c, n, o, p / columns / rows, p / columns % rows, p % columns))
              << c.text() << " channel " << o << " point " << p;
        }
  }
};

INSTANTIATE_TEST_SUITE_P(Targets, ConvBytes,
                         testing::Values("x86-64-v3", "x86-64-v4", "x86-64-v4-vnni", "x86-64-v4-amx"),
                         [](const auto& target) { return target.param.substr(target.param.rfind('-') + 1); });

TEST_P(ConvBytes, KernelsStridesAndPads) {
  for (const int64_t map : {1, 3, 7, 14, 19})
    for (const int64_t kernel : {1, 3, 5})
      for (const int64_t stride : {1, 2})
        if (map + kernel / 2 * 2 >= kernel) check(conv_case(20, map, 40, kernel, stride, kernel / 2));
}

TEST_P(ConvBytes, EveryRestOfChannels) {
  for (const int64_t inputs : {1, 2, 3, 4, 5, 9, 16, 31}) check(conv_case(inputs, 6, 17, 3, 1, 1));
  for (const int64_t outputs : {1, 7, 8, 9, 16, 24, 48, 65}) check(conv_case(32, 9, outputs, 1, 1, 0));
  check(conv_case(3, 23, 32, 7, 2, 3));
}

TEST_P(ConvBytes, GroupsOfWholeBlocksAndDepthwise) {
  for (const int64_t groups : {2, 3}) {
    ConvCase c = conv_case(32 * groups, 8, 16 * groups, 3, 1, 1);
    c.groups = groups;
    check(c);
  }
  for (const int64_t channels : {16, 20, 40})
    for (const int64_t stride : {1, 2}) {
      ConvCase c = conv_case(channels, 15, channels, 3, stride, 1);
      c.groups = channels;
      check(c);
      check(c, Values::extreme);
    }
}

TEST_P(ConvBytes, SymbolicExtents) {
  for (const int64_t map : {2, 9, 30}) {
    ConvCase c = conv_case(24, map, 32, 3, 1, 1);
    c.batch = 2;
    c.symbolic_batch = c.symbolic_height = c.symbolic_width = true;
    check(c);
    c.groups = c.out_channels = 24;
    check(c);
  }
}

TEST_P(ConvBytes, DilationAndDepth) {
  ConvCase c = conv_case(16, 9, 16, 3, 1, 2);
  c.dilation_h = c.dilation_w = 2;
  check(c);
  c = conv_case(24, 5, 40, 3, 1, 6);
  c.dilation_h = c.dilation_w = 6;
  c.symbolic_height = c.symbolic_width = true;
  check(c);
  c = conv_case(16, 5, 16, 3, 1, 1);
  c.depth = 4, c.kernel_d = 3, c.pad_front = c.pad_back = 1;
  check(c);
}

/// Convolutions large enough for AMX: adjacent pixels, rows of taps with borders, single taps, several pixel ranges.
TEST_P(ConvBytes, TilesOfPixels) {
  std::vector<ConvCase> cases = {conv_case(100, 21, 40, 1, 1, 0), conv_case(64, 7, 130, 1, 2, 0),
                                 conv_case(100, 9, 130, 1, 2, 0), conv_case(64, 17, 70, 3, 1, 1),
                                 conv_case(40, 19, 100, 3, 2, 1), conv_case(48, 11, 64, 5, 1, 2),
                                 conv_case(100, 9, 130, 3, 1, 2), conv_case(96, 4, 64, 3, 1, 1)};
  cases[6].dilation_h = cases[6].dilation_w = 2;
  cases.push_back(cases[3]);
  cases.back().batch = 2;
  cases.back().symbolic_batch = cases.back().symbolic_height = cases.back().symbolic_width = true;
  for (const ConvCase& c : cases) {
    const std::string note = MappedKernel(kernel_of(c, false), GetParam()).info().note;
    EXPECT_EQ(note.find("pixels") != std::string::npos, GetParam() == "x86-64-v4-amx") << c.text() << note;
    check(c);
  }
}

TEST_P(ConvBytes, NothingSaturates) { check(conv_case(32, 6, 32, 3, 1, 1), Values::extreme); }

TEST_P(ConvBytes, NarrowWeights) {
  for (const int64_t kernel : {1, 3}) check(conv_case(40, 11, 48, kernel, 1, kernel / 2), Values::narrow);
}

TEST(ConvBytesPlan, CompilesForEveryTarget) {
  for (const char* target :
       {"x86-64-v3", "x86-64-v4", "x86-64-v4-vnni", "x86-64-v4-amx", "aarch64", "aarch64-dotprod", "aarch64-i8mm"})
    for (const int64_t groups : {1, 32}) {
      ConvCase c = conv_case(32, 9, 32, 3, 1, 1);
      c.groups = groups;
      const Kernel kernel = kernel_of(c, false);
      EXPECT_FALSE(cpu::make_cpu_backend()->compile({&kernel}, *find_target(target), 1).code.empty());
    }
}

struct Code {
  const char* target;
  const char *multiplies, *never;
  int spills;  // maximum per loop
};

TEST(ConvBytesCode, KeepsSumsInRegisters) {
  // Without VNNI no register is left for a mask, so each step reads it from the stack once.
  for (const Code& code :
       {Code{"x86-64-v3", "vpmaddwd", "vpmaddubsw", 1}, Code{"x86-64-v4-vnni", "vpdpbusd", "vpmadd", 0}})
    for (const ConvCase& c :
         {conv_case(64, 56, 64, 1, 1, 0), conv_case(64, 14, 64, 3, 1, 1), conv_case(64, 28, 128, 3, 2, 1)}) {
      SCOPED_TRACE(concat(code.target, " ", c.text()));
      int multiplying = 0;
      for (const cpu::InnerLoop& loop :
           cpu::inner_loops(cpu::kernel_assembly(kernel_of(c, false), cpu::cpu_target(*find_target(code.target))))) {
        if (loop.count({code.multiplies}) == 0) continue;
        ++multiplying;
        std::string text;
        for (const std::string& instruction : loop.instructions) text += instruction + '\n';
        EXPECT_LE(loop.spills(), code.spills) << loop.label << '\n' << text;
        EXPECT_EQ(loop.count({code.never}), 0) << text;
      }
      EXPECT_GT(multiplying, 0);
    }
}

}  // namespace
}  // namespace gcg::test
