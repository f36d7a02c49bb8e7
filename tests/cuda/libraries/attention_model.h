// Models with attention.
#pragma once

#include <string>

namespace gart::test {

/// Self-attention as in transformers: heads of `head` elements are slices of projections of x. `change` is text that
/// computes %t, the softmax's input, from the scaled scores %m.
std::string self_attention(int heads, int head, const std::string& change, const std::string& inputs = "");

}  // namespace gart::test
