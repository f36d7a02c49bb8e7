// The memory of another rank, for values that its parts exchange with each other and with other ranks.
#pragma once

#include <string>

#include "runtime/fleet/engine.h"
#include "runtime/fleet_hosts/rank_link.h"

namespace gart::fleet {

class RemoteSpace final : public Space, private MemorySource {
 public:
  RemoteSpace(RankLink& link, int rank) : link_(link), rank_(rank), name_(text("rank ", rank)) {}

  const char* name() const override { return name_.c_str(); }
  MemorySource& memory() override { return *this; }
  const void* family() const override;
  void copy_in(void* to, const Space& other, const void* from, size_t bytes) override;
  void copy_to_host(void* to, const void* from, size_t bytes) override;

 private:
  void* allocate(size_t& bytes) override;
  void release(void* data, size_t bytes) noexcept override;

  RankLink& link_;
  const int rank_;
  const std::string name_;
};

}  // namespace gart::fleet
