// What a kernel allows the indices that it finds in its operands' data.
#pragma once

#include <set>
#include <string>

#include "compiler/kernel/kernel.h"

namespace gcg {

/// The ranges that it checks indices against, "[-5, 5)", each once, symbols by name.
std::set<std::string> index_limits(const Kernel& kernel);

}  // namespace gcg
