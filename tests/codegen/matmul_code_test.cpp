// Requirements on the machine code of matrix products: the k loops hold their sums in registers.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "codegen/cpu/compile_kernel.h"
#include "codegen/cpu/cpu_backend.h"

namespace gcg::test {
namespace {

using Lines = std::vector<std::string>;

struct LoopRange {
  size_t begin = 0, end = 0;  // lines
  bool contains(const LoopRange& other) const { return begin <= other.begin && other.end <= end; }
};

int count(const Lines& lines, const LoopRange& range, const std::string& text) {
  int found = 0;
  for (size_t i = range.begin; i < range.end; ++i) found += lines[i].find(text) != std::string::npos;
  return found;
}

/// All loops: each one reaches from a label to the last jump back to this label.
std::vector<LoopRange> loops_of(const Lines& lines) {
  const std::regex label("^(\\.L\\w+):"), jump("^\\s+j\\w+\\s+(\\.L\\w+)");
  std::map<std::string, size_t> labels;
  std::map<size_t, size_t> ends;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::smatch match;
    if (std::regex_search(lines[i], match, label))
      labels[match[1]] = i;
    else if (std::regex_search(lines[i], match, jump) && labels.count(match[1]) != 0)
      ends[labels[match[1]]] = i + 1;
  }
  std::vector<LoopRange> all;
  for (const auto& [begin, end] : ends) all.push_back({begin, end});
  return all;
}

/// The multiplying loops that contain no other multiplying loop.
std::vector<LoopRange> multiplying_loops(const Lines& lines) {
  std::vector<LoopRange> all = loops_of(lines), inner;
  std::erase_if(all, [&](const LoopRange& loop) { return count(lines, loop, "vfmadd") == 0; });
  for (const LoopRange& loop : all) {
    bool innermost = true;
    for (const LoopRange& other : all) innermost &= other.begin == loop.begin || !loop.contains(other);
    if (innermost) inner.push_back(loop);
  }
  return inner;
}

Lines assembly(const Kernel& kernel, const std::string& target) {
  std::istringstream text(cpu::kernel_assembly(kernel, cpu::cpu_target(*find_target(target))));
  Lines lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

Kernel product(const Dim& m, const Dim& n, const Dim& k, bool packed, bool transposed = false) {
  MatMulKernel body;
  body.m = Axis{0, m};
  body.n = Axis{1, n};
  body.k = Axis{2, k};
  body.a = {0, 0, {}, k, 1};
  body.b = packed ? MatrixView{1, 0, {}, 0, 0} : transposed ? MatrixView{1, 0, {}, 1, k} : MatrixView{1, 0, {}, n, 1};
  body.packed_columns = packed ? 48 : 0;
  body.epilogue = accumulator(DType::f32) + load(2, DType::f32, {axis_ref(body.n)});
  body.result = 3;
  body.index = {axis_ref(body.m), axis_ref(body.n)};
  const Dim b = packed ? ceil_div(n, 48) * 48 * k : n * k;
  return {"matmul",
          {},
          {{DType::f32, {m, k}, false}, {DType::f32, {b}, false}, {DType::f32, {n}, false}, {DType::f32, {m, n}, true}},
          body};
}

/// Checks all multiplying loops of the kernel; `sums` are the numbers of FMAs in one iteration of each, in any order.
void expect_register_loops(const Kernel& kernel, const std::string& target, const std::multiset<int>& sums) {
  const Lines lines = assembly(kernel, target);
  std::multiset<int> found;
  for (const LoopRange& loop : multiplying_loops(lines)) {
    found.insert(count(lines, loop, "vfmadd"));
    EXPECT_EQ(count(lines, loop, "%rsp"), 0) << target << ": a k loop uses the stack, line " << loop.begin;
  }
  if (!sums.empty()) {
    EXPECT_EQ(found, sums) << target;
  } else {
    EXPECT_FALSE(found.empty());
  }
}

TEST(MatMulCode, ConstantShapesKeepSumsInRegisters) {
  expect_register_loops(product(128, 768, 64, true), "x86-64-v4", {2 * 8 * 3, 2 * 9 * 3});
  expect_register_loops(product(128, 768, 64, true), "x86-64-v3", {2 * 5 * 2, 2 * 6 * 2});
  for (int64_t k : {768, 3072}) {  // loops for the first block of k, and for further blocks, which add to its sums
    expect_register_loops(product(128, 768, k, true), "x86-64-v4", {2 * 8 * 3, 2 * 8 * 3, 2 * 9 * 3, 2 * 9 * 3});
    expect_register_loops(product(128, 768, k, true), "x86-64-v3", {2 * 5 * 2, 2 * 5 * 2, 2 * 6 * 2, 2 * 6 * 2});
  }
  expect_register_loops(product(197, 197, 64, false, true), "x86-64-v4", {2 * 9 * 3, 9 * 1, 2 * 8 * 3, 8 * 1});
  expect_register_loops(product(197, 64, 197, false), "x86-64-v4", {9 * 3, 9 * 1, 8 * 3, 8 * 1});
}

TEST(MatMulCode, OneRowHidesLatencyBehindSeveralSetsOfSums) {
  expect_register_loops(product(1, 768, 768, true), "x86-64-v4", {1 * 3, 4 * 3});
  expect_register_loops(product(1, 768, 768, true), "x86-64-v3", {1 * 6, 2 * 6});
}

/// Only the run decides whether weights are prefetched, and in which pass. So loops must test this before they
/// prefetch.
TEST(MatMulCode, SymbolicRowsAskBeforeTheyFetchAhead) {
  const std::regex conditional("^\\s+j[a-ln-z]");
  for (const char* target : {"x86-64-v3", "x86-64-v4"}) {
    const Lines lines = assembly(product(Dim::symbol("m"), 384, 64, true), target);
    int loops = 0;
    for (const LoopRange& loop : multiplying_loops(lines)) {
      size_t fetch = loop.begin;
      while (fetch < loop.end && lines[fetch].find("prefetch") == std::string::npos) ++fetch;
      if (fetch == loop.end) continue;
      ++loops;
      const auto first = lines.begin() + static_cast<std::ptrdiff_t>(loop.begin);
      EXPECT_TRUE(std::any_of(first, lines.begin() + static_cast<std::ptrdiff_t>(fetch),
                              [&](const std::string& line) { return std::regex_search(line, conditional); }))
          << target << ": the loop at line " << loop.begin;
    }
    EXPECT_GT(loops, 1);
  }
}

/// For a single tile, weights that stay in a cache are not prefetched, and the loop has no test for prefetching.
TEST(MatMulCode, TheOnlyTileOfNearWeightsFetchesNothing) {
  const Lines lines = assembly(product(Dim::symbol("m"), 384, 64, true), "x86-64-v4");
  const auto is_row_of_four_sets = [&](const LoopRange& loop) { return count(lines, loop, "vfmadd") == 4 * 3; };
  std::vector<LoopRange> loops = multiplying_loops(lines);
  std::erase_if(loops, [&](const LoopRange& loop) { return !is_row_of_four_sets(loop); });
  EXPECT_TRUE(std::any_of(loops.begin(), loops.end(),
                          [&](const LoopRange& loop) { return count(lines, loop, "prefetch") == 0; }));
}

/// The latency of a division between two panels would delay the loads of the next panel.
TEST(MatMulCode, PanelsFollowEachOtherWithoutDivisions) {
  for (const Dim& m : {Dim::symbol("m"), Dim(2)}) {
    const Lines lines = assembly(product(m, 4000, 256, true), "x86-64-v4");
    int around_tiles = 0;
    for (const LoopRange& loop : loops_of(lines)) {
      if (count(lines, loop, "call") == 0) continue;
      ++around_tiles;
      for (const char* division : {"divq", "divl"}) EXPECT_EQ(count(lines, loop, division), 0) << m.str();
    }
    EXPECT_GT(around_tiles, 0);
  }
}

TEST(MatMulCode, SymbolicShapesKeepSumsInRegisters) {
  const Dim m = Dim::symbol("m"), n = Dim::symbol("n"), k = Dim::symbol("k");
  for (const char* target : {"x86-64-v3", "x86-64-v4"}) {
    expect_register_loops(product(m, 768, 768, true), target, {});
    expect_register_loops(product(m, n, 64, false, true), target, {});
    expect_register_loops(product(m, 64, k, false), target, {});
    expect_register_loops(product(m, n, k, false), target, {});
  }
}

/// Products with the same depth share the code of register tiles, whichever thread compiles them.
TEST(MatMulCode, KernelsShareRegisterTiles) {
  const Dim m = Dim::symbol("m");
  const Kernel narrow = product(m, 96, 64, true), wide = product(m, 192, 64, true), deep = product(m, 96, 80, true);
  const auto backend = cpu::make_cpu_backend();
  for (const char* name : {"x86-64-v3", "x86-64-v4", "aarch64"}) {
    const Target target = *find_target(name);
    const auto bytes = [&](const std::vector<const Kernel*>& kernels, int threads) {
      return backend->compile(kernels, target, threads).code;
    };
    const auto both = bytes({&narrow, &wide}, 1), apart = bytes({&narrow, &deep}, 1);
    EXPECT_LT(both.size(), apart.size() * 4 / 5) << name;
    EXPECT_EQ(both, bytes({&narrow, &wide}, 4)) << name;
  }
}

}  // namespace
}  // namespace gcg::test
