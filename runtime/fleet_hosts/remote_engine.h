// Runs parts of a model on a device of another rank.
#pragma once

#include <string>
#include <vector>

#include "runtime/fleet/engine.h"
#include "runtime/fleet_hosts/rank_job.h"
#include "runtime/memory.h"

namespace gart::fleet {

class RemoteEngine final : public PartEngine {
 public:
  /// `model`: number of a model that the rank has. Throws Failure.
  RemoteEngine(std::shared_ptr<RankJob> job, int rank, uint32_t model, uint32_t device);
  ~RemoteEngine() override;

  void add(std::span<const uint32_t> parts) override;
  const std::string& device() const override { return device_; }
  const std::string& target() const override { return target_; }
  Result<void> run(uint32_t entry, std::span<const TensorView> inputs, std::span<const OutputBuffer> outputs,
                   std::span<TensorView> results) override;
  Space* space() override { return &space_; }

 private:
  struct OnTheWay {
    int tag = 0;
    std::span<const uint8_t> bytes;
  };
  void put_input(const TensorView& input);
  void put_output(size_t index, const OutputBuffer& output);
  void take_output(size_t index, const OutputBuffer& output, Reader& answer, TensorView& result);
  bool is_there(const char* device) const { return space_.name() == std::string_view(device); }

  const std::shared_ptr<RankJob> job_;
  RankLink& link_;
  RemoteSpace& space_;
  const int rank_, tag_;  // tag of the station's commands
  std::string device_, target_;
  // These belong to the current run:
  Writer command_;
  std::vector<OnTheWay> inputs_;
  // Per output: the message with its data, if the memory for it is known before the run.
  std::vector<Transfer> outputs_;
  std::vector<int> tags_;  // per output: the tag of its data, if its size is not known yet
  std::vector<uint8_t> answer_;
  std::vector<Block> results_;  // memory of the outputs whose size was not known
};

}  // namespace gart::fleet
