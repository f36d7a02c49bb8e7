#pragma once

namespace gcg::test {

/// Keeps a context of the first GPU until the process ends. Creating a context takes longer than checking a small
/// model, and the driver destroys a context with the last program that uses it.
void keep_context();

}  // namespace gcg::test
