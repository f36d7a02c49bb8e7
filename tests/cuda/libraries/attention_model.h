// Models with attention.
#pragma once

#include <string>

namespace gart::test {

/// Heads of projections of x, as in transformers, with `head` elements each; `change` computes %t, the softmax's input,
/// from the scaled scores %m.
std::string self_attention(int heads, int head, const std::string& change, const std::string& inputs = "");

}  // namespace gart::test
