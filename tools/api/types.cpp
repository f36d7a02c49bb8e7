#include "gcc_graph/types.h"

#include "compiler/ir/dtype.h"

namespace gcc_graph {

int64_t size_of(DType dtype) { return gcg::size_of(static_cast<gcg::DType>(dtype)); }
std::string name_of(DType dtype) { return std::string(gcg::name_of(static_cast<gcg::DType>(dtype))); }

Error::~Error() = default;

}  // namespace gcc_graph
