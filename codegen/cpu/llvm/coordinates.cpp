#include "codegen/cpu/llvm/coordinates.h"

namespace gcg::cpu {

using llvm::Value;
using Values = FunctionBuilder::Values;

Values coordinates(FunctionBuilder& f, const std::vector<Axis>& axes, Value* p) {
  llvm::IRBuilder<>& ir = f.ir();
  Values at(axes.size());
  for (size_t k = at.size(); k-- > 0;) {
    // If an extent is zero there are no points, but this code runs before that is known.
    Value* extent = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, f.dim(axes[k].extent), f.i64(1));
    at[k] = k == 0 ? p : ir.CreateURem(p, extent);
    p = ir.CreateUDiv(p, extent);
  }
  return at;
}

Values next_coordinates(FunctionBuilder& f, const std::vector<Axis>& axes, const Values& at) {
  llvm::IRBuilder<>& ir = f.ir();
  Values next(at.size());
  Value* carry = ir.getTrue();
  for (size_t k = at.size(); k-- > 0;) {
    Value* stepped = ir.CreateAdd(at[k], ir.CreateZExt(carry, ir.getInt64Ty()));
    if (k == 0) {
      next[k] = stepped;
      break;
    }
    carry = ir.CreateICmpEQ(stepped, f.dim(axes[k].extent));
    next[k] = ir.CreateSelect(carry, f.i64(0), stepped);
  }
  return next;
}

}  // namespace gcg::cpu
