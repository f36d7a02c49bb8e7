// The types in which each step multiplies and sums, and where they have fewer digits than the model's own.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "artifact_schema/kernel_note.h"
#include "artifact_schema/spans.h"

namespace gcg::tools {

/// "bf16 x bf16, sums f32", or "f32"; "" if it is not known.
std::string arithmetic_text(const gart::KernelTypes& types);

/// An entry per entry point and part, with its plans and their steps: {"source", "kernel", "arithmetic", "digits",
/// "model", "model_digits", "lower"}. `shapes`: the text of a plan's extents.
nlohmann::ordered_json precision_json(
    const gart::fb::Manifest& manifest,
    const std::function<std::string(const gart::fb::EntryPoint&, const gart::fb::Plan&)>& shapes);

void print_precision(const nlohmann::ordered_json& report);

}  // namespace gcg::tools
