#include "tests/codegen/loop_harness.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <random>

#include "artifact_schema/imports.h"
#include "artifact_schema/kernel_abi.h"
#include "codegen/cpu/cpu_backend.h"
#include "compiler/support/error.h"
#include "tests/ops/expr_eval.h"

namespace gcg::test {
namespace {

/// The address of an import, by name.
const void* import_address(const std::string& name) {
  static const std::map<std::string, const void*> table = [] {
    std::map<std::string, const void*> t;
#define ADD_1(name)                                                                \
  t[#name] = reinterpret_cast<const void*>(static_cast<double (*)(double)>(name)); \
  t[#name "f"] = reinterpret_cast<const void*>(static_cast<float (*)(float)>(name##f));
#define ADD_2(name)                                                                        \
  t[#name] = reinterpret_cast<const void*>(static_cast<double (*)(double, double)>(name)); \
  t[#name "f"] = reinterpret_cast<const void*>(static_cast<float (*)(float, float)>(name##f));
    GART_IMPORTS_1(ADD_1)
    GART_IMPORTS_2(ADD_2)
#undef ADD_1
#undef ADD_2
        return t;
  }();
  auto it = table.find(name);
  GCG_CHECK(it != table.end(), "import ", name, " is not on the list");
  return it->second;
}

size_t page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/// 64-byte aligned bytes; behind them (rounded up to 64) lies a page that may not be touched.
class FencedBytes {
 public:
  explicit FencedBytes(size_t bytes) : bytes_(bytes), room_(round_up(std::max<size_t>(bytes, 1), 64)) {
    mapped_ = round_up(room_, page()) + page();
    map_ = static_cast<uint8_t*>(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    GCG_CHECK(map_ != MAP_FAILED, "mmap of ", mapped_, " bytes");
    GCG_CHECK(mprotect(map_ + mapped_ - page(), page(), PROT_NONE) == 0, "mprotect");
    std::memset(data(), kMark, room_);
  }
  ~FencedBytes() { munmap(map_, mapped_); }
  FencedBytes(const FencedBytes&) = delete;
  FencedBytes& operator=(const FencedBytes&) = delete;

  uint8_t* data() { return map_ + mapped_ - page() - room_; }
  void check_padding() {
    for (size_t i = bytes_; i < room_; ++i) GCG_CHECK(data()[i] == kMark, "byte ", i, " behind an operand was written");
  }

 private:
  static constexpr uint8_t kMark = 0xA5;
  size_t bytes_, room_, mapped_ = 0;
  uint8_t* map_ = nullptr;
};

}  // namespace

bool runs_here(const std::string& target) {
#if defined(__x86_64__)
  if (target == "x86-64-v3") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (target == "x86-64-v4") return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#endif
  return false;
}

std::vector<std::string> runnable_targets() {
  std::vector<std::string> targets;
  for (const char* name : {"x86-64-v3", "x86-64-v4"})
    if (runs_here(name)) targets.push_back(name);
  return targets;
}

RunnableKernel::RunnableKernel(const Kernel& kernel, const std::string& target) : kernel_(&kernel) {
  verify_kernel(kernel);
  blob_ = cpu::make_cpu_backend()->compile({&kernel}, *find_target(target), 1);
  code_ = mmap(nullptr, blob_.code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  GCG_CHECK(code_ != MAP_FAILED, "mmap of ", blob_.code.size(), " bytes of code");
  std::memcpy(code_, blob_.code.data(), blob_.code.size());
  GCG_CHECK(mprotect(code_, blob_.code.size(), PROT_READ | PROT_EXEC) == 0, "mprotect");
  for (const std::string& name : blob_.imports) imports_.push_back(import_address(name));
}

RunnableKernel::~RunnableKernel() { munmap(code_, blob_.code.size()); }

int32_t RunnableKernel::call(const std::vector<void*>& buffers, const SymbolValues& symbols, int64_t begin,
                             int64_t end) const {
  std::vector<int64_t> params;
  for (const Dim& d : info().params) params.push_back(d.evaluate(symbols));
  const int64_t scratch_bytes = info().scratch_bytes.evaluate(symbols);
  std::unique_ptr<FencedBytes> scratch;
  if (scratch_bytes > 0) scratch = std::make_unique<FencedBytes>(static_cast<size_t>(scratch_bytes));
  const gart_kernel_args args{buffers.data(), params.data(), scratch ? scratch->data() : nullptr, imports_.data()};
  auto* entry = reinterpret_cast<gart_kernel>(static_cast<uint8_t*>(code_) + info().offset);
  return entry(&args, begin, end);
}

int32_t RunnableKernel::run(std::vector<Tensor>& operands, const SymbolValues& symbols, bool split) const {
  std::vector<std::unique_ptr<FencedBytes>> memory;
  std::vector<void*> buffers;
  for (const Tensor& t : operands) {
    memory.push_back(std::make_unique<FencedBytes>(static_cast<size_t>(t.bytes())));
    if (t.bytes() > 0) std::memcpy(memory.back()->data(), t.data(), static_cast<size_t>(t.bytes()));
    buffers.push_back(memory.back()->data());
  }
  const int64_t count = tasks(symbols);
  int32_t status = GART_KERNEL_OK;
  if (!split)
    status = call(buffers, symbols, 0, count);
  else
    for (int64_t t = count; t-- > 0;) status |= call(buffers, symbols, t, t + 1);
  for (size_t i = 0; i < operands.size(); ++i) {
    memory[i]->check_padding();
    if (!kernel_->operands[i].written || operands[i].bytes() == 0) continue;
    Tensor result(operands[i].dtype(), operands[i].shape());
    std::memcpy(result.mutable_data(), memory[i]->data(), static_cast<size_t>(result.bytes()));
    operands[i] = result;
  }
  return status;
}

namespace {

/// Runs `body` for every point of the axes.
void for_points(const std::vector<Axis>& axes, const SymbolValues& symbols, ExprEvaluator& evaluator,
                const std::function<void()>& body, size_t depth = 0) {
  if (depth == axes.size()) return body();
  for (int64_t i = 0; i < axes[depth].extent.evaluate(symbols); ++i) {
    evaluator.set_axis(axes[depth].id, i);
    for_points(axes, symbols, evaluator, body, depth + 1);
  }
}

Scalar constant_value(const Expr& e) { return {e->number, e->integer}; }

void set(Tensor& tensor, int64_t i, Scalar value) {
  if (is_float(tensor.dtype()))
    tensor.set_double(i, value.number);
  else
    tensor.set_int(i, value.integer);
}

BinaryOp step_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return BinaryOp::add;
    case ReduceOp::prod:
      return BinaryOp::mul;
    case ReduceOp::max:
      return BinaryOp::max;
    case ReduceOp::min:
      return BinaryOp::min;
    case ReduceOp::logical_and:
      return BinaryOp::logical_and;
    case ReduceOp::logical_or:
      return BinaryOp::logical_or;
  }
  return BinaryOp::add;
}

}  // namespace

void interpret(const Kernel& kernel, std::vector<Tensor>& operands, const SymbolValues& symbols) {
  const auto& loop = std::get<LoopKernel>(kernel.body);
  std::vector<const Tensor*> readable;
  for (Tensor& t : operands) readable.push_back(&t);
  ExprEvaluator evaluator(readable, symbols);
  for_points(loop.outer, symbols, evaluator, [&] {
    for (const Stage& stage : loop.stages) {
      if (stage.kind == Stage::Kind::reduce) {
        const DType dtype = stage.value->dtype;
        Scalar sum = constant_value(reduce_identity(stage.reduce, dtype));
        const BinaryOp step = step_of(stage.reduce);
        for_points(stage.axes, symbols, evaluator,
                   [&] { sum = apply(step, dtype, sum, evaluator.evaluate(stage.value)); });
        evaluator.set_local(stage.local, sum);
        continue;
      }
      Tensor& result = operands[static_cast<size_t>(stage.operand)];
      for_points(stage.axes, symbols, evaluator, [&] {
        int64_t offset = 0;
        for (size_t d = 0; d < stage.index.size(); ++d)
          offset = offset * result.shape()[d] + evaluator.evaluate(stage.index[d]).integer;
        set(result, offset, evaluator.evaluate(stage.value));
      });
    }
  });
}

Tensor random_tensor(DType dtype, const std::vector<int64_t>& shape, double range, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-range, range);
  Tensor t(dtype, shape);
  for (int64_t i = 0; i < t.elements(); ++i) {
    const double v = uniform(generator);
    if (is_float(dtype))
      t.set_double(i, v);
    else if (dtype == DType::boolean)
      t.set_int(i, v > 0);
    else
      t.set_int(i, static_cast<int64_t>(is_unsigned_int(dtype) ? std::fabs(v) : v));
  }
  return t;
}

std::vector<Tensor> random_operands(const Kernel& kernel, const SymbolValues& symbols, double range) {
  std::vector<Tensor> operands;
  for (const Operand& o : kernel.operands) {
    std::vector<int64_t> shape;
    for (const Dim& d : o.shape) shape.push_back(d.evaluate(symbols));
    operands.push_back(random_tensor(o.dtype, shape, range, static_cast<uint32_t>(operands.size() + 1)));
  }
  return operands;
}

namespace {

void expect_close(const Tensor& expected, const Tensor& actual, double tolerance, const std::string& what) {
  int wrong = 0;
  for (int64_t i = 0; i < expected.elements() && wrong < 5; ++i) {
    bool good = true;
    if (is_float(expected.dtype())) {
      const double e = expected.at_double(i), a = actual.at_double(i);
      good = std::isnan(e) ? std::isnan(a) : e == a || std::fabs(e - a) <= tolerance * std::max(1.0, std::fabs(e));
      if (!good) ADD_FAILURE() << what << ", element " << i << ": expected " << e << ", got " << a;
    } else {
      good = expected.at_int(i) == actual.at_int(i);
      if (!good)
        ADD_FAILURE() << what << ", element " << i << ": expected " << expected.at_int(i) << ", got "
                      << actual.at_int(i);
    }
    wrong += good ? 0 : 1;
  }
}

}  // namespace

void expect_matches(const Kernel& kernel, const std::vector<Tensor>& operands, const SymbolValues& symbols,
                    double tolerance) {
  std::vector<Tensor> expected = operands;
  for (Tensor& t : expected) {  // own copies: `operands` may be shared
    Tensor copy(t.dtype(), t.shape());
    if (t.bytes() > 0) std::memcpy(copy.mutable_data(), t.data(), static_cast<size_t>(t.bytes()));
    t = copy;
  }
  interpret(kernel, expected, symbols);
  for (const std::string& target : runnable_targets()) {
    const RunnableKernel runnable(kernel, target);
    std::vector<Tensor> whole = operands, split = operands;
    EXPECT_EQ(runnable.run(whole, symbols, false), GART_KERNEL_OK);
    EXPECT_EQ(runnable.run(split, symbols, true), GART_KERNEL_OK);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!kernel.operands[i].written) continue;
      const std::string what = concat(kernel.name, " for ", target, ", operand ", i);
      expect_close(expected[i], whole[i], tolerance, what);
      EXPECT_TRUE(whole[i].bytes() == 0 ||
                  std::memcmp(whole[i].data(), split[i].data(), static_cast<size_t>(whole[i].bytes())) == 0)
          << what << ": the result depends on the split into tasks";
    }
  }
}

}  // namespace gcg::test
