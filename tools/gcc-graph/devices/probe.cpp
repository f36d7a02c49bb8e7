#include "tools/gcc-graph/devices/probe.h"

#include <pthread.h>
#include <sched.h>

#include <barrier>
#include <thread>

#include "artifact_schema/cpu_features.h"
#include "runtime/features.h"
#include "tools/gcc-graph/measure/peak.h"

namespace gcg::tools {
namespace {

constexpr int64_t kBytesPerPool = int64_t{256} << 20;  // larger than any cache
constexpr int64_t kLeastBytes = int64_t{16} << 20;     // per core; enough for several timed parts

void bind_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

/// GFLOP/s of this core while the other cores work, too; 0: not known for this CPU.
double rate_here() {
#if defined(__x86_64__)
  const uint64_t features = gart::cpu_features();
  if ((features & gart::kCpuX86_64v3) == 0) return 0;
  double best = 0;
  for (int i = 0; i < 8; ++i) best = std::max(best, bench::fma_peak((features & gart::kCpuX86_64v4) != 0, false));
  return best;
#else
  return 0;
#endif
}

}  // namespace

void probe_pool(gcc_graph::FleetDevice& pool) {
  const size_t count = pool.cores.size();
  const int64_t bytes = std::max(kBytesPerPool / static_cast<int64_t>(count), kLeastBytes);
  std::vector<double> rates(count), bandwidths(count);
  std::barrier together(static_cast<std::ptrdiff_t>(count));
  const auto measure = [&](size_t index) {
    bind_to(pool.cores[index]);
    const std::vector<char> data(static_cast<size_t>(bytes), 1);  // the first write places the pages near the core
    together.arrive_and_wait();
    rates[index] = rate_here();
    together.arrive_and_wait();
    bandwidths[index] = bench::read_bandwidth(data.data(), bytes);
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i) threads.emplace_back(measure, i);
  for (std::thread& thread : threads) thread.join();
  pool.gflops = pool.gbytes_per_s = 0;
  for (size_t i = 0; i < count; ++i) {
    pool.gflops += rates[i];
    pool.gbytes_per_s += bandwidths[i];
  }
}

}  // namespace gcg::tools
