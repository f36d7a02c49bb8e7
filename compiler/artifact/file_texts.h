// Texts of a model as an artifact can hold them: what only people read is cut or escaped, not refused.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "gart_generated.h"

namespace gcg {

/// Without NUL bytes ("\0" in their place), and cut where it is too long for a message.
std::string file_text(const std::string& text);

/// The same of a group's name, which is UTF-8, and another one than those that are taken.
std::string group_name(const std::string& text, const std::set<std::string>& taken);

/// Names of inputs and outputs and labels are what callers ask for: those that no runtime takes are refused. Throws
/// CompileError.
void check_interface(const Graph& graph, const std::map<std::string, std::vector<std::string>>& labels);

/// Names of entry points, kernels and of what crosses parts, sources and messages of steps.
void tidy_texts(gart::fb::ManifestT& manifest);

}  // namespace gcg
