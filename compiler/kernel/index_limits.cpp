#include "compiler/kernel/index_limits.h"

#include <utility>

#include "compiler/support/error.h"

namespace gcg {
namespace {

class Limits {
 public:
  void add(const Expr& e) {
    if (e == nullptr) return;
    visit(e, [this](const ExprNode& n) {
      if (n.kind == ExprKind::binary && n.binary == BinaryOp::checked_index) add_range(n.args[0], n.args[1]);
    });
  }
  void add(const LoopKernel& k) {
    for (const Stage& stage : k.stages) {
      add(stage.value);
      for (const Expr& i : stage.index) add(i);
    }
  }
  void add(const AttentionKernel& k) {
    add(k.scores);
    add(k.epilogue);
  }
  void add(const ProgramKernel& k) { add(k.body); }
  void add(const Block& block) {
    for (const Statement& s : block) {
      for (const Expr& e : {s.value, s.begin, s.end}) add(e);
      for (const Expr& i : s.index) add(i);
      add(s.body);
      add(s.otherwise);
    }
  }
  template <class Contraction>
  void add(const Contraction& k) {
    add(k.epilogue);
  }

  std::set<std::string> take() { return std::move(ranges_); }

 private:
  /// A selected index is one that counts from the end where it is negative.
  void add_range(const Expr& index, const Expr& limit) {
    if (limit->kind != ExprKind::extent && limit->kind != ExprKind::constant) return;
    const Dim most = limit->kind == ExprKind::extent ? limit->dim : Dim(limit->integer);
    const std::string least = index->kind == ExprKind::select ? (Dim(0) - most).str() : "0";
    ranges_.insert(concat("[", least, ", ", most.str(), ")"));
  }

  std::set<std::string> ranges_;
};

}  // namespace

std::set<std::string> index_limits(const Kernel& kernel) {
  Limits limits;
  std::visit([&](const auto& body) { limits.add(body); }, kernel.body);
  return limits.take();
}

}  // namespace gcg
