// Shows a training run to the user: progress on a terminal, otherwise one line per epoch, and a file of metrics.
#pragma once

#include <chrono>
#include <fstream>
#include <optional>
#include <string>

#include "tools/gcc-graph/train/loss_scaling.h"

namespace gcg::tools {

struct TrainingStep {
  int64_t step = 0, epoch = 0;  // from 1
  double loss = 0;
  int64_t samples = 0;
  std::optional<LossScaling> scaling;  // after the step
};

class TrainingLog {
 public:
  /// `metrics`: a file with a JSON line for each step; empty: none. A resumed run keeps the first `line_count` lines of
  /// an older file. `epochs`, `steps`: numbers for the whole run. Throws Error if the file cannot be written.
  TrainingLog(const std::string& metrics, int64_t line_count, int64_t epochs, int64_t steps, bool quiet);

  void step(const TrainingStep& step);
  void end_epoch(int64_t epoch);
  /// Ends the line that shows progress.
  void clear() const;

 private:
  using Clock = std::chrono::steady_clock;
  double seconds(Clock::time_point since) const;
  void show(const TrainingStep& step);

  const int64_t epochs_, steps_;
  const bool terminal_, quiet_;
  std::ofstream metrics_;
  std::string path_;
  Clock::time_point begin_ = Clock::now(), last_ = begin_, shown_ = begin_;
  int64_t first_ = -1, in_epoch_ = 0, samples_ = 0;
  double sum_ = 0;
};

}  // namespace gcg::tools
