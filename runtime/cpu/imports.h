// Addresses of the functions that artifacts may import (artifact_schema/imports.h).
#pragma once

#include <string_view>

namespace gart {

/// nullptr if the name is not on the list.
const void* import_address(std::string_view name);

}  // namespace gart
