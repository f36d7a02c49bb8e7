#include "runtime/cpu/device.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/cpu/quota.h"
#include "runtime/errors.h"

namespace gart::cpu {

namespace {

struct Known {
  Cores cores;
  int replicas, threads;
  int64_t spin_us;
  std::weak_ptr<ThreadPool> pool;
};

/// Returns the pool of a live device, or a new one.
std::shared_ptr<ThreadPool> find_pool(const std::optional<Cores>& own, const Cores& cores, int replicas, int threads,
                                      bool spin) {
  const int64_t spin_us = !spin ? 0 : replicas * threads > cores.count() ? kShortSpin : kLongSpin;
  static std::mutex mutex;
  static std::vector<Known> all;
  const std::lock_guard lock(mutex);
  auto known = std::find_if(all.begin(), all.end(), [&](const Known& k) {
    return k.cores == cores && k.replicas == replicas && k.threads == threads && k.spin_us == spin_us;
  });
  if (known == all.end()) known = all.insert(known, {cores, replicas, threads, spin_us, {}});
  std::shared_ptr<ThreadPool> pool = known->pool.lock();
  if (pool != nullptr && pool->here()) return pool;
  pool = std::make_shared<ThreadPool>(replicas, threads, spin_us, own);
  known->pool = pool;
  return pool;
}

}  // namespace

Device::Device(const std::string& cores_name, int threads, const Parallel& parallel, bool spin)
    : gart::Device(cores_name, "cpu", host_memory(), host_memory()), parallel_(parallel) {
  if (cores_name != "cpu") cores_ = Cores::of_device(cores_name);
  const Cores cores = cores_ ? *cores_ : Cores::allowed();
  const int replicas = std::max(1, parallel.replicas), requested = std::max(parallel.intra, parallel.inter);
  threads_ = std::max(1, (threads == 0 ? within_quota(cores.count()) : threads) / replicas);
  threads_ = parallel.intra > 0 && parallel.inter > 0 ? requested : std::max(threads_, requested);
  if (threads_ > 1) pool_ = find_pool(cores_, cores, replicas, threads_, spin);
}

void Device::check_streams() const {
  fail(ErrorCode::unsupported, "run_async needs a program on a CUDA device, this one runs on '", name, "'");
}

}  // namespace gart::cpu
