#include "gart/hosts.hpp"

#include <dlfcn.h>

#include "runtime/fleet_hosts/rank_job.h"
#include "runtime/fleet_hosts/worker.h"

namespace gart::fleet {
namespace {

constexpr const char* kLibrary = "libgart_mpi.so.0";

/// Opens the library where the linker looks for libraries, or beside this code, or in ../lib of that folder.
void* open_library() {
  // MPI's own plug-ins need its symbols, so they must be global.
  constexpr int kFlags = RTLD_NOW | RTLD_GLOBAL;
  if (void* const found = dlopen(kLibrary, kFlags); found != nullptr) return found;
  Dl_info here;
  if (dladdr(reinterpret_cast<const void*>(&open_library), &here) == 0) return nullptr;
  const std::string path = here.dli_fname;
  const std::string folder = path.substr(0, path.find_last_of('/') + 1);
  for (const char* const between : {"", "../lib/"})
    if (void* const found = dlopen((folder + between + kLibrary).c_str(), kFlags); found != nullptr) return found;
  return nullptr;
}

const gart_transport& open_transport() {
  void* const library = open_library();
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
RankJob& job_of(detail::Ranks& ranks) { return static_cast<RankJob&>(ranks); }

}  // namespace

Hosts::Hosts(std::shared_ptr<detail::Ranks> ranks) : ranks_(std::move(ranks)) {}

Result<Hosts> Hosts::join(const HostOptions& options) {
  return guarded([&] { return Hosts(std::make_shared<RankJob>(open_transport(), options)); });
}

Result<Hosts> Hosts::over(const gart_transport& transport, const HostOptions& options) {
  return guarded([&] { return Hosts(std::make_shared<RankJob>(transport, options)); });
}

int Hosts::rank() const { return job_of(*ranks_).link.rank(); }
int Hosts::size() const { return job_of(*ranks_).link.size(); }

Result<void> Hosts::serve() const {
  return guarded([&] {
    if (rank() == 0) fail(ErrorCode::invalid_argument, "rank 0 does not serve: it loads the model");
    Worker(job_of(*ranks_)).serve();
  });
}

}  // namespace gart::fleet
