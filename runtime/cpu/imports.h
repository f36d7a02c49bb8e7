// Addresses of the functions that artifacts may import (artifact_schema/imports.h).
#pragma once

#include <span>
#include <string_view>

#include "gart/custom_op.h"

namespace gart {

/// nullptr if the name is not on the list.
const void* import_address(std::string_view name);
/// The operator of this name that has a function, or nullptr.
const gart_custom_op* custom_op(std::string_view name, std::span<const gart_custom_op> ops);

}  // namespace gart
