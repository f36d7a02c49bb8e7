// The report of an artifact as a picture: a page for browsers, or a graph for Graphviz.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "artifact_schema/spans.h"
#include "tools/gcc-graph/inspect/inspect_shapes.h"

namespace gcg::tools {

/// The plan's buffers, indexed by their numbers, with kind and bytes (a number, or an expression of the symbols). If
/// they apply: the name of an input or output, the offset in the arena, and the buffer of which this one is a view.
nlohmann::ordered_json buffer_list_json(const gart::fb::EntryPoint& entry, const gart::fb::Plan& plan,
                                        SlotTexts& slots);

/// A page that needs no other file: the report with its kernels and steps, drawn as graph, streams, arena and tables.
/// `times`: the output of `bench --profile --json`; may be null.
std::string html_page(nlohmann::ordered_json report, nlohmann::ordered_json times);

/// Each plan of each entry point as a directed graph of steps in Graphviz's language. An edge leads from the step that
/// writes a buffer to those that read it.
std::string dot_graphs(const nlohmann::ordered_json& report);

}  // namespace gcg::tools
