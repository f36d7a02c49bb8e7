// --print-code: backends that print the code of each kernel.
#pragma once

#include <iosfwd>
#include <memory>

#include "compiler/kernel/backend.h"

namespace gcc_graph::detail {

/// Wraps a backend and prints each kernel before it is compiled. `out` must outlive it.
std::unique_ptr<gcg::Backend> printing_assembly(std::unique_ptr<gcg::Backend> cpu_backend, std::ostream& out);
std::unique_ptr<gcg::Backend> printing_cuda(std::unique_ptr<gcg::Backend> cuda_backend, std::ostream& out);

}  // namespace gcc_graph::detail
