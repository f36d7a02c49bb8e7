// Runs models with inputs and expected outputs, as tests/gpu/export_conformance.py writes them, on the first GPU.
#pragma once

#include <string>

namespace gcg::test {

/// Reads lines "CASE SETS RTOL ATOL" from standard input. Writes one line for each case as soon as it is done: "passed
/// CASE", "unsupported CASE" or "FAILED CASE: why". One process runs the cases one after the other. If a case crashes,
/// hangs or fails, a new process runs the rest, because a GPU context may not survive the failure. No case begins after
/// `until`, in seconds since 1970. Returns the exit code of the program, which is 0 even if cases failed.
int run_cases(const std::string& folder, const std::string& target, int64_t until);

}  // namespace gcg::test
