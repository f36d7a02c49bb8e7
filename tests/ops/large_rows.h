// Rows that are too large for their lowering to be evaluated element by element.
#pragma once

#include "tests/ops/op_test.h"

namespace gcg::test {

/// Runs the row's reference and check_form_further with the row's extents and, if the row allows them, with symbolic
/// ones.
void check_large(const OpCase& row);

}  // namespace gcg::test
