// Makes a model's texts fit for an artifact. Texts that only people read are cut or escaped, not refused.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "gart_generated.h"

namespace gcg {

/// Replaces NUL bytes by "\0", and cuts a text that is too long for a message.
std::string file_text(const std::string& text);

/// The same for a group's name. The result is UTF-8 and differs from the names in `taken`.
std::string group_name(const std::string& text, const std::set<std::string>& taken);

/// Throws CompileError for names of inputs and outputs and for labels that no runtime accepts. These are not changed,
/// because callers use them.
void check_interface(const Graph& graph, const std::map<std::string, std::vector<std::string>>& labels);

/// Throws CompileError if two of the entry points, the model and `more`, have the same name.
void check_entry_names(const Graph& model, const std::vector<Graph>& more);

/// Applies file_text to names of entry points, of kernels and of values that cross parts, and to sources and messages
/// of steps.
void tidy_texts(gart::fb::ManifestT& manifest);

}  // namespace gcg
