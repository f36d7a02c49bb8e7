// Runs an invocation on a pool of CPU cores: on the caller's thread, and on pool threads that no other caller uses.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/cpu/program.h"

namespace gart::cpu {

class Lane final : public gart::Lane {
 public:
  explicit Lane(Program& program) : program_(program) {}

  void adopt(BoundPlan& plan) override { plan.share(program_.pool().threads(), program_.pool().parallel()); }
  void prepare(const Run& run) override;
  void open(const Run& run, const Queue& queue) override;
  bool start(const Run& run) override;
  void close() override { shift_.reset(); }
  void abandon() noexcept override { shift_.reset(); }
  void finish() override {}
  void enqueue(const Run& run, const Segment& segment) override;
  void read(const Run& run, uint32_t buffer, void* to, size_t bytes) override;
  void fill(const Run& run, void* to, uint32_t word) override;
  void copy(const Run& run, void* to, const void* from, size_t bytes) override;
  void wait(const Run&) override {}

 private:
  Program& program_;
  std::optional<Shift> shift_;  // during a run
  Block scratch_;               // thread i's part begins at i * stride
};

}  // namespace gart::cpu
