// An inference request of the Open Inference Protocol v2, with the extensions for binary tensors and sequences.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gart/gart.hpp"

namespace gcg::serve {

struct GivenTensor {
  std::string name;
  gart::DType dtype = gart::DType::undefined;
  std::vector<int64_t> shape;
  std::span<const uint8_t> bytes;   // in the request's body, or in `owned`
  std::vector<uint8_t> owned = {};  // elements that came as JSON

  gart::TensorView view() const { return {bytes.data(), dtype, gart::Shape(shape), "cpu"}; }
};

struct WantedOutput {
  std::string name;
  bool is_binary = false;
};

struct SequenceUse {
  std::string key;  // the client's id with its type; empty: the request belongs to no sequence
  bool starts = false, ends = false;
};

struct InferRequest {
  std::string body;  // keeps the binary tensors
  std::string id, entry;
  std::vector<GivenTensor> inputs;
  std::vector<WantedOutput> outputs;  // empty: all outputs of the model
  bool is_binary = false;             // for all outputs, if the request names none
  SequenceUse sequence;
  uint64_t priority = 0;              // 1 is the highest; 0: the default
  std::optional<int64_t> timeout_us;  // longest time in the queue
};

/// `json_length`: the header Inference-Header-Content-Length; empty: the whole body is JSON. Throws Refusal.
InferRequest parse_infer_request(std::string body, const std::string& json_length);

/// Refuses requests that do not fit the inputs and outputs of an entry point.
void check_against(InferRequest& request, std::span<const gart::TensorInfo> inputs);

}  // namespace gcg::serve
