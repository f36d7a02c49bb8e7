// Builds artifacts by hand, without the compiler, from a few calls per buffer and step.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "artifact_schema/cpu_features.h"
#include "artifact_schema/writer.h"

namespace gart::test {

/// The code blob, and the offsets of its kernels. The functions are compiled for the host, position-independent and
/// self-contained.
struct KernelBlob {
  std::vector<uint8_t> code;
  std::vector<std::pair<std::string, uint64_t>> offsets;
  uint64_t offset_of(const std::string& name) const;
};

/// Starts with one entry point that has one plan; a test can change everything through the fb structs.
class ArtifactBuilder {
 public:
  explicit ArtifactBuilder(const KernelBlob* blob = nullptr);

  // The interface. Dims are slots of the entry point's shape program. The plan's shape program begins with a copy of
  // it.
  uint32_t symbol(const std::string& name, int input = -1, int axis = -1);  // before any instruction
  // The returned slot has the same number in both programs.
  uint32_t constant(int64_t value);
  uint32_t instruction(fb::ExprOp op, uint32_t a, uint32_t b);
  void input(const std::string& name, fb::DType dtype, std::vector<uint32_t> dims);
  void output(const std::string& name, fb::DType dtype, std::vector<uint32_t> dims);

  // The plan.
  uint32_t buffer(fb::BufferKind kind, uint32_t index, uint32_t size_slot, uint64_t offset = 0);
  uint32_t view(uint32_t base, uint32_t size_slot, uint32_t offset_slot);
  uint32_t kernel(const std::string& name, uint32_t operands, uint32_t params, uint32_t scratch_slot);
  /// Appends a step to the open sequence; `tasks` is a slot.
  fb::StepT& step(fb::StepKind kind, std::vector<uint32_t> operands, uint32_t tasks);
  fb::StepT& launch(uint32_t kernel, std::vector<uint32_t> operands, std::vector<uint32_t> params, uint32_t tasks,
                    std::vector<uint32_t> writes);
  /// Closes the open sequence and returns its number. The sequence that is closed last is the entry.
  uint32_t close_sequence();

  fb::EntryPointT& entry() { return *content.manifest.entry_points[0]; }
  fb::PlanT& plan() { return *entry().plans[0]; }
  /// Adds a copy of the current plan.
  fb::PlanT& copy_plan();
  std::vector<uint8_t> write(const WriteOptions& options = {});

  ArtifactContent content;

 private:
  const KernelBlob* blob_;
  std::vector<std::unique_ptr<fb::StepT>> open_;
};

/// out = flag ? x : y, its first row replaced by the weights; x, y and out are f32[rows,16]. The artifact has a branch,
/// a loop, a view, temporaries and a constraint, but only copies and fills, so it needs no machine code.
ArtifactBuilder small_artifact();

}  // namespace gart::test
