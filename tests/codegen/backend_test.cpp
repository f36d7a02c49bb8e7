// The CPU backend as a whole: determinism, sharing, imports, position independence, every target.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>

#include "codegen/cpu/compile_kernel.h"
#include "codegen/cpu/cpu_backend.h"
#include "codegen/cpu/llvm/link_blob.h"
#include "compiler/support/error.h"
#include "tests/codegen/loop_harness.h"
#include "tests/codegen/loop_kernels.h"

namespace gcg::test {
namespace {

const char* const kTargets[] = {"x86-64-v3", "x86-64-v4", "aarch64"};

Kernel unary_kernel(UnaryOp op, DType dtype, int64_t n) {
  const Operand x{dtype, {n}};
  return map_kernel("unary", {x, x}, [=](const auto& i) { return unary(op, load(0, dtype, i)); });
}

/// Kernels with constants in memory, calls, branches, half floats, masks and reductions.
std::vector<Kernel> sample() {
  std::vector<Kernel> kernels;
  for (UnaryOp op : {UnaryOp::exp, UnaryOp::erf, UnaryOp::sin, UnaryOp::cosh, UnaryOp::round_even})
    for (int64_t n : {5, 1000}) kernels.push_back(unary_kernel(op, DType::f32, n));
  kernels.push_back(unary_kernel(UnaryOp::tanh, DType::f64, 33));
  const std::vector<DType> all{DType::f32, DType::f64, DType::f16, DType::bf16,
                               DType::i8,  DType::i64, DType::u64, DType::boolean};
  for (DType from : all)
    for (DType to : all)
      kernels.push_back(
          map_kernel("cast", {{from, {45}}, {to, {45}}}, [&](const auto& i) { return cast(to, load(0, from, i)); }));
  return kernels;
}

std::vector<const Kernel*> pointers(const std::vector<Kernel>& kernels) {
  std::vector<const Kernel*> p;
  for (const Kernel& k : kernels) p.push_back(&k);
  return p;
}

TEST(CpuBackend, BytesDoNotDependOnThreads) {
  const std::vector<Kernel> kernels = sample();
  const auto backend = cpu::make_cpu_backend();
  for (const char* target : kTargets) {
    const CompiledBlob one = backend->compile(pointers(kernels), *find_target(target), 1);
    const CompiledBlob four = backend->compile(pointers(kernels), *find_target(target), 4);
    EXPECT_EQ(one.code, four.code) << target;
    EXPECT_EQ(one.imports, four.imports);
    ASSERT_EQ(one.kernels.size(), kernels.size());
    for (const CompiledKernel& k : one.kernels) {
      EXPECT_EQ(k.offset % 64, 0u);
      EXPECT_GT(k.size, 0u);
      EXPECT_LE(k.offset + k.size, one.code.size());
    }
  }
}

TEST(CpuBackend, ImportsAreSortedAndOnlyThoseNeeded) {
  const std::vector<Kernel> kernels{unary_kernel(UnaryOp::sin, DType::f32, 9),
                                    unary_kernel(UnaryOp::erf, DType::f64, 9),
                                    unary_kernel(UnaryOp::exp, DType::f32, 9)};
  const CompiledBlob blob = cpu::make_cpu_backend()->compile(pointers(kernels), *find_target("x86-64-v3"), 1);
  EXPECT_EQ(blob.imports, (std::vector<std::string>{"erf", "sinf"}));
}

TEST(CpuBackend, EqualObjectsShareTheirBytes) {
  const Kernel kernel = unary_kernel(UnaryOp::exp, DType::f32, 1000);
  const auto target = cpu::cpu_target(*find_target("x86-64-v4"));
  const auto object = cpu::compile_kernel(kernel, target, {}).object;
  const cpu::LinkedBlob one = cpu::link_blob({{object.data(), object.size()}}, cpu::kEntryName);
  const cpu::LinkedBlob two =
      cpu::link_blob({{object.data(), object.size()}, {object.data(), object.size()}}, cpu::kEntryName);
  EXPECT_EQ(one.bytes, two.bytes);
  EXPECT_EQ(two.functions[0].offset, two.functions[1].offset);
}

TEST(CpuBackend, CodeMovesWithItsPlaceInTheBlob) {
  // A copy of the kernel after other kernels gives the same results, because the kernel addresses its constants
  // relative to its own code.
  std::vector<Kernel> kernels{unary_kernel(UnaryOp::erf, DType::f32, 100), unary_kernel(UnaryOp::exp, DType::f32, 100)};
  for (const char* target : kTargets) {
    const auto together = cpu::make_cpu_backend()->compile(pointers(kernels), *find_target(target), 1);
    EXPECT_GE(together.kernels[1].offset, together.kernels[0].offset + together.kernels[0].size);
  }
  for (const Kernel& k : kernels) expect_matches(k, random_operands(k, {}));
}

TEST(CpuBackend, Aarch64AddressesItsConstants) {
  // Follows adrp x, page ... ldr q, [x, #offset] by hand. These addresses must hold the vectors <0,1>, <2,3>, <4,5>,
  // <6,7> of each kernel's own data.
  std::vector<Kernel> kernels;
  for (int64_t n : {1000, 2000, 3000})
    kernels.push_back(map_kernel("iota", {{DType::f32, {n}}}, [](const auto& i) { return cast(DType::f32, i[0]); }));
  const CompiledBlob blob = cpu::make_cpu_backend()->compile(pointers(kernels), *find_target("aarch64"), 1);
  auto word = [&](uint64_t at) {
    uint32_t w = 0;
    std::memcpy(&w, blob.code.data() + at, sizeof w);
    return w;
  };
  for (const CompiledKernel& k : blob.kernels) {
    std::map<uint32_t, uint64_t> pages;  // register -> address of the page it holds
    std::set<uint32_t> constants;        // first words of the loaded vectors
    for (uint64_t at = k.offset; at < k.offset + k.size; at += 4) {
      const uint32_t w = word(at);
      if ((w & 0x9f000000) == 0x90000000) {  // adrp
        const uint64_t page = ((w >> 5) & 0x7ffff) << 2 | ((w >> 29) & 3);
        pages[w & 31] = (at & ~uint64_t{4095}) + page * 4096;  // forward only: constants lie after the code
      } else if ((w & 0xffc00000) == 0x3dc00000 && pages.contains((w >> 5) & 31)) {  // ldr q, unsigned offset
        const uint64_t target = pages[(w >> 5) & 31] + uint64_t{(w >> 10) & 0xfff} * 16;
        ASSERT_GT(target, at);
        ASSERT_LE(target + 16, k.offset + k.size);
        constants.insert(word(target));
      }
    }
    EXPECT_EQ(constants, (std::set<uint32_t>{0, 2, 4, 6}));
  }
}

TEST(CpuBackend, NoKernelCallsTheRuntimeLibraryOfACompiler) {
  // link_blob refuses undefined symbols. This test checks every lowering that could need one.
  for (const char* target : kTargets) {
    for (const Kernel& kernel : sample()) {
      EXPECT_NO_THROW(cpu::make_cpu_backend()->compile({&kernel}, *find_target(target), 1))
          << kernel.name << " for " << target;
    }
  }
}

TEST(CpuBackend, VectorCodeHasNoScalarLoop) {
  const Operand x{DType::f32, {4096}};
  const Kernel kernel =
      map_kernel("add", {x, x, x}, [](const auto& i) { return load(0, DType::f32, i) + load(1, DType::f32, i); });
  const std::string v3 = cpu::kernel_assembly(kernel, cpu::cpu_target(*find_target("x86-64-v3")));
  const std::string v4 = cpu::kernel_assembly(kernel, cpu::cpu_target(*find_target("x86-64-v4")));
  EXPECT_NE(v3.find("vaddps\t"), std::string::npos);
  EXPECT_NE(v3.find("%ymm"), std::string::npos);
  EXPECT_NE(v4.find("%zmm"), std::string::npos);
  EXPECT_EQ(v3.find("vaddss"), std::string::npos);
  EXPECT_EQ(v4.find("call"), std::string::npos);
}

/// An error in one kernel must not make the compilation of later kernels hang.
TEST(CpuBackend, ErrorsNameTheNode) {
  Kernel kernel = map_kernel("bad", {{DType::f16, {8}}, {DType::f16, {8}}},
                             [](const auto& i) { return unary(UnaryOp::exp, load(0, DType::f16, i)); });
  kernel.sources = {"encoder/exp_3"};
  const Kernel good = unary_kernel(UnaryOp::exp, DType::f32, 1000);
  for (int threads : {1, 4}) {
    try {
      cpu::make_cpu_backend()->compile({&good, &kernel, &good, &good, &good, &good}, *find_target("x86-64-v3"),
                                       threads);
      FAIL() << "f16 arithmetic was accepted";
    } catch (const CompileError& error) {
      EXPECT_NE(std::string(error.what()).find("encoder/exp_3"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace gcg::test
