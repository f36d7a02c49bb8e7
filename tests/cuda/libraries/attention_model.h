// Models with attention.
#pragma once

#include <string>

namespace gart::test {

/// Heads of projections of x, as transformers have them, of `head` elements; `change` makes %t, what goes into the
/// softmax, of the scaled scores %m.
std::string self_attention(int heads, int head, const std::string& change, const std::string& inputs = "");

}  // namespace gart::test
