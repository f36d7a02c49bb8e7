// The weights section of an artifact: every distinct constant once, in order of first use.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "compiler/ir/tensor.h"

namespace gcg {

class WeightsSection {
 public:
  /// Where the tensor's bytes lie, 64-byte aligned. Tensors of equal content share them.
  uint64_t place(const TensorRef& tensor);
  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
  std::map<const Tensor*, uint64_t> by_tensor_;
  std::multimap<size_t, std::pair<uint64_t, size_t>> by_hash_;  // hash of the content -> offset, size
};

}  // namespace gcg
