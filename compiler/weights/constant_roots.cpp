#include "compiler/weights/constant_roots.h"

#include <cstring>

#include "artifact_schema/digest.h"
#include "compiler/ir/graph.h"

namespace gcg {

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() &&
         (a.data() == b.data() || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0);
}

size_t hash_of_bytes(const Tensor& tensor) {
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
  const size_t hash = hash_of_bytes(*source);
  for (auto [it, end] = by_hash_.equal_range(hash); it != end; ++it)
    if (it->second->dtype() == source->dtype() && same_bytes(*it->second, *source)) return known->second = it->second;
  by_hash_.emplace(hash, source);
  return source;
}

}  // namespace gcg
