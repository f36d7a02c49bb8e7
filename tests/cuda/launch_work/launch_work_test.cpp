// No operator may be unexpectedly slow on a GPU. The test covers every variant of the long rows of tests/ops, with
// large values for symbolic extents. No launch may do more than 64 operations per byte that it touches. No thread may
// process more than 4096 points in sequence if other threads could share them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "codegen/cuda/text/kernel_text.h"
#include "compiler/compile.h"
#include "compiler/kernel/loop_planning.h"
#include "compiler/support/error.h"
#include "compiler/support/unsupported.h"
#include "tests/ops/op_test.h"

namespace gcg::test {
namespace {

constexpr double kMostWorkPerByte = 64, kMostSteps = 4096;

/// Operators that the test does not check, with the reason.
const std::map<std::string, std::string> kExceptions = {
    {"Loop", "its turns follow each other"},
    {"Scan", "its turns follow each other"},
    {"LSTM", "a turn needs the last one's result"},
    {"GRU", "a turn needs the last one's result"},
    {"RNN", "a turn needs the last one's result"},
    {"Det", "each step of an elimination needs the last one"},
    {"Unique", "rows are sorted by their columns one after the other"},
};

/// Values for open extents: small enough that one block can sort all elements (about 2^21), and large enough to
/// distinguish quadratic from linear work.
SymbolValues large_extents(const Kernel& kernel) {
  std::set<std::string> symbols;
  for (const Operand& o : kernel.operands)
    for (const Dim& d : o.shape) symbols.merge(d.symbols());
  const double each = std::exp2(21.0 / static_cast<double>(std::max<size_t>(symbols.size(), 1)));
  const int64_t least = symbols.size() <= 4 ? 1024 : 128;
  SymbolValues values;
  for (const std::string& s : symbols) values[s] = std::max<int64_t>(least, static_cast<int64_t>(each));
  return values;
}

class KernelWork {
 public:
  explicit KernelWork(const Kernel& kernel) : kernel_(kernel), values_(large_extents(kernel)) {}

  double value(const Dim& d) const {
    SymbolValues all = values_;
    for (const std::string& s : d.symbols()) all.try_emplace(s, 128);
    return static_cast<double>(std::max<int64_t>(0, d.evaluate(all)));
  }
  double count(const std::vector<Axis>& axes) const {
    double points = 1;
    for (const Axis& a : axes) points *= value(a.extent);
    return points;
  }

  /// Number of points that an expression visits: 1, plus those of its reductions.
  double points(const Expr& e) const {
    double total = 1;
    const std::function<void(const Expr&, double)> walk = [&](const Expr& at, double times) {
      const double inside = at->kind == ExprKind::reduce ? times * count(at->reduce_axes) : times;
      if (at->kind == ExprKind::reduce) total += inside;
      for (const Expr& a : at->args) walk(a, inside);
    };
    walk(e, 1);
    return total;
  }

  double bytes() const {
    double total = 64;
    for (const Operand& o : kernel_.operands) {
      double elements = 1;
      for (const Dim& d : o.shape) elements *= value(d);
      total += elements * static_cast<double>(size_of(o.dtype));
    }
    return total;
  }

  double work() const {
    if (const auto* loop = std::get_if<LoopKernel>(&kernel_.body)) {
      double total = 0;
      for (const Stage& s : loop->stages) total += count(s.axes) * points(s.value);
      return count(loop->outer) * total;
    }
    if (const auto* program = std::get_if<ProgramKernel>(&kernel_.body))
      return count(program->outer) * steps(program->body, 1, true);
    return 0;
  }

  /// Number of points of a statement's range. A range that ends at min(begin + size, ...) has at most `size` points.
  double turns(const Statement& s, const std::map<int, Expr>& assigned) const {
    if (!s.begin) return 1;
    const double most = value(s.axis.extent);
    const auto at = s.end->kind == ExprKind::local ? assigned.find(s.end->local) : assigned.end();
    const Expr end = at == assigned.end() ? s.end : at->second;
    if (end->kind != ExprKind::binary || end->binary != BinaryOp::min) return most;
    const Expr& sum = end->args[0];
    if (sum->kind != ExprKind::binary || sum->binary != BinaryOp::add || key(sum->args[0]) != key(s.begin)) return most;
    const Expr& size = sum->args[1];
    return size->kind == ExprKind::constant ? std::min(most, static_cast<double>(size->integer)) : most;
  }

  /// Steps of one thread in a program's launch, or of all threads if `all`. `sharing` threads divide a range.
  double steps(const Statements& block, double sharing, bool all) const {
    double total = 0;
    std::map<int, Expr> assigned;
    for (const Statement& s : block) {
      if (s.kind == Statement::Kind::assign) assigned[s.local] = s.value;
      const double turns = this->turns(s, assigned);
      const double inside = std::max(steps(s.body, sharing, all), steps(s.otherwise, sharing, all));
      switch (s.kind) {
        case Statement::Kind::launch:
        case Statement::Kind::shared_launch: {
          const double threads = s.kind == Statement::Kind::shared_launch ? 512 : 1;
          if (all)
            total += value(s.axis.extent) * steps(s.body, 1, true);
          else
            total = std::max(total, steps(s.body, threads, false));
          break;
        }
        case Statement::Kind::loop:
          total += turns * std::max(inside, 1.0);
          break;
        case Statement::Kind::loop_while:
        case Statement::Kind::branch:
          total += inside;
          break;
        default:
          total +=
              std::ceil(turns / (s.kind == Statement::Kind::order ? 1024 : sharing)) * (s.value ? points(s.value) : 1);
      }
    }
    return total;
  }

  /// The longest sequence of points for one thread.
  double serial_steps(const cuda::KernelText& text) const {
    if (const auto* program = std::get_if<ProgramKernel>(&kernel_.body)) return steps(program->body, 1, false);
    const double threads = value(text.tasks) * text.threads;
    return threads > 0 ? work() / threads : 0;
  }

 private:
  const Kernel& kernel_;
  SymbolValues values_;
};

/// Collects kernels as text and counts their work; nothing is assembled.
class CountingBackend final : public Backend {
 public:
  DeviceClass device() const override { return DeviceClass::cuda; }

  CompiledBlob compile(const std::vector<const Kernel*>& kernels, const Target& target, int) const override {
    CompiledBlob blob;
    for (const Kernel* kernel : kernels) {
      const cuda::KernelText text = cuda::emit_kernel(*kernel, target);
      count(*kernel, text);
      CompiledKernel& out = blob.kernels.emplace_back();
      out.params = text.params;
      out.tasks = text.tasks;
      out.scratch_bytes = text.scratch_bytes;
      out.symbol = text.symbol;
      out.threads = text.threads;
      out.may_fail = text.may_fail;
      out.offset = blob.code.size();
      out.size = 64;
      blob.code.resize(blob.code.size() + out.size);
    }
    return blob;
  }

  static std::string row;  // the counted kernel

 private:
  static void count(const Kernel& kernel, const cuda::KernelText& text) {
    const KernelWork w(kernel);
    const double work = w.work(), bytes = w.bytes(), steps = w.serial_steps(text);
    EXPECT_LE(work, kMostWorkPerByte * bytes) << row << ": kernel '" << kernel.name << "' visits " << work
                                              << " points for " << bytes << " bytes; " << text.note;
    EXPECT_LE(steps, kMostSteps) << row << ": a thread of kernel '" << kernel.name << "' visits " << steps
                                 << " points; " << text.note;
  }
};
std::string CountingBackend::row;

/// Operators on layouts that only CPU plans have.
constexpr std::string_view kForCpus[] = {"BlockedConv", "PackedMatMul", "WinogradConv"};

int forms_counted = 0;

void count_form(const RowVariant& variant) {
  if (std::count(std::begin(kForCpus), std::end(kForCpus), variant.row.op) > 0 || kExceptions.contains(variant.row.op))
    return;
  CountingBackend::row = concat(variant.row.op, ": ", variant.row.what);
  CompileOptions options;
  options.targets = {"sm_90a"};
  Backends backends;
  backends.push_back(std::make_unique<CountingBackend>());
  try {
    compile(variant.graph.clone(), "", options, backends);
    ++forms_counted;
  } catch (const UnsupportedModel&) {
    return;  // compiled_ops_test checks these refusals
  }
}

const bool hooked = [] {
  check_form_further = count_form;
  return true;
}();

/// A sum over n for each of n elements, as an operator without its own kernel would compute it.
TEST(LaunchWork, QuadraticWorkIsFound) {
  EXPECT_TRUE(hooked);
  const Dim n = Dim::symbol("n");
  const Axis i{0, n}, j{1, n};
  Kernel kernel;
  kernel.name = "prefix";
  kernel.operands = {{DType::f32, {n}}, {DType::f32, {n}, true}};
  LoopKernel loop;
  Stage store;
  store.axes = {i};
  store.operand = 1;
  store.index = {axis_ref(i)};
  store.value = reduce(ReduceOp::sum, {j}, load(0, DType::f32, {axis_ref(j)}));
  loop.stages = {store};
  kernel.body = loop;
  const KernelWork w(kernel);
  EXPECT_GT(w.work(), kMostWorkPerByte * w.bytes());
}

}  // namespace
}  // namespace gcg::test
