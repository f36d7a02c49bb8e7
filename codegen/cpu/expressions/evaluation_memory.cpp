// Loads and stores of an Evaluation: addresses, range checks of data-dependent indices, masks.
#include <llvm/Analysis/VectorUtils.h>

#include <optional>

#include "codegen/cpu/expressions/arithmetic.h"
#include "codegen/cpu/expressions/evaluation.h"
#include "compiler/kernel/machine.h"
#include "compiler/support/error.h"

namespace gcg::cpu {

using llvm::Value;

Value* Evaluation::either(Value* a, Value* b) {
  const int width = std::max(FunctionBuilder::lanes_of(a), FunctionBuilder::lanes_of(b));
  return ir_.CreateOr(f_.splat(a, width), f_.splat(b, width));
}

/// With `bases`, returns the offset of lane 0. Otherwise the offset differs between lanes if an index does. A `clamped`
/// index that is not null replaces the index.
Value* Evaluation::linear_offset(const Operand& operand, const std::vector<Expr>& index, bool bases,
                                 const std::vector<Value*>& clamped) {
  const std::vector<Dim> strides = access_strides(operand, index);
  Value* sum = nullptr;
  for (size_t d = 0; d < index.size(); ++d) {
    Value* i = clamped[d] != nullptr ? clamped[d] : bases ? base_value(index[d]) : value(index[d]);
    Value* term = strides[d].is(1) ? i : emit_binary(f_, BinaryOp::mul, DType::i64, i, f_.dim(strides[d]));
    sum = sum == nullptr ? term : emit_binary(f_, BinaryOp::add, DType::i64, sum, term);
  }
  return sum == nullptr ? f_.i64(0) : sum;
}

/// Flags an error if `wrong` is true in an active lane. A null `active` means that all lanes are active.
void Evaluation::flag_index_error(Value* wrong, Value* active) {
  // An index that is the same in all lanes is used if any lane is active.
  if (!FunctionBuilder::is_vector(wrong) && active != nullptr && FunctionBuilder::is_vector(active))
    active = ir_.CreateOrReduce(active);
  f_.flag_index_error(both(active, wrong));
}

Value* Evaluation::checked_index(Value* i, Value* extent) {
  const int width = std::max(FunctionBuilder::lanes_of(i), FunctionBuilder::lanes_of(extent));
  i = f_.splat(i, width);
  Value* valid = ir_.CreateICmpULT(i, f_.splat(extent, width));
  flag_index_error(ir_.CreateNot(valid), both(point_.mask, scope_->mask));
  return ir_.CreateSelect(valid, i, f_.splat(f_.i64(0), width));
}

/// Flags an error for active lanes where a data-dependent index lies outside the operand. The access stays inside: an
/// index that is the same in all lanes becomes 0 (`clamped`), others are masked off by the result (null: no mask
/// needed).
Value* Evaluation::check_range(const Operand& operand, const std::vector<Expr>& index, Value* active,
                               std::vector<Value*>& clamped) {
  Value *in_range = nullptr, *wrong = nullptr;
  for (size_t d = 0; d < index.size(); ++d) {
    if (!is_checked(f_.kernel(), index[d])) continue;
    const Dim extent = index.size() == operand.shape.size() ? operand.shape[d] : product(operand.shape);
    if (is_clamped_into(index[d], extent)) continue;
    Value* i = value(index[d]);
    Value* valid = ir_.CreateICmpULT(i, f_.splat(f_.dim(extent), FunctionBuilder::lanes_of(i)));
    Value* invalid = ir_.CreateNot(valid);
    wrong = wrong == nullptr ? invalid : either(wrong, invalid);
    const bool has_element_zero = extent.lower_bound().value_or(0) > 0;
    if (!varies(index[d]) && has_element_zero)
      clamped[d] = ir_.CreateSelect(valid, i, f_.i64(0));
    else
      in_range = both(in_range, valid);
  }
  if (wrong != nullptr) flag_index_error(wrong, active);
  return in_range;
}

Evaluation::Address Evaluation::address(int operand, const std::vector<Expr>& index, Value* active) {
  const Operand& op = f_.kernel().operands[static_cast<size_t>(operand)];
  Address result;
  std::vector<Value*> clamped(index.size(), nullptr);
  result.in_range = check_range(op, index, active, clamped);
  bool affine = true, moves = false;
  for (const Expr& i : index) {
    moves = moves || varies(i);
    // Data that differs between lanes (an index vector) is never affine.
    affine = affine && index_stride(i, point_.lane_axis).has_value();
  }
  for (const Expr& i : index) affine = affine && (!varies(i) || depends_on(i, point_.lane_axis));
  if (!moves) {
    result.offset = linear_offset(op, index, false, clamped);
    return result;
  }
  const auto stride = affine ? address_stride(op, index, point_.lane_axis) : std::nullopt;
  if (!stride) {
    if (auto known = known_steps(op, index, clamped); known && result.in_range == nullptr) return *known;
    return scattered(op, index, clamped, result.in_range);
  }
  result.offset = linear_offset(op, index, true, clamped);
  result.contiguous = stride->is(1);
  if (is_interleaving(*stride)) {
    for (int j = 0; j < point_.lanes; ++j) result.steps.push_back(j * stride->constant());
  } else if (!result.contiguous && !stride->is(0)) {
    Value* step = emit_binary(f_, BinaryOp::mul, DType::i64, f_.iota(point_.lanes), f_.dim(*stride));
    result.offset = ir_.CreateAdd(lanes(result.offset), step);
  }
  return result;
}

/// The terms of the sum that forms the index. Terms that differ between lanes are split further.
std::vector<Expr> Evaluation::terms_of(const Expr& index) {
  if (!varies(index) || index->kind != ExprKind::binary || index->binary != BinaryOp::add) return {index};
  std::vector<Expr> terms = terms_of(index->args[0]);
  for (Expr& more : terms_of(index->args[1])) terms.push_back(std::move(more));
  return terms;
}

/// The address if lanes differ by constants. At the ends of a row, clamped indices are known lane by lane.
std::optional<Evaluation::Address> Evaluation::known_steps(const Operand& operand, const std::vector<Expr>& index,
                                                           const std::vector<Value*>& clamped) {
  Address result;
  result.offset = f_.i64(0);
  result.steps.assign(static_cast<size_t>(point_.lanes), 0);
  const std::vector<Dim> strides = access_strides(operand, index);
  for (size_t d = 0; d < index.size(); ++d) {
    if (clamped[d] != nullptr) return std::nullopt;
    for (const Expr& e : terms_of(index[d])) {
      Value* term = value(e);
      if (!varies(e)) {
        result.offset = ir_.CreateAdd(result.offset, ir_.CreateMul(term, f_.dim(strides[d])));
        continue;
      }
      auto* known = llvm::dyn_cast<llvm::Constant>(term);
      if (known == nullptr || !strides[d].is_constant()) return std::nullopt;
      for (unsigned j = 0; j < result.steps.size(); ++j) {
        auto* step = llvm::dyn_cast_or_null<llvm::ConstantInt>(known->getAggregateElement(j));
        if (step == nullptr) return std::nullopt;
        result.steps[j] += step->getSExtValue() * strides[d].constant();
      }
    }
  }
  return result;
}

/// An offset per lane; the part that all lanes have in common stays a separate scalar.
Evaluation::Address Evaluation::scattered(const Operand& operand, const std::vector<Expr>& index,
                                          const std::vector<Value*>& clamped, Value* in_range) {
  Address result;
  result.in_range = in_range;
  result.uniform = f_.i64(0);
  Value* sum = nullptr;
  const std::vector<Dim> strides = access_strides(operand, index);
  for (size_t d = 0; d < index.size(); ++d)
    for (const Expr& term : clamped[d] != nullptr ? std::vector{index[d]} : terms_of(index[d])) {
      Value* offset = clamped[d] != nullptr ? clamped[d] : value(term);
      if (!strides[d].is(1)) offset = emit_binary(f_, BinaryOp::mul, DType::i64, offset, f_.dim(strides[d]));
      if (FunctionBuilder::is_vector(offset))
        sum = sum == nullptr ? offset : ir_.CreateAdd(sum, offset);
      else
        result.uniform = ir_.CreateAdd(result.uniform, offset);
    }
  result.offset = lanes(sum == nullptr ? f_.i64(0) : sum);
  return result;
}

Value* Evaluation::offsets(const Address& a) {
  if (a.steps.empty()) return a.offset;
  const std::vector<uint64_t> steps(a.steps.begin(), a.steps.end());
  return ir_.CreateAdd(lanes(a.offset), llvm::ConstantDataVector::get(f_.context(), steps));
}

/// Loads all lanes from one register, if a table of gradual indices gives their positions. Null for other loads. If
/// only a run knows how steeply the indices rise, emits both variants and a choice.
Value* Evaluation::gradual_load(const ExprNode& e) {
  if (point_.mask != nullptr || e.guarded || e.args.empty() || !f_.permutes(e.dtype, point_.lanes)) return nullptr;
  const Operand& op = f_.kernel().operands[static_cast<size_t>(e.operand)];
  const std::vector<Dim> strides = access_strides(op, e.args);
  const ExprNode* table = nullptr;
  Value* offset = f_.i64(0);
  for (size_t d = 0; d < e.args.size(); ++d) {
    if (is_checked(f_.kernel(), e.args[d])) return nullptr;
    for (const Expr& term : terms_of(e.args[d])) {
      if (!varies(term)) {
        offset = ir_.CreateAdd(offset, ir_.CreateMul(value(term), f_.dim(strides[d])));
        continue;
      }
      const bool fits = table == nullptr && strides[d].is(1) && term->kind == ExprKind::load &&
                        f_.slope_of(term->operand) != Slope::any;
      if (!fits || term->args[0]->kind != ExprKind::axis) return nullptr;
      table = term.get();
    }
  }
  if (table == nullptr) return nullptr;
  const auto entry = [&](Value* i, int lanes) { return f_.load(f_.operand(table->operand), DType::i64, i, lanes); };
  Value* lane = axis(point_.lane_axis);
  Value *first = entry(lane, 1), *last = entry(ir_.CreateAdd(lane, f_.i64(point_.lanes - 1)), 1);
  const auto from_register = [&]() -> FunctionBuilder::Values {
    Value* mask = f_.first_lanes(ir_.CreateAdd(ir_.CreateSub(last, first), f_.i64(1)), point_.lanes);
    Value* elements = f_.load(f_.operand(e.operand), e.dtype, ir_.CreateAdd(offset, first), point_.lanes, mask);
    Value* places = ir_.CreateSub(entry(lane, point_.lanes), lanes(first));
    return {f_.permute(elements, ir_.CreateTrunc(places, f_.type(DType::i32, point_.lanes)))};
  };
  if (f_.slope_of(table->operand) == Slope::gradual) return from_register()[0];
  const auto one_by_one = [&]() -> FunctionBuilder::Values {
    Value* base = f_.element_address(f_.operand(e.operand), e.dtype, offset);
    return {f_.gather(base, e.dtype, entry(lane, point_.lanes), nullptr)};
  };
  Value* fits = ir_.CreateICmpSLT(ir_.CreateSub(last, first), f_.i64(point_.lanes));
  return f_.if_else(fits, from_register, one_by_one)[0];
}

/// Loads an operand that a broadcast may repeat along the lanes, if only a run knows whether it does; null for other
/// loads.
Value* Evaluation::broadcast_load(const ExprNode& e) {
  if (point_.lanes == 1 || std::any_of(e.args.begin(), e.args.end(), is_data)) return nullptr;
  const Operand& op = f_.kernel().operands[static_cast<size_t>(e.operand)];
  for (const Expr& i : e.args)
    if (!index_stride(i, point_.lane_axis) || (varies(i) && !depends_on(i, point_.lane_axis))) return nullptr;
  const auto stride = address_stride(op, e.args, point_.lane_axis);
  const auto within = [&](const Dim& d) {
    return d.lower_bound().value_or(-1) >= 0 && d.upper_bound().value_or(2) <= 1;
  };
  if (!stride || stride->is_constant() || !within(*stride)) return nullptr;
  Value *base = f_.operand(e.operand), *guard = e.guarded ? scope_->mask : nullptr;
  Value* offset = linear_offset(op, e.args, true, std::vector<Value*>(e.args.size(), nullptr));
  const auto each = [&] {
    return FunctionBuilder::Values{f_.load(base, e.dtype, offset, point_.lanes, both(point_.mask, guard))};
  };
  const auto one = [&] {
    Value* any =
        guard != nullptr && FunctionBuilder::is_vector(guard) ? ir_.CreateOrReduce(both(point_.mask, guard)) : guard;
    return FunctionBuilder::Values{f_.splat(f_.load(base, e.dtype, offset, 1, any), point_.lanes)};
  };
  return f_.if_else(ir_.CreateICmpNE(f_.dim(*stride), f_.i64(0)), each, one)[0];
}

namespace {

/// Steps that need no mask, if the mask is known: lanes outside of the mask read the element of an earlier lane.
/// Nullopt if the mask is not known or excludes lane 0.
std::optional<std::vector<int64_t>> steps_under(std::vector<int64_t> steps, Value* mask) {
  const auto* known = mask == nullptr ? nullptr : llvm::dyn_cast<llvm::Constant>(mask);
  if (known == nullptr || steps.empty() || !FunctionBuilder::is_vector(mask)) return std::nullopt;
  const auto is_active = [&](size_t lane) {
    const llvm::Constant* element = known->getAggregateElement(static_cast<unsigned>(lane));
    return element != nullptr && element->isOneValue();
  };
  if (!is_active(0)) return std::nullopt;
  for (size_t j = 1; j < steps.size(); ++j)
    if (!is_active(j)) steps[j] = steps[j - 1];
  return steps;
}

}  // namespace

Value* Evaluation::load(const ExprNode& e) {
  if (Value* near = gradual_load(e)) return near;
  if (Value* entries = looked_up(e)) return entries;
  if (Value* either = broadcast_load(e)) return either;
  if (Value* few = quotient_load(e)) return few;
  Value* base = f_.operand(e.operand);
  Value* active = both(point_.mask, e.guarded ? scope_->mask : nullptr);
  const Address a = address(e.operand, e.args, both(point_.mask, scope_->mask));
  Value* mask = both(active, a.in_range);
  if (const auto steps = steps_under(a.steps, mask)) return f_.load_pattern(base, e.dtype, a.offset, *steps, nullptr);
  if (!a.steps.empty()) return f_.load_pattern(base, e.dtype, a.offset, a.steps, mask);
  if (a.uniform != nullptr) base = f_.element_address(base, e.dtype, a.uniform);
  if (Value* each = offsets(a); FunctionBuilder::is_vector(each)) return f_.gather(base, e.dtype, each, mask);
  if (a.contiguous) return f_.load(base, e.dtype, a.offset, point_.lanes, mask);
  // All lanes read one element. In a tail, at least one lane is active, so only guards can forbid the load.
  if (point_.lanes > 1) mask = both(e.guarded ? scope_->mask : nullptr, a.in_range);
  if (mask != nullptr && FunctionBuilder::is_vector(mask)) mask = ir_.CreateOrReduce(both(point_.mask, mask));
  return f_.load(base, e.dtype, a.offset, 1, mask);
}

void Evaluation::store(int operand, const std::vector<Expr>& index, Value* value) {
  const DType dtype = f_.kernel().operands[static_cast<size_t>(operand)].dtype;
  const Address a = address(operand, index, point_.mask);
  Value* mask = both(point_.mask, a.in_range);
  Value* base = f_.operand(operand);
  if (a.uniform != nullptr) base = f_.element_address(base, dtype, a.uniform);
  if (Value* each = offsets(a); FunctionBuilder::is_vector(each)) return f_.scatter(value, base, dtype, each, mask);
  if (a.contiguous) return f_.store(lanes(value), base, dtype, a.offset, mask);
  GCG_CHECK(!FunctionBuilder::is_vector(value), "operand ", operand, ": many lanes store to one element");
  if (mask != nullptr && FunctionBuilder::is_vector(mask)) mask = ir_.CreateOrReduce(mask);
  f_.store(value, base, dtype, a.offset, mask);
}

void Evaluation::fetch_to_store(int operand, const std::vector<Expr>& index, int64_t ahead) {
  const DType dtype = f_.kernel().operands[static_cast<size_t>(operand)].dtype;
  const Address a = address(operand, index, point_.mask);
  if (!a.contiguous || a.uniform != nullptr || a.in_range != nullptr) return;
  Value* first = f_.element_address(f_.operand(operand), dtype, a.offset);
  for (int64_t from = ahead; from < ahead + point_.lanes * size_of(dtype); from += kCacheLine)
    f_.prefetch(ir_.CreateConstGEP1_64(ir_.getInt8Ty(), first, static_cast<uint64_t>(from)), 3, true);
}

namespace {

/// The mask with each lane repeated `count` times. LLVM shuffles masks bit by bit. So the comparison with a number that
/// made the mask is done again for all lanes.
Value* repeated_lanes(llvm::IRBuilder<>& ir, Value* mask, int count) {
  const int lanes = count * FunctionBuilder::lanes_of(mask);
  std::vector<int> places(static_cast<size_t>(lanes));
  for (int i = 0; i < lanes; ++i) places[static_cast<size_t>(i)] = i / count;
  const auto* compared = llvm::dyn_cast<llvm::ICmpInst>(mask);
  auto* numbers = compared == nullptr ? nullptr : llvm::dyn_cast<llvm::Constant>(compared->getOperand(0));
  Value* limit = numbers == nullptr ? nullptr : llvm::getSplatValue(compared->getOperand(1));
  if (limit == nullptr) return ir.CreateShuffleVector(mask, places);
  return ir.CreateICmp(compared->getPredicate(), ir.CreateShuffleVector(numbers, places),
                       ir.CreateVectorSplat(static_cast<unsigned>(lanes), limit));
}

}  // namespace

void Evaluation::store_interleaved(int operand, const std::vector<Expr>& index, const std::vector<Value*>& values) {
  const auto count = static_cast<int>(values.size());
  const Address a = address(operand, index, nullptr);
  const bool fits = a.steps.size() > 1 && a.steps[1] == count && a.in_range == nullptr;
  GCG_CHECK(fits, "operand ", operand, ": lanes are not ", count, " elements apart");
  Value* all = values[0];
  for (int k = 1; k < count; ++k) {
    std::vector<int> places;
    for (int j = 0; j < point_.lanes; ++j) {
      for (int i = 0; i < k; ++i) places.push_back(j * k + i);
      places.push_back(k * point_.lanes + j);
    }
    std::vector<int> widened(static_cast<size_t>(k * point_.lanes), llvm::PoisonMaskElem);
    for (int j = 0; j < point_.lanes; ++j) widened[static_cast<size_t>(j)] = j;
    Value* next = k == 1 ? values[1] : ir_.CreateShuffleVector(values[static_cast<size_t>(k)], widened);
    all = ir_.CreateShuffleVector(all, next, places);
  }
  Value* mask = point_.mask == nullptr ? nullptr : repeated_lanes(ir_, point_.mask, count);
  f_.store(all, f_.operand(operand), f_.kernel().operands[static_cast<size_t>(operand)].dtype, a.offset, mask);
}

void ExprEmitter::store_interleaved(int operand, const std::vector<Expr>& index, const std::vector<Value*>& values,
                                    const Point& point) {
  Evaluation(f_, point).store_interleaved(operand, index, values);
}

void ExprEmitter::fetch_to_store(int operand, const std::vector<Expr>& index, int64_t ahead, const Point& point) {
  Evaluation(f_, point).fetch_to_store(operand, index, ahead);
}

llvm::Value* ExprEmitter::evaluate(const Expr& e, const Point& point) { return Evaluation(f_, point).value(e); }

void ExprEmitter::store(int operand, const std::vector<Expr>& index, llvm::Value* value, const Point& point) {
  Evaluation(f_, point).store(operand, index, value);
}

void ExprEmitter::store(int operand, const std::vector<Expr>& index, const Expr& value, const Point& point) {
  Evaluation evaluation(f_, point);
  llvm::Value* v = evaluation.value(value);
  evaluation.store(operand, index, v);
}

}  // namespace gcg::cpu
