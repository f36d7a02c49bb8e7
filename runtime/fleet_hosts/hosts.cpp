#include "gart/hosts.hpp"

#include <dlfcn.h>

#include "runtime/fleet_hosts/rank_job.h"
#include "runtime/fleet_hosts/worker.h"

namespace gart::fleet {
namespace {

constexpr const char* kLibrary = "libgart_mpi.so.0";

const gart_transport& open_transport() {
  // MPI's own plug-ins need its symbols, so they must be global.
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr)
    fail(ErrorCode::unsupported, "a job of several processes needs ", kLibrary,
         ", which is built where MPI is installed: ", dlerror());
  const auto open = reinterpret_cast<gart_open_transport_fn>(dlsym(library, "gart_open_transport"));
  char reason[512] = "";
  const gart_transport* transport = open == nullptr ? nullptr : open(reason, sizeof reason);
  if (transport == nullptr) fail(ErrorCode::unsupported, "cannot join the job: ", reason);
  return *transport;
}

/// Every job is a RankJob.
RankJob& job_of(detail::HostRanks& ranks) { return static_cast<RankJob&>(ranks); }

}  // namespace

Hosts::Hosts(std::shared_ptr<detail::HostRanks> ranks) : ranks_(std::move(ranks)) {}

Result<Hosts> Hosts::join(const HostOptions& options) {
  return guarded([&] { return Hosts(std::make_shared<RankJob>(open_transport(), options)); });
}

Result<Hosts> Hosts::over(const gart_transport& transport, const HostOptions& options) {
  return guarded([&] { return Hosts(std::make_shared<RankJob>(transport, options)); });
}

int Hosts::rank() const { return job_of(*ranks_).link.rank(); }
int Hosts::size() const { return job_of(*ranks_).link.size(); }

std::string Hosts::machine() const { return job_of(*ranks_).link.host(); }

void Hosts::limit_silence(int milliseconds) const noexcept { job_of(*ranks_).silence_ms = milliseconds; }

Result<void> Hosts::send(int to, std::span<const uint8_t> bytes) const {
  return guarded([&] {
    RankJob& job = job_of(*ranks_);
    job.wait(job.link.send(job.checked(to), kProgramTag, bytes));
  });
}

Result<void> Hosts::receive(int from, std::span<uint8_t> room) const {
  return guarded([&] {
    RankJob& job = job_of(*ranks_);
    job.wait(job.link.receive(job.checked(from), kProgramTag, room));
  });
}

Result<void> Hosts::serve() const {
  return guarded([&] {
    if (rank() == 0) fail(ErrorCode::invalid_argument, "rank 0 does not serve: it loads the model");
    Worker(job_of(*ranks_)).serve();
  });
}

}  // namespace gart::fleet
