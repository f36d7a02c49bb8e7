// Runs the tables of tests/ops on this machine's GPU. $GPU_OPS_TARGET is the target. $GPU_OPS_PART, such as "3/16",
// selects one of that many equal parts of the variants, counted from 0; default: all.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "codegen/cuda/cuda_backend.h"
#include "tests/gpu/keep_context.h"
#include "tests/gpu/variant_on_gpu.h"

namespace gcg::test {
namespace {

const char* target() { return std::getenv("GPU_OPS_TARGET"); }

/// The variants that this process runs.
class Part {
 public:
  Part() {
    const char* named = std::getenv("GPU_OPS_PART");
    if (named == nullptr) return;
    const std::string text = named;
    const size_t slash = text.find('/');
    part_ = std::stoul(text);
    parts_ = std::stoul(text.substr(slash + 1));
  }
  bool takes_next() { return next_++ % parts_ == part_ && ++taken_ > 0; }
  size_t taken() const { return taken_; }

 private:
  size_t part_ = 0, parts_ = 1, next_ = 0, taken_ = 0;
};

Part& part() {
  static Part part;
  return part;
}

void check(const RowVariant& variant) {
  static const Backends backends = [] {
    Backends all;
    all.push_back(cuda::make_cuda_backend());
    return all;
  }();
  if (target() == nullptr || !part().takes_next()) return;
  check_variant_on_gpu(variant, target(), backends);
  if (!testing::Test::HasFailure()) keep_context();
}

class Count final : public testing::Environment {
 public:
  void TearDown() override { std::cout << part().taken() << " forms\n"; }
};

const bool hooked = [] {
  check_form_further = check;
  testing::AddGlobalTestEnvironment(new Count);
  return true;
}();

TEST(OpsOnGpu, TargetIsNamed) { EXPECT_TRUE(hooked && target() != nullptr) << "GPU_OPS_TARGET is not set"; }

}  // namespace
}  // namespace gcg::test
