#include "compiler/kernel/index_limits.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "compiler/kernel/access_analysis.h"
#include "compiler/kernel/kernel_parts.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

using SeeRoot = std::function<void(const Expr&)>;

struct RootsOfParts : PartVisitor {
  explicit RootsOfParts(const SeeRoot& see) : see_(see) {}
  void expr(const Expr& e) const { see_(e); }

 private:
  const SeeRoot& see_;
};

template <class Body>
void each_root(const Body& k, const SeeRoot& see) {
  RootsOfParts roots(see);
  each_part(roots, k);
}

void each_root(const ProgramKernel& k, const SeeRoot& see) {
  each_statement(k.body, [&](const Statement& s) {
    for (const Expr& e : {s.value, s.begin, s.end}) see(e);
    for (const Expr& i : s.index) see(i);
  });
}

bool is_binary(const Expr& e, BinaryOp op) { return e->kind == ExprKind::binary && e->binary == op; }

std::optional<Dim> known_limit(const Expr& limit) {
  if (limit->kind == ExprKind::extent) return limit->dim;
  return limit->kind == ExprKind::constant ? std::optional(Dim(limit->integer)) : std::nullopt;
}

class Checks {
 public:
  explicit Checks(const Kernel& kernel) : kernel_(kernel) {
    if (const auto* program = std::get_if<ProgramKernel>(&kernel.body)) {
      each_statement(program->body, [this](const Statement& s) { note_value(s); });
    }
  }

  /// Visits `e` and its operands, except the sides of selects whose condition is data.
  void add(const Expr& e) {
    if (e == nullptr || !seen_.insert(e.get()).second) return;
    if (is_binary(e, BinaryOp::checked_index)) add_check(e->args[0], e->args[1]);
    if (is_binary(e, BinaryOp::logical_and)) add_bounds(e);
    const bool decided = e->kind == ExprKind::select && reads_data(e->args[0]);
    for (size_t i = 0; i < (decided ? 1 : e->args.size()); ++i) add(e->args[i]);
  }

  std::vector<IndexCheck> take() { return std::move(checks_); }

 private:
  static bool reads_data(const Expr& e) {
    bool reads = false;
    visit(e, [&](const ExprNode& n) {
      reads = reads || n.kind == ExprKind::load || n.kind == ExprKind::local || n.kind == ExprKind::accumulator;
    });
    return reads;
  }

  /// Records the value of a variable that is assigned only once.
  void note_value(const Statement& s) {
    if (s.kind == Statement::Kind::scan) values_[s.local] = values_[s.local + 1] = nullptr;
    if (s.kind != Statement::Kind::assign && s.kind != Statement::Kind::reduce) return;
    const bool first = values_.emplace(s.local, s.value).second;
    if (!first || s.kind == Statement::Kind::reduce) values_[s.local] = nullptr;
  }

  /// `e` without casts, and with each variable replaced by its only value.
  Expr plain(Expr e) const {
    for (;;) {
      if (e->kind == ExprKind::cast && is_int(e->dtype) && is_int(e->args[0]->dtype)) {
        e = e->args[0];
      } else if (const auto it = values_.find(e->local); e->kind == ExprKind::local && it != values_.end()) {
        if (it->second == nullptr) return e;
        e = it->second;
      } else {
        return e;
      }
    }
  }

  /// Recognises 0 <= i and i < limit, as programs write them.
  void add_bounds(const Expr& e) {
    const Expr &low = e->args[0], &high = e->args[1];
    if (!is_binary(low, BinaryOp::greater_equal) || !is_binary(high, BinaryOp::less)) return;
    if (!known_limit(low->args[1]).value_or(Dim(1)).is(0) || key(low->args[0]) != key(high->args[0])) return;
    add_check(high->args[0], high->args[1]);
  }

  void add_check(const Expr& checked, const Expr& limit) {
    const auto most = known_limit(limit);
    const Expr index = plain(checked);
    const bool from_end = index->kind == ExprKind::select && is_binary(index->args[0], BinaryOp::less);
    const Expr data = plain(from_end ? index->args[2] : index);
    if (!most || data->kind != ExprKind::load || !is_int(data->dtype)) return;
    IndexCheck check{.operand = data->operand, .dtype = data->dtype, .limit = *most, .from_end = from_end};
    if (!place(data, check)) return;
    if (std::ranges::find(checks_, check) == checks_.end()) checks_.push_back(std::move(check));
  }

  /// Finds which elements of the operand are checked indices: all of them, or one of each tuple.
  bool place(const Expr& data, IndexCheck& check) const {
    const Operand& operand = kernel_.operands[static_cast<size_t>(check.operand)];
    if (operand.array || operand.written) return false;
    if (operand.flat_of >= 0) check.operand = operand.flat_of;
    if (data->args.size() != operand.shape.size()) return data->args.size() == 1 && place_flat(data->args[0], check);
    for (size_t d = 0; d < data->args.size(); ++d) {
      if (data->args[d]->kind != ExprKind::constant || operand.shape[d].is(1)) continue;
      const bool is_last = d + 1 == data->args.size();
      if (!is_last || !operand.shape[d].is_constant() || operand.shape[d].constant() <= 0) return false;
      check.first = data->args[d]->integer;
      check.step = operand.shape[d].constant();
    }
    return data->args.size() != 1 || check.step != 1 || place_flat(data->args[0], check);
  }

  /// The position must be tuple * extent + constant, or one element.
  static bool place_flat(const Expr& number, IndexCheck& check) {
    if (number->kind == ExprKind::constant) {
      check.first = number->integer;
      check.step = std::numeric_limits<int64_t>::max();
      return check.first >= 0;
    }
    const bool sum = is_binary(number, BinaryOp::add) && number->args[1]->kind == ExprKind::constant;
    const Expr& tuple = sum ? number->args[0] : number;
    if (is_binary(tuple, BinaryOp::mul) && tuple->args[1]->kind == ExprKind::constant) {
      check.first = sum ? number->args[1]->integer : 0;
      check.step = tuple->args[1]->integer;
    } else if (sum) {
      return false;
    }
    return check.first >= 0 && check.step > 0;
  }

  const Kernel& kernel_;
  std::map<int, Expr> values_;  // by variable; null: the variable has several values
  std::unordered_set<const ExprNode*> seen_;
  std::vector<IndexCheck> checks_;
};

}  // namespace

std::set<std::string> index_limits(const Kernel& kernel) {
  std::set<std::string> ranges;
  const auto add = [&](const ExprNode& n) {
    if (n.kind != ExprKind::binary || n.binary != BinaryOp::checked_index) return;
    const auto most = known_limit(n.args[1]);
    if (!most) return;
    // An index that is the result of a select counts from the end if it is negative.
    const std::string least = n.args[0]->kind == ExprKind::select ? (Dim(0) - *most).str() : "0";
    ranges.insert(concat("[", least, ", ", most->str(), ")"));
  };
  const auto see = [&](const Expr& e) {
    if (e != nullptr) visit(e, add);
  };
  std::visit([&](const auto& body) { each_root(body, see); }, kernel.body);
  return ranges;
}

std::vector<IndexCheck> index_checks(const Kernel& kernel) {
  Checks checks(kernel);
  std::visit([&](const auto& body) { each_root(body, [&](const Expr& e) { checks.add(e); }); }, kernel.body);
  return checks.take();
}

}  // namespace gcg
