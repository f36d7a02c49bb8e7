// Decides by measuring: what the tuning of kernels and the tuning of libraries' calls share.
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

struct Measuring {
  int launches = 20;                                       // of the kernel in one run
  bool again = false;                                      // measure what the file has, too
  std::function<double(std::span<const uint8_t>)> run_us;  // of an artifact, whose inputs may be anything
};

class Tuner {
 public:
  using Report = std::function<void(const std::string&)>;

  /// Throws CompileError where there is no GPU. The file must outlive the tuner.
  Tuner(TuningFile& file, const Measuring& options, Report report);

  const Measuring& options() const { return options_; }
  const TuningFile& file() const { return file_; }

  /// Is the decision still to be made? Counts it as known where the file has it.
  bool wants(const Decision& decision);
  /// Measures the candidates; the fastest goes into the file. `artifact`: launches candidate i, options().launches
  /// times.
  void decide(const Decision& decision, const std::function<std::vector<uint8_t>(size_t)>& artifact);
  /// Of which an extent is open; `key` tells kernels apart.
  void leave_open(const std::string& key) { open_.insert(key); }

  /// Distinct shapes measured; found in the file; not measured since an extent is open.
  size_t measured() const { return measured_; }
  size_t known() const { return known_; }
  size_t open() const { return open_.size(); }

 private:
  TuningFile& file_;
  const Measuring options_;
  const Report report_;
  std::shared_ptr<gart::cuda::Device> context_;  // takes longer to make than a candidate to measure
  std::string device_, driver_;
  std::set<std::string> seen_, open_;
  size_t measured_ = 0, known_ = 0;
};

/// The target whose code the first GPU runs best: "sm_90a". Throws CompileError where there is no GPU.
std::string target_of_gpu();

}  // namespace gcg::tune
