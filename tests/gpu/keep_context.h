#pragma once

namespace gcg::test {

/// Keeps a context of the first GPU until the process ends. Making one takes longer than checking a small model, and
/// the driver destroys it with the last program that uses it.
void keep_context();

}  // namespace gcg::test
