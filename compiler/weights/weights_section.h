// The weights section of an artifact: every distinct constant once, in order of first use.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "artifact_schema/writer.h"
#include "compiler/ir/tensor.h"

namespace gcg {

/// Elements that the section holds several times, in different layouts or types.
struct StoredTwice {
  std::string name;
  int64_t bytes = 0;  // bytes of all copies but the largest
};

class WeightsSection {
 public:
  /// Places the tensor and returns the offset of its bytes, 64-byte aligned. Tensors of equal content share their
  /// bytes. `name`: for reports.
  uint64_t place(const TensorRef& tensor, const std::string& name = {});
  /// The offset of a tensor that has a place already.
  uint64_t place_of(const Tensor& tensor) const { return by_tensor_.at(&tensor); }
  /// The constants that take more bytes than their largest form alone; the largest excess comes first. The name is the
  /// one in `sources`, if it is there. Otherwise it is the name of the form that was placed first.
  std::vector<StoredTwice> stored_twice(const std::vector<std::pair<TensorRef, std::string>>& sources = {}) const;
  uint64_t bytes() const { return end_; }
  /// All pieces with their offsets, in order. A piece computes its elements when it is written.
  std::vector<gart::WeightPiece> pieces() const;

 private:
  struct Placed {
    TensorRef tensor;
    std::string name;
    uint64_t offset;
  };
  uint64_t end_ = 0;
  std::map<const Tensor*, uint64_t> by_tensor_;
  std::multimap<size_t, size_t> by_hash_;  // hash of the content -> index in placed_
  std::vector<Placed> placed_;             // tensors of distinct content
};

}  // namespace gcg
