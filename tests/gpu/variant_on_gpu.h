// A variant of a row of tests/ops as a one-node model on a GPU, real or simulated.
#pragma once

#include <string>

#include "compiler/compile.h"
#include "tests/ops/op_test.h"

namespace gcg::test {

/// Compiles the variant for `target`, runs it on the first GPU and expects the reference's results. Variants that the
/// compiler may refuse count as passed, and so do variants that GPUs compute differently by design.
void check_variant_on_gpu(const RowVariant& variant, const std::string& target, const Backends& backends);

}  // namespace gcg::test
