// Supplies a language model's inputs from their names: new tokens, masks, positions, lengths.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gart/gart.hpp"

namespace gart::detail {

/// The meaning of an input, for a run that reads n new tokens after `past` others; total = past + n.
enum class FeedKind : uint8_t {
  tokens,     ///< the new tokens, [1,n] or [n]
  mask,       ///< ones for all total tokens, [1,total]; zeros follow if the extent is fixed
  positions,  ///< past, past + 1, ...: [n], [1,n], or the same in each of several rows, [r,1,n]
  past,       ///< this and the following are numbers: rank 0, or one element
  total,
  last,      ///< total - 1
  has_past,  ///< 1 if past > 0
  one,
};

/// One input of an entry point, and the memory of its value.
class Feed {
 public:
  /// Throws Failure for an input that no rule can supply.
  Feed(size_t index, const TensorInfo& info);

  size_t index() const { return index_; }
  FeedKind kind() const { return kind_; }
  /// The number of tokens that each run must read; 0: any number.
  int64_t tokens_per_run() const { return tokens_per_run_; }
  /// The value for a run, valid until the next call. Throws Failure if the model's fixed extents do not fit.
  TensorView value(int64_t past, std::span<const int64_t> tokens);

 private:
  void lay_out(int64_t past, int64_t tokens);
  void fill_mask(int64_t past, int64_t tokens);
  void put(int64_t at, int64_t value);
  void put_score(int64_t at, bool counts);

  size_t index_;
  FeedKind kind_ = FeedKind::tokens;
  std::string name_;
  DType dtype_;
  int64_t tokens_per_run_ = 0;
  std::vector<int64_t> fixed_;  // extents; -1: open
  std::vector<int64_t> shape_;
  std::vector<uint8_t> bytes_;
  int64_t ones_ = 0;  // number of ones in `bytes_`, for a mask of rank 2
};

}  // namespace gart::detail
