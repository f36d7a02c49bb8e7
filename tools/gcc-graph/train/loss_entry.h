// An entry point that computes the loss of a batch.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tools/gcc-graph/io/npz.h"
#include "tools/gcc-graph/train/batches.h"

namespace gcg::tools {

/// Inputs that are the same in each step, by name.
using StepNumbers = std::map<std::string, HostTensor>;

bool has_input(const gart::Program& program, const std::string& entry, const std::string& name);

/// The number of the entry point's output with the loss. Throws Error if there is none.
size_t loss_output(const gart::Program& program, const std::string& entry);
/// The first element.
double number_in(const gart::TensorView& tensor);

/// One caller's memory for runs of the entry point.
class LossEntry {
 public:
  /// Sets those of `numbers` that are inputs of the entry point. The arguments must outlive the object.
  LossEntry(const gart::Program& program, const std::string& entry, const TrainingData& data,
            const StepNumbers& numbers);

  gart::Result<void> run(const Batch& batch);
  double loss() const;

 private:
  const TrainingData& data_;
  const size_t loss_;
  BatchMemory memory_;
  gart::Invocation invocation_;
};

/// Throws the error of the batch's step.
[[noreturn]] void fail_step(const Batch& batch, const gart::Error& error);

}  // namespace gcg::tools
