// From text to code: the assembler's log, the cache's contents, and deterministic machine code.
#include "codegen/cuda/assembler/assemble.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "codegen/cuda/assembler/nvrtc_search.h"
#include "codegen/cuda/cuda_backend.h"
#include "compiler/support/error.h"
#include "tests/codegen/loop_kernels.h"

namespace gcg::cuda {
namespace {

namespace fs = std::filesystem;

TEST(Assembly, ReadsRegistersSpillsAndNotesFromTheLog) {
  const Usage usage = usage_of(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'f' for 'sm_90a'\n"
      "ptxas info    : (C7517) Potential Performance Loss: wgmma.mma_async instructions are serialized\n"
      "ptxas         .     40 bytes stack frame, 24 bytes spill stores, 28 bytes spill loads\n"
      "ptxas info    : Used 128 registers, used 1 barriers, 40 bytes cumulative stack size, 2048 bytes smem\n");
  EXPECT_EQ(usage.registers, 128);
  EXPECT_EQ(usage.spill_bytes, 52);
  EXPECT_EQ(usage.shared_bytes, 2048);
  ASSERT_EQ(usage.notes.size(), 1U);
  EXPECT_NE(usage.notes[0].find("C7517"), std::string::npos);
  const Usage nothing = usage_of("");
  EXPECT_EQ(nothing.registers + nothing.spill_bytes, 0);
}

class Cache : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  /// The files of the cache.
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_))
      if (entry.is_regular_file()) found.push_back(entry.path());
    return found;
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("gcc-graph-cache-" + std::to_string(getpid()));
  const AssembledProgram program_{{1, 2, 3, 0, 255}, "a log\nof two lines"};
};

TEST_F(Cache, GivesBackWhatWasPut) {
  const CubinCache cache(folder_);
  EXPECT_FALSE(cache.find("aabb"));
  cache.put("aabb", program_);
  cache.put("aacc", {{}, ""});
  ASSERT_TRUE(cache.find("aabb"));
  EXPECT_EQ(cache.find("aabb")->code, program_.code);
  EXPECT_EQ(cache.find("aabb")->log, program_.log);
  EXPECT_TRUE(cache.find("aacc")->code.empty());
}

TEST_F(Cache, DamagedEntriesCountAsMissingAndAreWrittenAnew) {
  const CubinCache cache(folder_);
  cache.put("aabb", program_);
  ASSERT_EQ(files().size(), 1U);
  const fs::path file = files()[0];
  const auto size = fs::file_size(file);
  for (uintmax_t at = 0; at < size; ++at) {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(at));
    const int old = bytes.get();
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.put(static_cast<char>(old ^ 1));
    bytes.close();
    EXPECT_FALSE(cache.find("aabb")) << "byte " << at;
    cache.put("aabb", program_);
    EXPECT_TRUE(cache.find("aabb"));
  }
  for (uintmax_t length = 0; length < size; ++length) {
    fs::resize_file(file, length);
    EXPECT_FALSE(cache.find("aabb")) << "cut to " << length;
    cache.put("aabb", program_);
  }
}

TEST_F(Cache, UnreadableEntriesCountAsMissing) {
  const CubinCache cache(folder_);
  cache.put("aabb", program_);
  const fs::path file = files().at(0);
  fs::remove(file);
  fs::create_directory(file);  // reading a folder is an error, even for root
  EXPECT_FALSE(cache.find("aabb"));
  cache.put("aabb", program_);
  EXPECT_FALSE(cache.find("aabb"));
  EXPECT_TRUE(files().empty());
}

TEST_F(Cache, ManyWritersLeaveOneWholeEntry) {
  const CubinCache cache(folder_);
  std::vector<std::jthread> writers;
  for (int t = 0; t < 4; ++t)
    writers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        cache.put("aabb", program_);
        ASSERT_TRUE(cache.find("aabb"));
      }
    });
  writers.clear();
  EXPECT_EQ(files().size(), 1U);
}

TEST_F(Cache, WithoutAFolderNothingIsKept) {
  const CubinCache none{fs::path()}, unwritable("/proc/no-such-folder");
  for (const CubinCache* cache : {&none, &unwritable}) {
    cache->put("aabb", program_);
    EXPECT_FALSE(cache->find("aabb"));
  }
}

std::vector<Kernel> some_kernels() {
  using namespace gcg::test;
  std::vector<Kernel> kernels;
  for (int64_t n : {3, 1000, 70000, 5}) {
    const Operand x{DType::f32, {n}};
    kernels.push_back(
        map_kernel("square", {x, x}, [](const auto& i) { return load(0, DType::f32, i) * load(0, DType::f32, i); }));
  }
  return kernels;
}

TEST_F(Cache, BytesDependOnNothingButKernelsAndTarget) {
  if (Nvrtc::find_for_driver(0) == nullptr) GTEST_SKIP() << "there is no NVRTC on this machine";
  const std::vector<Kernel> kernels = some_kernels();
  std::vector<const Kernel*> list;
  for (const Kernel& k : kernels) list.push_back(&k);
  for (const char* name : {"sm_80", "ptx"}) {
    const Target target = *find_target(name);
    const CompiledBlob first = make_cuda_backend("")->compile(list, target, 1);
    ASSERT_EQ(first.kernels.size(), kernels.size());
    for (const CompiledKernel& k : first.kernels) {
      EXPECT_EQ(k.offset % 64, 0U);
      EXPECT_LE(k.offset + k.size, first.code.size());
      EXPECT_FALSE(k.symbol.empty());
    }
    for (int round = 0; round < 2; ++round)  // first with a cold cache, then with a warm one
      EXPECT_EQ(make_cuda_backend(folder_)->compile(list, target, 3).code, first.code);
    EXPECT_EQ(first.kernels[0].registers > 0, !target.is_ptx());
  }
}

/// A kernel of at most 32 registers, with `values` floats live at once.
std::string text_with(const std::string& values, const std::string& includes) {
  return concat("#include \"gart_prelude.cuh\"\n", includes,
                "extern \"C\" __global__ void __launch_bounds__(1024, 2) k(float* p) {\n", "float v[", values, "];\n",
                "#pragma unroll\nfor (int i = 0; i < ", values,
                "; ++i) v[i] = p[i * 1024 + threadIdx.x];\n__syncthreads();\n", "#pragma unroll\nfor (int i = 0; i < ",
                values, "; ++i) p[i * 1024 + threadIdx.x + 1] = v[i] * v[0];\n}\n");
}

TEST(RegisterPressure, IsForWhatSpillsAndKeepsWhatSpillsLeast) {
  if (Nvrtc::find_for_driver(0) == nullptr) GTEST_SKIP() << "there is no NVRTC on this machine";
  const Target target = *find_target("sm_80");
  const CubinCache none{fs::path()};
  const Assembler assembler(target, none);
  const auto spilled = [&](const std::string& values,
                           const std::string& includes = "#include \"gart_register_pressure.cuh\"\n") {
    return usage_of(assembler.assemble(text_with(values, includes)).log).spill_bytes;
  };
  const int much = spilled("64"), more = spilled("96");
  ASSERT_GT(much, 0);
  ASSERT_GT(more, much);
  EXPECT_EQ(spilled("(GART_REGISTER_PRESSURE == 1 ? 4 : 96)"), 0);
  EXPECT_EQ(spilled("(GART_REGISTER_PRESSURE == 2 ? 4 : 96)"), 0);
  EXPECT_EQ(spilled("(GART_REGISTER_PRESSURE == 0 ? 64 : 96)"), much) << "a level that helps nothing";
  EXPECT_EQ(spilled("(GART_REGISTER_PRESSURE == 1 ? 64 : 96)"), much) << "the better of three";
  EXPECT_EQ(spilled("96", "#define GART_REGISTER_PRESSURE 0\n"), more) << "a text that knows nothing of it";
  EXPECT_EQ(assembler
                .assemble(text_with(
                    "4", "#include \"gart_register_pressure.cuh\"\n#if GART_REGISTER_PRESSURE\n#error\n#endif\n"))
                .log.find("error"),
            std::string::npos)
      << "what does not spill is not compiled again";
}

TEST(Registers, ATextThatGetsFewerThanItSharesOutKeepsThem) {
  if (Nvrtc::find_for_driver(0) == nullptr) GTEST_SKIP() << "there is no NVRTC on this machine";
  const Target target = *find_target("sm_90a");
  const CubinCache none{fs::path()};
  const Assembler assembler(target, none);
  const std::string text =
      "#ifdef GART_EVEN_REGISTERS\n#define NAME even\n#else\n#define NAME shared\n#endif\n"
      "extern \"C\" __global__ void NAME(float* p) { p[threadIdx.x] = 1; }\n";
  const auto name = [&](int least) {
    return assembler.assemble(text, least).log.find("even") != std::string::npos ? "even" : "shared";
  };
  EXPECT_STREQ(name(0), "shared");
  EXPECT_STREQ(name(1), "shared");
  EXPECT_STREQ(name(168), "even");
}

/// Searches for an NVRTC for the driver, in a process that has not searched yet. If there is none, prints the reason
/// and exits with 3.
void ask_for(const std::string& named, int driver, bool ptx) {
  setenv("GCC_GRAPH_NVRTC", named.c_str(), 1);
  try {
    Nvrtc::for_driver(driver, ptx);
  } catch (const CompileError& error) {
    std::fputs(error.what(), stderr);
    std::exit(3);
  }
  std::exit(0);
}

TEST(CubinCache, AnEntryIsForItsKeyAlone) {
  const std::filesystem::path folder = testing::TempDir() + "cubin_cache";
  std::filesystem::remove_all(folder);
  const cuda::CubinCache cache(folder);
  cache.put("aa11", {{1, 2, 3}, "log"});
  ASSERT_TRUE(cache.find("aa11"));
  EXPECT_EQ(cache.find("aa11")->log, "log");
  std::filesystem::copy_file(folder / "aa" / "aa11", folder / "aa" / "aa22");
  EXPECT_FALSE(cache.find("aa22"));
  std::filesystem::remove_all(folder);
}

TEST(Nvrtc, SaysWhichLibraryCannotBeLoaded) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(ask_for("/no/such/library.so", 0, false), testing::ExitedWithCode(3),
              "GCC_GRAPH_NVRTC names /no/such/library.so");
}

TEST(Nvrtc, ALibraryTooNewForTheDriverIsNotTaken) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  std::string path;  // this search opens no library, because a process opens libraries only once
  for (const std::string& candidate : nvrtc_candidates())
    if (path.empty() && candidate.find("/libnvrtc.so.13") != std::string::npos) path = candidate;
  if (path.empty()) GTEST_SKIP() << "there is no NVRTC 13 on this machine";
  EXPECT_EXIT(ask_for(path, 12060, false), testing::ExitedWithCode(3),
              "code for drivers from 12.6 on needs NVRTC 12, GCC_GRAPH_NVRTC names 13\\..*/libnvrtc");
  EXPECT_EXIT(ask_for(path, 12060, true), testing::ExitedWithCode(3),
              "PTX for drivers from 12.6 on needs NVRTC 12.6 or older");
  EXPECT_EXIT(ask_for(path, 13000, false), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(ask_for(path, 13990, true), testing::ExitedWithCode(0), "");
}

TEST(Nvrtc, TheNewestThatTheDriverKnowsMakesPtx) {
  const Nvrtc* newest = Nvrtc::find_for_driver(0, true);
  if (newest == nullptr) GTEST_SKIP() << "there is no NVRTC on this machine";
  EXPECT_EQ(newest, Nvrtc::find_for_driver(newest->version(), true));
  int last = newest->version();
  for (int driver = last; driver >= 12000; driver -= 10) {
    const Nvrtc* found = Nvrtc::find_for_driver(driver, true);
    if (found == nullptr) break;
    EXPECT_LE(found->version(), driver);
    if (found->version() != last) {
      EXPECT_EQ(driver, last - 10) << "an older one than needed";
    }
    last = found->version();
  }
}

TEST(Nvrtc, IsInstalledWhereItIsFound) {
  const char* active = std::getenv("VIRTUAL_ENV");
  const std::string before = active == nullptr ? "" : active;
  unsetenv("VIRTUAL_ENV");
  EXPECT_EQ(install_line("nvidia-cuda-nvrtc"), "python3 -m venv .venv && .venv/bin/pip install nvidia-cuda-nvrtc");
  setenv("VIRTUAL_ENV", "/some/where", 1);
  EXPECT_EQ(install_line("nvidia-cuda-nvrtc"), "pip install nvidia-cuda-nvrtc");
  setenv("VIRTUAL_ENV", before.c_str(), 1);
}

TEST(Nvrtc, SaysHowToInstallOne) {
  if (const Nvrtc* newest = Nvrtc::find_for_driver(0); newest != nullptr) {
    EXPECT_GE(newest->major(), 12);
    EXPECT_TRUE(newest->supports(80));
    EXPECT_FALSE(newest->supports(35));
    return;
  }
  try {
    Nvrtc::for_driver(0);
    FAIL() << "a library that is not there";
  } catch (const CompileError& error) {
    EXPECT_NE(std::string(error.what()).find("pip install nvidia-cuda-nvrtc"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace gcg::cuda
