// The compiler's intermediate forms as files.
#pragma once

#include <string>

namespace gcg::tools {

/// Writes the text that compile prints (--print-after all, --print-plan, --print-code) as files of the folder, which is
/// made if it does not exist: NNN-PASS.gir after each pass that changed the graph, NNN-plan.txt, and
/// NNN-TARGET-KERNEL.s or .cu. Throws Error.
void save_temps(const std::string& folder, const std::string& printed);

}  // namespace gcg::tools
