#include "runtime/cpu/device.h"

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/cpu/quota.h"
#include "runtime/errors.h"

namespace gart::cpu {

namespace {

using Teams = std::list<ThreadTeam>;

struct Known {
  Cores cores;
  int replicas, threads;
  std::weak_ptr<Teams> teams;
};

/// Those of a pool that lives, or new ones.
std::shared_ptr<Teams> find_teams(const std::optional<Cores>& own, const Cores& cores, int replicas, int threads) {
  static std::mutex mutex;
  static std::vector<Known> all;
  const std::lock_guard lock(mutex);
  auto known = std::find_if(all.begin(), all.end(), [&](const Known& k) {
    return k.cores == cores && k.replicas == replicas && k.threads == threads;
  });
  if (known == all.end()) known = all.insert(known, {cores, replicas, threads, {}});
  std::shared_ptr<Teams> teams = known->teams.lock();
  if (teams != nullptr && (teams->empty() || teams->front().here())) return teams;
  teams = std::make_shared<Teams>();
  for (int i = 0; i < replicas; ++i) teams->emplace_back(threads, cores.count() / replicas, own);
  known->teams = teams;
  return teams;
}

}  // namespace

Device::Device(const std::string& cores_name, int threads, const Parallel& parallel)
    : gart::Device(cores_name, "cpu", host_memory(), host_memory()), parallel_(parallel) {
  if (cores_name != "cpu") cores_ = Cores::of_device(cores_name);
  const Cores cores = cores_ ? *cores_ : Cores::allowed();
  const int replicas = std::max(1, parallel.replicas), wanted = std::max(parallel.intra, parallel.inter);
  threads_ = std::max(1, (threads == 0 ? within_quota(cores.count()) : threads) / replicas);
  threads_ = parallel.intra > 0 && parallel.inter > 0 ? wanted : std::max(threads_, wanted);
  teams_ = find_teams(cores_, cores, threads_ > 1 ? replicas : 0, threads_);
}

void Device::check_streams() const {
  fail(ErrorCode::unsupported, "run_async needs a program on a CUDA device, this one runs on '", name, "'");
}

}  // namespace gart::cpu
