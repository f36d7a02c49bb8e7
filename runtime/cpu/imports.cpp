#include "runtime/cpu/imports.h"

#include <cmath>
#include <iterator>

#include "artifact_schema/imports.h"

namespace gart {
namespace {

using F1 = float (*)(float);
using F2 = float (*)(float, float);
using D1 = double (*)(double);
using D2 = double (*)(double, double);

/// Parallel to kImportNames.
const void* const kAddresses[] = {
#define GART_IMPORT_1(name) \
  reinterpret_cast<const void*>(static_cast<D1>(::name)), reinterpret_cast<const void*>(static_cast<F1>(::name##f)),
#define GART_IMPORT_2(name) \
  reinterpret_cast<const void*>(static_cast<D2>(::name)), reinterpret_cast<const void*>(static_cast<F2>(::name##f)),
    GART_IMPORTS_1(GART_IMPORT_1) GART_IMPORTS_2(GART_IMPORT_2)
#undef GART_IMPORT_1
#undef GART_IMPORT_2
};

}  // namespace

const void* import_address(std::string_view name) {
  for (size_t i = 0; i < std::size(kAddresses); ++i) {
    if (name == kImportNames[i]) return kAddresses[i];
  }
  return nullptr;
}

const gart_custom_op* custom_op(std::string_view name, std::span<const gart_custom_op> ops) {
  for (const gart_custom_op& op : ops) {
    if (op.name != nullptr && op.function != nullptr && name == op.name) return &op;
  }
  return nullptr;
}

}  // namespace gart
