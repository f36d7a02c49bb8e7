#include "codegen/cpu/contractions/conv_tile.h"

#include <llvm/IR/InlineAsm.h>

#include "codegen/cpu/llvm/widen_half.h"
#include "compiler/support/error.h"

namespace gcg::cpu {
namespace {

using Values = FunctionBuilder::Values;

constexpr int64_t block = 16;
constexpr uint64_t word_bytes = 4;

}  // namespace

llvm::Value* zero_sum(FunctionBuilder& f, const ConvPlan& plan) {
  llvm::Type* sum = DotProduct(f.ir(), plan.multiply).word();
  return llvm::Constant::getNullValue(llvm::FixedVectorType::get(sum, static_cast<unsigned>(plan.lanes)));
}

llvm::Value* opaque(FunctionBuilder& f, llvm::Value* value, bool in_order) {
  auto* type = llvm::FunctionType::get(value->getType(), {value->getType()}, false);
  return f.ir().CreateCall(llvm::InlineAsm::get(type, "", "=r,0", /*hasSideEffects=*/in_order), value);
}

llvm::Value* times(FunctionBuilder& f, llvm::Value* value, int64_t factor) {
  return f.ir().CreateMul(value, f.i64(factor), "", true, true);
}

llvm::Value* multiply_add(FunctionBuilder& f, llvm::Value* a, llvm::Value* b, llvm::Value* sum) {
  return f.ir().CreateIntrinsic(llvm::Intrinsic::fma, {sum->getType()}, {a, b, sum});
}

llvm::Value* load_vector(FunctionBuilder& f, llvm::Value* address, int64_t lanes) {
  return f.ir().CreateAlignedLoad(f.type(DType::f32, static_cast<int>(lanes)), address, llvm::Align(word_bytes));
}

void store_vector(FunctionBuilder& f, llvm::Value* vector, llvm::Value* address) {
  f.ir().CreateAlignedStore(vector, address, llvm::Align(word_bytes));
}

Values loop(FunctionBuilder& f, ValueRange range, int64_t step, Values initial,
            const std::function<Values(llvm::Value*, const Values&)>& body) {
  auto* begin = llvm::dyn_cast<llvm::ConstantInt>(range.begin);
  auto* end = llvm::dyn_cast<llvm::ConstantInt>(range.end);
  if (begin && end && begin->getSExtValue() >= end->getSExtValue()) return initial;
  if (begin && end && begin->getSExtValue() + step == end->getSExtValue()) return body(range.begin, initial);
  return f.for_loop(range.begin, range.end, f.i64(step), initial, body);
}

llvm::Value* zeros(FunctionBuilder& f) {
  const char* name = "zeros";
  llvm::Module& module = *f.function()->getParent();
  if (llvm::Value* known = module.getNamedValue(name)) return known;
  auto* type = llvm::ArrayType::get(f.ir().getFloatTy(), static_cast<uint64_t>(block));
  auto* variable = new llvm::GlobalVariable(module, type, /*isConstant=*/true, llvm::GlobalValue::InternalLinkage,
                                            llvm::ConstantAggregateZero::get(type), name);
  variable->setAlignment(llvm::Align(static_cast<uint64_t>(block) * word_bytes));
  return variable;
}

Values clipped_places(FunctionBuilder& f, const ConvKernel& conv, const ConvLayout& layout, const TileShape& shape,
                      const TilePosition& place, llvm::Value* input, llvm::Value* kw) {
  Values places;
  llvm::Value* width = f.dim(conv.in_width);
  llvm::Value* tap = times(f, kw, conv.dilation_w);
  for (int64_t p = 0; p < shape.columns.positions; ++p) {
    llvm::Value* from_first = f.ir().CreateAdd(tap, f.i64(p * conv.stride_w));
    llvm::Value* inside = f.ir().CreateICmpULT(f.ir().CreateAdd(place.column, from_first), width);
    llvm::Value* there = word_address(f, layout, input, times(f, from_first, layout.channels));
    places.push_back(f.ir().CreateSelect(inside, there, zeros(f)));
  }
  return places;
}

llvm::Value* word_address(FunctionBuilder& f, const ConvLayout& layout, llvm::Value* base, llvm::Value* offset) {
  return f.ir().CreateGEP(layout.word, base, offset);
}

llvm::Value* weight_address(FunctionBuilder& f, const ConvLayout& layout, llvm::Value* base, llvm::Value* offset) {
  return f.ir().CreateGEP(layout.weights == DType::f32 ? layout.word : f.memory_type(layout.weights), base, offset);
}

llvm::Value* load_weights(FunctionBuilder& f, const ConvLayout& layout, llvm::Value* address, int64_t lanes) {
  const bool half = layout.weights != DType::f32;
  auto* type =
      llvm::FixedVectorType::get(half ? f.memory_type(layout.weights) : layout.word, static_cast<unsigned>(lanes));
  llvm::Value* loaded = f.ir().CreateAlignedLoad(type, address, llvm::Align(word_bytes));
  return half ? widen_half(f.ir(), layout.weights, loaded) : loaded;
}

ConvLayout conv_layout(FunctionBuilder& f, const ConvKernel& conv, const ConvPlan& plan) {
  const ConvPacking packing = conv.packing();
  ConvLayout layout;
  layout.word = packing.by_lane() && conv.bytes ? f.ir().getInt8Ty() : DotProduct(f.ir(), plan.multiply).word();
  if (!conv.bytes && !plan.widens()) layout.weights = f.kernel().operands[static_cast<size_t>(conv.weights)].dtype;
  layout.channels = conv.input_plain ? 1 : block / packing.vnni_group();
  layout.depth = blocks_of(packing.inputs, packing.vnni_group());
  if (plan.widens()) {
    layout.channels = block / 2;
    layout.depth = conv.bytes ? 2 * blocks_of(packing.inputs, kVnniGroup) : blocks_of(packing.inputs, 2);
  }
  const int64_t blocks = conv.input_plain ? conv.in_channels : blocks_of(conv.in_channels, block);
  const Dim row = conv.in_width * Dim(layout.channels);
  const Dim plane = row * conv.in_height, volume = plane * conv.in_depth;
  layout.row = f.dim(row);
  layout.plane = f.dim(plane);
  layout.block = f.dim(volume);
  layout.image = f.dim(volume * Dim(blocks));
  layout.weight_columns = plan.widens() ? plan.vectors * plan.lanes : packing.columns();
  return layout;
}

}  // namespace gcg::cpu
