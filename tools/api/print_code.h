// --print-code: backends that print what they make of each kernel.
#pragma once

#include <iosfwd>
#include <memory>

#include "compiler/kernel/backend.h"

namespace gcc_graph::detail {

/// The same backend, which prints the kernels that it is given before it compiles them. `out` lives as long as it does.
std::unique_ptr<gcg::Backend> printing_assembly(std::unique_ptr<gcg::Backend> cpu_backend, std::ostream& out);
std::unique_ptr<gcg::Backend> printing_cuda(std::unique_ptr<gcg::Backend> cuda_backend, std::ostream& out);

}  // namespace gcc_graph::detail
