#include "gcc_graph/json.h"

#include "compiler/support/json.h"
#include "tools/api/graph_state.h"

namespace gcc_graph {

void check_json(std::string_view text, const std::string& source) {
  detail::guarded([&] { static_cast<void>(gcg::parse_json(text, source)); });
}

}  // namespace gcc_graph
