// Converts a public fleet to the compiler's type.
#pragma once

#include "compiler/fleet/fleet.h"
#include "gcc_graph/fleet.h"

namespace gcc_graph::detail {

gcg::Fleet own_fleet(const Fleet& fleet);

}  // namespace gcc_graph::detail
