#include "codegen/cpu/contractions/conv_passes.h"

namespace gcg::cpu {

namespace {

llvm::Value* float_address(FunctionBuilder& f, llvm::Value* address, llvm::Value* offset) {
  return f.ir().CreateGEP(f.ir().getFloatTy(), address, offset);
}

}  // namespace

ConvPasses::ConvPasses(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan)
    : f_(f), plan_(plan), units_(conv.packing().units()) {
  if (plan.units_per_pass > 0) next_ = f.variable(DType::i64);
}

void ConvPasses::for_each(const std::function<void()>& task) {
  if (plan_.units_per_pass == 0) return task();
  f_.for_loop(f_.i64(0), f_.i64(units_), f_.i64(plan_.units_per_pass), [&](llvm::Value* unit) {
    llvm::Value* end = f_.ir().CreateAdd(unit, f_.i64(plan_.units_per_pass), "", true, true);
    range_ = {unit, f_.ir().CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, f_.i64(units_))};
    f_.ir().CreateStore(f_.i64(0), next_);
    task();
  });
}

llvm::Value* ConvPasses::address(llvm::Value* place, size_t vector) {
  return float_address(f_, place, f_.i64(static_cast<int64_t>(vector) * plan_.lanes));
}

void ConvPasses::begin_tile(TilePosition& place, int64_t sums) {
  place.units = {f_.i64(0), f_.i64(units_)};
  if (plan_.units_per_pass == 0) return;
  place.units = range_;
  llvm::Value* offset = f_.ir().CreateLoad(f_.ir().getInt64Ty(), next_);
  sums_ = float_address(f_, f_.scratch(), offset);
  f_.ir().CreateStore(f_.ir().CreateAdd(offset, f_.i64(sums * plan_.lanes), "", true, true), next_);
  const Values none(static_cast<size_t>(sums),
                    llvm::Constant::getNullValue(f_.type(DType::f32, static_cast<int>(plan_.lanes))));
  place.sums = f_.if_else(
      f_.ir().CreateICmpEQ(range_.begin, f_.i64(0)), [&] { return none; },
      [&] {
        Values kept;
        for (size_t v = 0; v < none.size(); ++v) kept.push_back(load_vector(f_, address(sums_, v), plan_.lanes));
        return kept;
      });
}

void ConvPasses::end_tile(const Values& sums, const std::function<void()>& store) {
  if (plan_.units_per_pass == 0) return store();
  f_.if_else(
      f_.ir().CreateICmpEQ(range_.end, f_.i64(units_)), [&] { return store(), Values{}; },
      [&] {
        for (size_t v = 0; v < sums.size(); ++v) {
          const auto bytes = static_cast<uint64_t>(plan_.lanes) * sizeof(float);
          f_.ir().CreateAlignedStore(sums[v], address(sums_, v), llvm::Align(bytes));
        }
        return Values{};
      });
}

}  // namespace gcg::cpu
