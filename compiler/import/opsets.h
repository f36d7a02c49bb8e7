// The versions of the operator sets that a model imports.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "compiler/support/error.h"

namespace gcg {

using OpsetVersions = std::map<std::string, int64_t>;  // by domain

/// The newest and the oldest supported opset of ai.onnx.
constexpr int64_t kNewestOpset = 27, kOldestOpset = 1;

/// "ai.onnx" is another spelling of "".
inline std::string normal_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

/// The imported opsets by domain; fails if ai.onnx is out of the supported range. `where`: "the model", "function 'f'".
template <class Imports>
OpsetVersions opset_versions(const Imports& imports, const std::string& where) {
  OpsetVersions versions;
  for (const auto& import : imports) versions[normal_domain(import.domain())] = import.version();
  const auto onnx = versions.find("");
  if (onnx != versions.end() && (onnx->second < kOldestOpset || onnx->second > kNewestOpset))
    fail(where, " imports opset ", onnx->second, " of ai.onnx; opsets ", kOldestOpset, " to ", kNewestOpset,
         " are read");
  return versions;
}

}  // namespace gcg
