// Options for the part of a model that becomes a function, and its name.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gcg {

/// The domain of functions whose name has no domain.
constexpr const char* kFunctionDomain = "functions";

struct CarveOptions {
  std::string name;                           // "Block", "acme::Block"; empty: derived from its contents
  std::vector<std::string> from, to;          // names of model values: the inputs and outputs, in order
  std::map<std::string, std::string> labels;  // metadata_props of the function: gart.device, gart.group
};

}  // namespace gcg
