// Decides by measurement; shared by the tuning of kernels and of library calls.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "tools/api/tuning_file.h"

namespace gart::cuda {
class Device;
}

namespace gcg::tune {

struct MeasuringOptions {
  int launches = 20;   // number of launches of the kernel in one run
  bool again = false;  // also measures decisions that the file already has
  // Returns the time of an artifact's run; its inputs may hold any values.
  std::function<double(std::span<const uint8_t>)> run_us;
};

class Tuner {
 public:
  using Report = std::function<void(const std::string&)>;

  /// Throws CompileError if there is no GPU. The file must outlive the tuner.
  Tuner(TuningFile& file, const MeasuringOptions& options, Report report);

  const MeasuringOptions& options() const { return options_; }
  const TuningFile& file() const { return file_; }

  /// True if the decision must be measured. Counts a decision that the file already has as known.
  bool wants(const Decision& decision);
  /// Measures the candidates and stores the fastest one in the file. `artifact`: returns an artifact that launches
  /// candidate i options().launches times.
  void decide(const Decision& decision, const std::function<std::vector<uint8_t>(size_t)>& artifact);
  /// Counts a kernel that is not measured because it has a symbolic dimension. `key` distinguishes kernels.
  void leave_open(const std::string& key) { open_.insert(key); }

  /// Numbers of distinct shapes: measured, found in the file, and not measured because a dimension is symbolic.
  size_t measured() const { return measured_; }
  size_t known() const { return known_; }
  size_t open() const { return open_.size(); }

 private:
  TuningFile& file_;
  const MeasuringOptions options_;
  const Report report_;
  std::shared_ptr<gart::cuda::Device> context_;  // kept, because creating it takes longer than measuring a candidate
  std::string device_, driver_;
  std::set<std::string> seen_, open_;
  size_t measured_ = 0, known_ = 0;
};

/// The best target for the first GPU: "sm_90a". Throws CompileError if there is no GPU.
std::string target_of_gpu();

}  // namespace gcg::tune
