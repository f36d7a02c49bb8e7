// The compiler verifies its own output. This test checks that it detects a code generator that describes its code
// wrongly.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "codegen/cpu/cpu_backend.h"
#include "compiler/compile.h"
#include "compiler/gir/gir.h"
#include "compiler/support/error.h"

namespace gcg::test {
namespace {

using Fault = std::function<void(CompiledBlob&)>;

class FaultyBackend final : public Backend {
 public:
  explicit FaultyBackend(Fault fault) : fault_(std::move(fault)) {}
  DeviceClass device() const override { return DeviceClass::cpu; }
  CompiledBlob compile(const std::vector<const Kernel*>& kernels, const Target& target, int threads) const override {
    CompiledBlob blob = sound_->compile(kernels, target, threads);
    fault_(blob);
    return blob;
  }

 private:
  const std::unique_ptr<Backend> sound_ = cpu::make_cpu_backend();
  const Fault fault_;
};

/// The compilation's error; empty if it succeeds.
std::string compile_with(Fault fault) {
  Graph graph = parse_graph("graph g(%x: f32[4]) -> (%y) {\n  %y = Exp(%x)\n}\n");
  CompileOptions options;
  options.targets = {"x86-64-v3"};
  Backends backends;
  backends.push_back(std::make_unique<FaultyBackend>(std::move(fault)));
  try {
    compile(std::move(graph), "", options, backends);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

TEST(OwnBytes, AreReadBeforeTheyAreGiven) {
  EXPECT_EQ(compile_with([](CompiledBlob&) {}), "");
  const Fault faults[] = {
      [](CompiledBlob& blob) { blob.kernels[0].offset = blob.code.size(); },
      [](CompiledBlob& blob) { blob.code.resize(1); },
      [](CompiledBlob& blob) { blob.imports.emplace_back("system"); },
  };
  for (const Fault& fault : faults)
    EXPECT_NE(compile_with(fault).find("the verifier refuses the artifact: "), std::string::npos) << &fault - faults;
}

}  // namespace
}  // namespace gcg::test
