#include "compiler/ops/deferred_constants.h"

#include <algorithm>

#include "compiler/ops/ops.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

/// Smaller constants are computed at once, because their memory does not matter.
constexpr int64_t kLeastBytes = 1 << 20;

class RecipeContext final : public ReferenceContext {
 public:
  RecipeContext(const Recipe& recipe, DType dtype) : dtype_(dtype) {
    node_.op = recipe.op;
    node_.name = recipe.op->name;
    node_.attributes = recipe.attributes;
    for (const TensorRef& input : recipe.inputs) {
      node_.inputs.emplace_back(static_cast<int64_t>(inputs_.size()));
      inputs_.push_back(input->computed());
    }
  }
  const Node& node() const override { return node_; }
  const Tensor* input(int i) const override {
    return static_cast<size_t>(i) < inputs_.size() ? &inputs_[static_cast<size_t>(i)] : nullptr;
  }
  DType output_dtype(int) const override { return dtype_; }
  std::vector<Tensor> run_body(int, std::vector<Tensor>) override {
    GCG_CHECK(false, "an operator with bodies does not move constants");
    return {};
  }

 private:
  DType dtype_;
  Node node_;
  std::vector<Tensor> inputs_;
};

/// The constant that `compute` makes: now if it is small, otherwise when it is read.
Tensor deferred(Recipe recipe, DType dtype, const std::vector<int64_t>& shape, DeferredElements::Compute compute) {
  int64_t bytes = size_of(dtype);
  for (const int64_t extent : shape) bytes *= extent;
  if (bytes < kLeastBytes) return compute(recipe).reshaped(shape);
  return {dtype, shape, std::make_shared<DeferredElements>(std::move(recipe), std::move(compute))};
}

Recipe cast_of(const TensorRef& source, DType to) { return {&op_Cast, {{"to", int64_t{dtype_to_onnx(to)}}}, {source}}; }

Tensor widen(const Recipe& recipe) {
  const Tensor narrow = recipe.inputs[0]->computed();
  Tensor wide(DType::f32, narrow.shape());
  const std::span<const uint16_t> from = narrow.as<uint16_t>();
  std::transform(from.begin(), from.end(), wide.as_mutable<float>().begin(),
                 narrow.dtype() == DType::f16 ? f16_to_float : bf16_to_float);
  return wide;
}

Tensor round(const Recipe& recipe, DType to) {
  const Tensor wide = recipe.inputs[0]->computed();
  Tensor narrow(to, wide.shape());
  const std::span<const float> from = wide.as<float>();
  std::transform(from.begin(), from.end(), narrow.as_mutable<uint16_t>().begin(),
                 to == DType::f16 ? float_to_f16 : float_to_bf16);
  return narrow;
}

/// The constant that was widened to this one; null if none was.
TensorRef narrow_source(const Tensor& wide, DType to) {
  if (!wide.deferred()) return nullptr;
  const Recipe& recipe = wide.deferred()->recipe();
  return recipe.op == &op_Cast && recipe.inputs[0]->dtype() == to ? recipe.inputs[0] : nullptr;
}

/// The same movements of the constants that were widened. Requires: widened_from finds them.
TensorRef moved_before_widening(const Tensor& wide, DType to) {
  if (const TensorRef narrow = narrow_source(wide, to))
    return std::make_shared<const Tensor>(narrow->reshaped(wide.shape()));
  Recipe recipe = wide.deferred()->recipe();
  for (TensorRef& input : recipe.inputs) input = moved_before_widening(*input, to);
  return std::make_shared<const Tensor>(computed_when_read(std::move(recipe), to, wide.shape()));
}

}  // namespace

Tensor computed_when_read(Recipe recipe, DType dtype, const std::vector<int64_t>& shape) {
  return deferred(std::move(recipe), dtype, shape, [dtype](const Recipe& r) {
    RecipeContext context(r, dtype);
    return std::move(r.op->reference(context).at(0));
  });
}

Tensor widened(const TensorRef& narrow) {
  const auto& how = narrow->rearrangement();
  if (!how) return deferred(cast_of(narrow, DType::f32), DType::f32, narrow->shape(), widen);
  const Rearrangement wide = {how->op, how->attributes, std::make_shared<const Tensor>(widened(how->source))};
  Tensor t = computed_when_read({wide.op, wide.attributes, {wide.source}}, DType::f32, narrow->shape());
  t.set_rearrangement(std::make_shared<const Rearrangement>(wide));
  return t;
}

std::vector<TensorRef> widened_from(const TensorRef& wide, DType to) {
  if (!wide->deferred()) return {};
  if (TensorRef narrow = narrow_source(*wide, to)) return {std::move(narrow)};
  std::vector<TensorRef> all;
  for (const TensorRef& input : wide->deferred()->recipe().inputs) {
    const std::vector<TensorRef> some = widened_from(input, to);
    if (some.empty()) return {};
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

Tensor rounded(const TensorRef& wide, DType to) {
  if (!widened_from(wide, to).empty()) return *moved_before_widening(*wide, to);
  return deferred(cast_of(wide, to), to, wide->shape(), [to](const Recipe& r) { return round(r, to); });
}

}  // namespace gcg
