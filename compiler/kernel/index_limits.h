// What a kernel allows the indices that it finds in its operands' data.
#pragma once

#include <string>

#include "compiler/kernel/kernel.h"

namespace gcg {

/// Ends the sentence "an index is out of range": ": it must be in [-5, 5)", one range after another where there are
/// several, symbols by name; empty where the kernel checks none against an extent.
std::string index_limits(const Kernel& kernel);

}  // namespace gcg
