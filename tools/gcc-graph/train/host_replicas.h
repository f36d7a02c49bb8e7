// Synchronous replicas on the other ranks of a job. Rank 0 sends the states and the batches, and gets the gradients.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/gcc-graph/train/batches.h"
#include "tools/gcc-graph/train/loss_entry.h"
#include "tools/gcc-graph/train/replicas.h"
#include "tools/gcc-graph/train/training_job.h"

namespace gcg::tools {

/// The number of replicas in this process: all of them without a job. Throws Error if the job has more ranks than there
/// are replicas.
int64_t replicas_of_rank_0(int64_t replicas, const TrainingJob& job);

/// The replicas of all other ranks, as rank 0 sees them. Replica i computes batch i of a group; each rank has
/// consecutive replicas.
class HostReplicas {
 public:
  /// Sends the artifact to the ranks that lack it. `replicas`: of the whole job. The arguments must outlive the object.
  /// Throws Error if a rank cannot load the artifact.
  HostReplicas(const TrainingJob& job, const gart::Program& program, int64_t replicas, const TrainingData& data,
               const StepNumbers& numbers);

  /// Computes the gradients of the group's batches that belong to other ranks. `done`: per batch of the group; the
  /// error of a lost rank is ErrorCode::device_lost.
  void compute(std::span<const Batch> group, std::span<gart::Result<void>> done);
  double loss(size_t replica) const { return number_in(remote_[replica].outputs[loss_].view()); }
  Gradients gradients(size_t replica) const;

 private:
  struct Remote {
    BatchMemory memory;
    int64_t draw = 0;
    std::vector<HostTensor> outputs;  // of the entry point
  };
  using Named = std::vector<std::pair<std::string, gart::TensorView>>;

  int64_t first_replica(int rank) const;
  void introduce(int rank, std::span<const uint8_t> file);
  void compute_on(int rank, std::span<const Batch> group, std::span<gart::Result<void>> done);
  Named inputs_of(size_t replica, const Batch& batch);

  const gart::fleet::Hosts& hosts_;
  const gart::Program& program_;
  const int64_t replicas_;
  const TrainingData& data_;
  const StepNumbers& numbers_;
  const size_t loss_;
  std::vector<size_t> gradients_;        // outputs of the entry point
  std::vector<std::string> parameters_;  // the states that an update changes and `gradients` reads
  bool draws_ = false;
  std::vector<Remote> remote_;                                // per replica; those of rank 0 stay empty
  std::vector<uint8_t> has_states_;                           // per rank: it has got all states once
  std::vector<std::pair<std::string, gart::Tensor>> states_;  // for the present group
};

}  // namespace gcg::tools
