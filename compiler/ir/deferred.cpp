#include "compiler/ir/deferred.h"

#include <algorithm>
#include <cstring>

namespace gcg {

const uint8_t* DeferredElements::read() const {
  const std::lock_guard lock(mutex_);
  if (!elements_) elements_ = compute_(recipe_);
  return elements_->data();
}

Tensor DeferredElements::compute() const {
  {
    const std::lock_guard lock(mutex_);
    if (elements_) return *elements_;
  }
  return compute_(recipe_);
}

void DeferredElements::release() const {
  const std::lock_guard lock(mutex_);
  elements_.reset();
}

const uint8_t* Tensor::deferred_data() const { return deferred()->read(); }

Tensor Tensor::computed() const {
  if (!deferred()) return *this;
  Tensor t = deferred()->compute().reshaped(shape_);
  GCG_CHECK(t.dtype() == dtype_, "a deferred constant has the type ", name_of(t.dtype()), ", not ", name_of(dtype_));
  t.rearrangement_ = rearrangement_;
  return t;
}

namespace {

bool same_recipes(const Recipe& a, const Recipe& b) {
  return a.op == b.op && a.attributes == b.attributes &&
         std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(),
                    [](const TensorRef& x, const TensorRef& y) {
                      return x->dtype() == y->dtype() && x->shape() == y->shape() && same_elements(*x, *y);
                    });
}

}  // namespace

bool same_elements(const Tensor& a, const Tensor& b) {
  if (a.bytes() != b.bytes()) return false;
  if (a.deferred() && a.deferred() == b.deferred()) return true;
  if (a.deferred() && b.deferred())
    return a.dtype() == b.dtype() && same_recipes(a.deferred()->recipe(), b.deferred()->recipe());
  const Tensor x = a.computed(), y = b.computed();
  return x.data() == y.data() || std::memcmp(x.data(), y.data(), static_cast<size_t>(x.bytes())) == 0;
}

void free_unshared_constants(Graph& graph) {
  for (int64_t i = 0; i < graph.value_count(); ++i)
    if (TensorRef& t = graph.value(ValueId(i)).constant; t.use_count() == 1) t.reset();
  for (NodeId id : graph.order())
    for (const auto& body : graph.node(id).bodies) free_unshared_constants(*body);
}

void release_constants(const Graph& graph) {
  for (int64_t i = 0; i < graph.value_count(); ++i)
    if (const TensorRef& t = graph.value(ValueId(i)).constant; t && t->deferred()) t->deferred()->release();
  for (NodeId id : graph.order())
    for (const auto& body : graph.node(id).bodies) release_constants(*body);
}

}  // namespace gcg
