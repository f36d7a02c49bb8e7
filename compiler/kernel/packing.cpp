#include "compiler/kernel/packing.h"

namespace gcg {

Shape ConvPacking::shape(const Shape& kernel) const {
  Shape shape = {panels(), units()};
  shape.insert(shape.end(), kernel.begin(), kernel.end());
  shape.insert(shape.end(), {unit(), columns()});
  return shape;
}

}  // namespace gcg
