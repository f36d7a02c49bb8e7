// Runs of one entry point of a language model in a session.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gart/gart.hpp"
#include "runtime/generate/feed.h"
#include "runtime/generate/sampler.h"

namespace gart::detail {

class EntryRuns {
 public:
  /// `entry`: "" means the first. Throws Failure for an input or an output that generation cannot use.
  EntryRuns(const Program& program, const Session& session, std::string_view entry);

  /// The number of tokens that each run must read; 0: any.
  int64_t tokens_per_run() const { return tokens_per_run_; }
  /// Reads `tokens`, which follow the `past` tokens in the caches.
  void run(int64_t past, std::span<const int64_t> tokens);
  /// The number of tokens for which the last run computed logits: all tokens that it read, or only the last ones.
  int64_t rows() const { return rows_; }
  /// The logits of one of these tokens, valid until the next call.
  std::span<const float> logits(int64_t row);
  /// Ends the current run. Any thread may call it.
  void cancel() { invocation_.cancel(); }
  /// Drops a cancel() that came after the last run.
  void drop_cancel() { static_cast<void>(invocation_.wait()); }

 private:
  Invocation invocation_;
  std::vector<Feed> feeds_;
  size_t logits_ = 0;
  int64_t tokens_per_run_ = 0, rows_ = 0;
  LogitsRow row_;
};

/// The symbol of the model's batch; empty: the batch is fixed.
std::string batch_symbol(const Program& program, std::string_view entry);

}  // namespace gart::detail
