// What is carved out of a model, and what it is called.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gcg {

/// The domain of functions that are named without one.
constexpr const char* kFunctionDomain = "functions";

struct CarveOptions {
  std::string name;                           // "Block", "acme::Block"; empty: made from what it computes
  std::vector<std::string> from, to;          // values of the model, by name: inputs and outputs in their order
  std::map<std::string, std::string> labels;  // metadata_props of the function: gart.device, gart.group
};

}  // namespace gcg
