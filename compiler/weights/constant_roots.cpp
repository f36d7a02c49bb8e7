#include "compiler/weights/constant_roots.h"

#include <cstring>

#include "artifact_schema/digest.h"
#include "compiler/ir/deferred.h"

namespace gcg {

size_t hash_of_elements(const Tensor& tensor) {
  if (tensor.deferred()) {
    const Recipe& recipe = tensor.deferred()->recipe();
    size_t hash = std::hash<const OpDef*>()(recipe.op);
    for (const TensorRef& input : recipe.inputs) hash = hash * 31 + hash_of_elements(*input);
    return hash;
  }
  const gart::Digest digest =
      gart::digest_section({reinterpret_cast<const uint8_t*>(tensor.data()), static_cast<size_t>(tensor.bytes())});
  size_t hash = 0;
  std::memcpy(&hash, &digest, sizeof hash);
  return hash;
}

TensorRef source_of_all(const TensorRef& tensor) {
  TensorRef t = tensor;
  while (t->rearrangement()) t = t->rearrangement()->source;
  return t;
}

TensorRef ConstantRoots::of(const TensorRef& tensor) {
  const TensorRef source = source_of_all(tensor);
  const auto [known, is_new] = known_.try_emplace(source, source);
  if (!is_new) return known->second;
  const size_t hash = hash_of_elements(*source);
  for (auto [it, end] = by_hash_.equal_range(hash); it != end; ++it)
    if (it->second->dtype() == source->dtype() && same_elements(*it->second, *source))
      return known->second = it->second;
  by_hash_.emplace(hash, source);
  return source;
}

}  // namespace gcg
