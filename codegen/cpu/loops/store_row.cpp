#include "codegen/cpu/loops/store_row.h"

#include <algorithm>
#include <functional>
#include <set>

#include "codegen/cpu/expressions/rounded_quotient.h"
#include "codegen/cpu/loops/vector_row.h"

namespace gcg::cpu {
namespace {

using llvm::Value;
using Values = FunctionBuilder::Values;

constexpr int64_t kAhead = 512;  // bytes

class StoreRowEmitter {
 public:
  StoreRowEmitter(FunctionBuilder& f, const StagePlan& plan, const Point& point)
      : f_(f), ir_(f.ir()), exprs_(f), plan_(plan), stage_(plan.stage), point_(point) {}

  void emit(Value* begin, Value* end) {
    for (const Expr& value : plan_.values) read_divisor(value);
    if (!plan_.interior && !plan_.shared && plan_.minor.id < 0)
      for (const Expr& value : plan_.values) read_once(value);
    if (plan_.interior) return emit_between_ends();
    if (plan_.aligned) begin = emit_head(begin, end);
    Value* enough = ir_.CreateICmpSGE(ir_.CreateSub(end, begin), f_.i64(plan_.native));
    if (!plan_.overlaps || plan_.native == 1 || is_false(enough)) return emit_plainly(begin, end);
    either(enough, [&] { emit_vectors(plan_.values, begin, begin, end); }, [&] { emit_plainly(begin, end); });
  }

  void emit_single(Value* at) { store(plan_.values, lanes(1, at, nullptr)); }

  /// Requires fewer than `native` elements.
  void emit_in_a_register(Value* begin, Value* end) {
    emit_piece(plan_.values, {.lanes = plan_.native, .masked = true, .begin = begin, .end = end});
  }

 private:
  using Emit = std::function<void()>;

  static bool is_false(Value* condition) {
    auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition);
    return known != nullptr && known->isZero();
  }
  Value* min(Value* a, Value* b) { return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b); }
  Value* max(Value* a, Value* b) { return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b); }
  void either(Value* condition, const Emit& then, const Emit& otherwise) {
    const auto values = [](const Emit& emit) {
      return [&emit] {
        emit();
        return Values{};
      };
    };
    if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(condition)) return known->isZero() ? otherwise() : then();
    f_.if_else(condition, values(then), values(otherwise));
  }

  /// Reads the divisor and zero point of a quantisation before the row. LLVM assumes that stores of bytes may change
  /// any memory.
  void read_divisor(const Expr& value) {
    const auto quantization = late_quantization_of(value);
    if (!quantization || !free_axes(quantization->divisor).empty() || !free_axes(quantization->zero).empty()) return;
    for (const Expr& e : {quantization->divisor, quantization->zero})
      point_.known[e.get()] = exprs_.evaluate(e, point_);
  }

  /// Stores the elements before the first cache line that begins in the row. Returns the position after them.
  Value* emit_head(Value* begin, Value* end) {
    const DType dtype = f_.kernel().operands[static_cast<size_t>(stage_.operand)].dtype;
    Value* first = exprs_.evaluate(stage_.index[0], lanes(1, begin, nullptr));
    Value* address = ir_.CreatePtrToInt(f_.element_address(f_.operand(stage_.operand), dtype, first), ir_.getInt64Ty());
    Value* bytes = ir_.CreateAnd(ir_.CreateNeg(address), f_.i64(f_.target().vector_bytes - 1));
    Value* count = min(ir_.CreateUDiv(bytes, f_.i64(size_of(dtype))), ir_.CreateSub(end, begin));
    store(plan_.values, lanes(plan_.native, begin, f_.first_lanes(count, plan_.native)));
    return ir_.CreateAdd(begin, count);
  }

  /// Reads values that are constant over the row before the row. LLVM assumes that the row's stores might change them.
  void read_once(const Expr& e) {
    if (!seen_.insert(e.get()).second || !is_data(e)) return;
    if (e->kind == ExprKind::reduce || (e->kind == ExprKind::select && has_guarded_load(e))) return;
    if (!depends_on(e, plan_.lane.id)) {
      if (kept_ < f_.target().vector_registers / 4 && reads_plainly(e))
        point_.known[e.get()] = exprs_.evaluate(e, point_), ++kept_;
      return;
    }
    if (e->kind == ExprKind::load) return;
    for (const Expr& a : e->args) read_once(a);
  }

  /// True if `e` may be evaluated even if the row has no elements. Then its reads need no check, and all its other
  /// operations are allowed.
  static bool reads_plainly(const Expr& e) {
    bool reads = false, plain = true;
    visit(e, [&](const ExprNode& n) {
      const bool is_load = n.kind == ExprKind::load;
      reads = reads || is_load;
      plain = plain && n.kind != ExprKind::reduce && !n.guarded;
      if (is_load) plain = plain && std::none_of(n.args.begin(), n.args.end(), is_data);
    });
    return reads && plain;
  }

  void emit_plainly(Value* begin, Value* end) {
    plan_.ends.apart ? emit_one_by_one(begin, end, f_.i64(0)) : emit_pieces(plan_.values, begin, end);
  }
  /// `skipped`: elements of the row that have no entries in tables before the entry of `begin`.
  void emit_one_by_one(Value* begin, Value* end, Value* skipped) {
    if (!plan_.ends.tabulated.empty()) point_.axes[plan_.ends.skipped.id] = skipped;
    emit_piece(values_of_ends(), {.lanes = 1, .masked = false, .begin = begin, .end = end});
  }
  const std::vector<Expr>& values_of_ends() const {
    return plan_.ends.tabulated.empty() ? plan_.values : plan_.ends.tabulated;
  }
  void emit_pieces(const std::vector<Expr>& values, Value* begin, Value* end) {
    for (const RowPiece& piece : row_pieces(f_, plan_, begin, end)) emit_piece(values, piece);
  }

  /// Stores the middle, if it is long enough for vectors, and the ends.
  void emit_between_ends() {
    const RowParts row(f_, plan_);
    plan_.narrow_ends ? emit_narrow_ends(row) : emit_wide_ends(row, true);
  }

  /// Runs `emit` with indices known that are equal along the row. LLVM does not move their branches out of a loop
  /// over single elements.
  void with_indices(const std::vector<Expr>& values, const Emit& emit) {
    const auto outside = point_.known;
    std::function<void(const Expr&)> find = [&](const Expr& e) {
      const bool is_index = e->dtype == DType::i64 && !is_data(e);
      if (is_index && as_affine(e)) return;
      if (is_index && !depends_on(e, plan_.lane.id)) {
        point_.known.try_emplace(e.get(), exprs_.evaluate(e, point_));
        return;
      }
      for (const Expr& a : e->args) find(a);
    };
    if (!has_reduction(plan_.stage.value)) std::for_each(values.begin(), values.end(), find);
    emit();
    point_.known = outside;
  }

  /// Stores ends of any width with the general value, and then the middle. `may_fill`: the middle may be as long as a
  /// register.
  void emit_wide_ends(const RowParts& row, bool may_fill) {
    if (plan_.ends.apart) return with_indices(values_of_ends(), [&] { emit_ends_apart(row, may_fill); });
    emit_ends_apart(row, may_fill);
  }
  void emit_ends_apart(const RowParts& row, bool may_fill) {
    row.for_each_end(f_, [&](Value* begin, Value* end, Value* skipped) {
      plan_.ends.apart ? emit_one_by_one(begin, end, skipped) : emit_plainly(begin, end);
    });
    if (may_fill)
      either(row.has_middle_of(f_, plan_.native), [&] { emit_middle(row); }, [&] { emit_short_middle(row, 0); });
    else
      emit_short_middle(row, 0);
  }

  void emit_middle(const RowParts& row) { emit_vectors(plan_.interior->values, row.first, row.first, row.after); }

  /// Stores a middle in vectors of the most lanes that it fills, from the `k`-th of fewer lanes on.
  void emit_short_middle(const RowParts& row, size_t k) {
    if (k == plan_.ends.fewer_lanes.size()) return;
    StagePlan plan = plan_;
    plan.native = plan.wide = plan_.ends.fewer_lanes[k];
    const Emit otherwise = [&] { emit_short_middle(row, k + 1); };
    either(row.has_middle_of(f_, plan.native), [&] { StoreRowEmitter(f_, plan, point_).emit_middle(row); }, otherwise);
  }

  /// Stores one register at each end, with values for that end, and the middle.
  void emit_narrow_ends(const RowParts& parts) {
    const auto& [first, after, end, fewest] = parts;
    const RowInterior& row = *plan_.interior;
    Value* lanes = f_.i64(plan_.native);
    Value* enough = parts.has_middle_of(f_, plan_.native);
    enough = ir_.CreateAnd(enough, ir_.CreateICmpSLE(first, lanes));
    enough = ir_.CreateAnd(enough, ir_.CreateICmpSLE(ir_.CreateSub(end, after), lanes));
    const Emit outer = [&] { emit_parts(row, parts); };
    const Emit wide = [&] {
      if (!plan_.inner) return outer();
      either(is_inner(), [&] { emit_parts(*plan_.inner, parts); }, outer);
    };
    const Emit plain = [&] {
      if (!plan_.ends.fewer_lanes.empty()) return emit_wide_ends(parts, false);
      plan_.narrower ? StoreRowEmitter(f_, *plan_.narrower, point_).emit(f_.i64(0), end) : emit_plainly(f_.i64(0), end);
    };
    const Emit narrow = [&] {
      if (!may_be_all_middle()) return plain();
      either(is_all_middle(parts), [&] { emit_pieces(row.values, f_.i64(0), end); }, plain);
    };
    either(enough, wide, narrow);
  }

  /// True if the outer axes are in their middle.
  Value* is_inner() {
    Value* inner = ir_.getTrue();
    for (const RowInterior& row : plan_.inner_rows) {
      Value* at = point_.axes.at(row.axis.id);
      for (const Dim& d : row.first) inner = ir_.CreateAnd(inner, ir_.CreateICmpSGE(at, f_.dim(d)));
      for (const Dim& d : row.after) inner = ir_.CreateAnd(inner, ir_.CreateICmpSLT(at, f_.dim(d)));
    }
    return inner;
  }

  /// If only a run knows the ends, a row may turn out to have no ends.
  void emit_parts(const RowInterior& row, const RowParts& parts) {
    const Emit ends_and_middle = [&] {
      if (!plan_.ends.front_one_by_one && !plan_.ends.back_one_by_one) return emit_ends_and_middle(row, parts);
      with_indices(values_of_ends(), [&] { emit_ends_and_middle(row, parts); });
    };
    if (!may_be_all_middle()) return ends_and_middle();
    either(is_all_middle(parts), [&] { emit_vectors(row.values, f_.i64(0), f_.i64(0), parts.end); }, ends_and_middle);
  }

  Value* is_all_middle(const RowParts& parts) {
    return ir_.CreateAnd(ir_.CreateICmpSLE(parts.first, f_.i64(0)), ir_.CreateICmpSGE(parts.after, parts.end));
  }
  bool may_be_all_middle() const {
    const RowInterior& row = *plan_.interior;
    const auto may_be_none = [](const Dim& width) { return width.lower_bound().value_or(0) <= 0; };
    return std::all_of(row.first.begin(), row.first.end(), may_be_none) &&
           std::all_of(row.after.begin(), row.after.end(),
                       [&](const Dim& d) { return may_be_none(row.axis.extent - d); });
  }

  void emit_ends_and_middle(const RowInterior& row, const RowParts& parts) {
    const auto& [first, after, end, fewest] = parts;
    const bool low = !plan_.interior->first.empty(), high = !plan_.interior->after.empty();
    Value *begin = f_.i64(low ? plan_.native : 0), *last = ir_.CreateSub(end, f_.i64(plan_.native));
    if (plan_.ends.front_one_by_one) {
      emit_one_by_one(f_.i64(0), first, f_.i64(0));
      begin = first;
    } else if (low) {
      store(row.ahead, lanes(plan_.native, f_.i64(0), nullptr));
    }
    if (plan_.ends.back_one_by_one) {
      emit_vectors(row.values, begin, first, after);
      return emit_one_by_one(after, end, ir_.CreateSub(after, first));
    }
    emit_vectors(row.values, begin, first, high ? max(begin, last) : end);
    if (high) store(row.beyond, lanes(plan_.native, f_.i64(0), nullptr), lanes(plan_.native, last, nullptr));
  }

  /// Stores [begin, end) in whole registers. The last register may store elements again, but not before `first`.
  /// Requires enough elements.
  void emit_vectors(const std::vector<Expr>& values, Value* begin, Value* first, Value* end) {
    for (const RowPiece& piece : row_pieces(f_, plan_, begin, end)) {
      if (!piece.masked && piece.lanes >= plan_.native) {
        emit_piece(values, piece);
        continue;
      }
      Value* last = max(first, ir_.CreateSub(end, f_.i64(plan_.native)));
      either(ir_.CreateICmpSLT(piece.begin, end), [&] { store(values, lanes(plan_.native, last, nullptr)); }, [] {});
    }
  }

  void emit_piece(const std::vector<Expr>& values, const RowPiece& piece) {
    const int together = plan_.by_registers ? std::min(plan_.native, piece.lanes) : piece.lanes;
    const bool fetches = fetches_ahead(piece);
    run_piece(f_, piece, {}, [&](Value* i, Value* mask, const Values&) {
      if (fetches) exprs_.fetch_to_store(stage_.operand, stage_.index, kAhead, lanes(piece.lanes, i, nullptr));
      for (int done = 0; done < piece.lanes; done += together)
        store(values, lanes(together, ir_.CreateAdd(i, f_.i64(done)), mask));
      return Values{};
    });
  }

  /// Prefetches the lines of a long row before they are stored, because a store that waits for its line delays the
  /// following stores. If the result is not aligned to 64 bytes, a store waits for two lines.
  bool fetches_ahead(const RowPiece& piece) const {
    constexpr int64_t kLongRow = 1024;
    const Dim bytes = plan_.lane.extent * Dim(size_of(f_.kernel().operands[static_cast<size_t>(stage_.operand)].dtype));
    const bool is_one_row = !plan_.shared && plan_.minor.id < 0;
    return f_.target().has_avx512() && is_one_row && !piece.masked && piece.lanes > plan_.native &&
           (!bytes.is_constant() || bytes.constant() >= kLongRow);
  }

  void store(const std::vector<Expr>& values, const Point& p) {
    if (plan_.shared) return store_shared(values[0], p);
    values.size() == 1 ? exprs_.store(stage_.operand, stage_.index, values[0], p) : store(values, p, p);
  }

  /// Computes the values that are equal along the inner axis once, then stores all elements along that axis.
  void store_shared(const Expr& value, Point p) {
    for (const Expr& e : plan_.shared->values) p.known[e.get()] = f_.splat(exprs_.evaluate(e, p), p.lanes);
    f_.for_loop(f_.i64(0), f_.dim(plan_.shared->axis.extent), f_.i64(1), [&](Value* i) {
      p.axes[plan_.shared->axis.id] = i;
      exprs_.store(stage_.operand, stage_.index, value, p);
    });
  }

  /// Stores the values at `from` to `to`, together with the elements that lie between two lanes' elements.
  void store(const std::vector<Expr>& values, const Point& from, Point to) {
    Values parts;
    for (const Expr& value : values) parts.push_back(f_.splat(exprs_.evaluate(value, from), to.lanes));
    const bool together = parts.size() > 1 && to.lanes > 1;
    for (size_t k = 0; k < (together ? 1 : parts.size()); ++k) {
      if (plan_.minor.id >= 0) to.axes[plan_.minor.id] = f_.i64(static_cast<int64_t>(k));
      together ? exprs_.store_interleaved(stage_.operand, stage_.index, parts, to)
               : exprs_.store(stage_.operand, stage_.index, parts[k], to);
    }
  }

  Point lanes(int count, Value* i, Value* mask) { return lanes_at(point_, plan_.lane.id, count, i, mask); }

  FunctionBuilder& f_;
  llvm::IRBuilder<>& ir_;
  ExprEmitter exprs_;
  const StagePlan& plan_;
  const Stage& stage_;
  Point point_;
  std::set<const ExprNode*> seen_;
  int kept_ = 0;
};

}  // namespace

void emit_single_element(FunctionBuilder& f, const StagePlan& plan, const Point& point, Value* at) {
  StoreRowEmitter(f, plan, point).emit_single(at);
}

void emit_short_row(FunctionBuilder& f, const StagePlan& plan, const Point& point, Value* begin, Value* end) {
  StoreRowEmitter(f, plan, point).emit_in_a_register(begin, end);
}

void emit_store_row(FunctionBuilder& f, const StagePlan& plan, const Point& point, Value* begin, Value* end) {
  StoreRowEmitter(f, plan, point).emit(begin, end);
}

}  // namespace gcg::cpu
