#include "compiler/kernel/packing.h"

#include <cstdlib>

namespace gcg {

Shape ConvPacking::shape(const Shape& kernel) const {
  Shape shape = {panels(), units()};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  shape.insert(shape.end(), {unit() / vnni_group(), columns()});
  if (vnni_group() > 1) shape.push_back(vnni_group());
  return shape;
}

bool in_narrow_pairs(const Tensor& packed) {
  const auto* w = reinterpret_cast<const int8_t*>(packed.data());
  for (int64_t i = 0; i + 1 < packed.elements(); i += 2)
    if (std::abs(w[i]) + std::abs(w[i + 1]) > 128) return false;
  return true;
}

}  // namespace gcg
