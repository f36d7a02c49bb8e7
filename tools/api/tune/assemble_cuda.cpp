#include <optional>

#include "codegen/cuda/assembler/assemble.h"
#include "compiler/kernel/target.h"
#include "gcc_graph/tune.h"
#include "tools/api/graph_state.h"

namespace gcc_graph {

std::vector<uint8_t> assemble_cuda(const std::string& text, const std::string& target) {
  return detail::guarded([&]() -> std::vector<uint8_t> {
    const std::optional<gcg::Target> known = gcg::find_target(target);
    if (!known) return {};
    const gcg::cuda::CubinCache none({});
    return gcg::cuda::Assembler(*known, none).assemble(text).code;
  });
}

}  // namespace gcc_graph
