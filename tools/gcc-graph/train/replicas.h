// The entry points of a file that was compiled with replicas=on, with the memory of each replica.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tools/gcc-graph/train/exchange.h"
#include "tools/gcc-graph/train/replica.h"

namespace gcg::tools {

// Names of the compiler: compiler/train/replica_entries.h and accumulation.h.
inline constexpr const char* kGradientPrefix = "gradient.";
inline constexpr const char* kRandomState = "random.state";  // i64[2], as compiler/train/random_state.h says

/// Gradients of all parameters, in the order of the outputs of the entry point `gradients`.
using Gradients = std::vector<gart::TensorView>;

class Replicas {
 public:
  /// The arguments must outlive the object. Throws Error if the file has no such entry points.
  Replicas(const gart::Program& program, int64_t count, const TrainingData& data, const StepNumbers& numbers);

  size_t count() const { return replicas_.size(); }
  /// More than 1 if replicas exchange statistics of their batches.
  size_t phases() const { return phases_.size(); }
  /// Computes the first phase of a batch's gradients. Replicas may do this at the same time. `draw`: the number of
  /// steps between the states and the step whose random numbers this one draws.
  gart::Result<void> begin(size_t replica, const Batch& batch, int64_t draw) {
    return replicas_[replica]->begin(batch, draw);
  }
  /// Before a later phase: the first `count` replicas exchange values. No replica may run meanwhile.
  gart::Result<void> exchange(size_t phase, size_t count);
  /// Computes a later phase. Replicas may do this at the same time.
  gart::Result<void> go_on(size_t replica, size_t phase) { return replicas_[replica]->run(phase); }
  /// The replica's gradients, which stay valid until it computes again.
  Gradients gradients(size_t replica) const;
  double loss(size_t replica) const { return replicas_[replica]->loss(); }

  /// Ends a group: runs the optimizer with the sum of `share` times each of these gradients, added in their order, and
  /// of pending gradients, which come first. One call at a time.
  gart::Result<void> update(std::span<const Gradients> group, double share);
  /// Adds `share` times these gradients to the pending ones. One call at a time.
  gart::Result<void> accumulate(const Gradients& gradients, double share);
  /// The number of gradients whose sum the states contain.
  int64_t pending() const;

 private:
  struct Operand {
    Gradients gradients;
    double share = 0;
  };
  using Invocation = std::unique_ptr<gart::Invocation>;

  Invocation open(const char* entry) const;
  gart::Result<void> set_operands(gart::Invocation& invocation, const Operand& first, const Operand& second) const;
  gart::Result<void> add(Operand& sum, const Operand& next, gart::Invocation& invocation);
  gart::Result<std::vector<gart::Tensor>> pending_sums() const;
  gart::Result<void> drop_pending(std::vector<gart::Tensor> sums);

  const gart::Program& program_;
  const std::vector<std::string> phases_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  Exchange exchange_;
  std::vector<std::string> parameters_;
  std::vector<std::string> statistics_;  // inputs of `update`, and outputs of a phase
  Invocation update_, accumulate_;
  std::array<Invocation, 2> adds_;  // each reads the sum that the other one made
  bool counts_steps_ = false;
};

}  // namespace gcg::tools
