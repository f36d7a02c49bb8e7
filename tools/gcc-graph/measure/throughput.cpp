#include "tools/gcc-graph/measure/throughput.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <fstream>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kAssumedTrips = 5;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

class Callers {
 public:
  Callers(const gart::Program& program, const NamedTensors& inputs, int count) {
    for (int i = 0; i < count; ++i) {
      invocations_.push_back(value_or_throw(program.new_invocation()));
      for (const auto& [name, tensor] : inputs) check(invocations_.back().set_input(name, tensor.view()));
      check(invocations_.back().run());
    }
  }

  /// Starts the first `count` callers together. Returns their runs per second, and their number of runs.
  std::pair<double, int64_t> measure(int count, double seconds) {
    std::atomic<int64_t> runs{0};
    std::vector<gart::Result<void>> ends(static_cast<size_t>(count));
    std::vector<std::thread> threads;
    Clock::time_point begin;
    std::barrier start(count, [&]() noexcept { begin = Clock::now(); });
    for (int i = 0; i < count; ++i)
      threads.emplace_back([&, i] {
        auto& end = ends[static_cast<size_t>(i)];
        start.arrive_and_wait();
        do {
          end = invocations_[static_cast<size_t>(i)].run();
          ++runs;
        } while (end.ok() && seconds_since(begin) < seconds);
      });
    for (std::thread& thread : threads) thread.join();
    const double took = seconds_since(begin);
    for (const auto& end : ends) check(end);
    return {static_cast<double>(runs) / took, runs};
  }

 private:
  static void check(const gart::Result<void>& result) {
    if (!result.ok()) throw Error(result.error().message);
  }
  std::vector<gart::Invocation> invocations_;
};

/// "0-1" for core 0, if 0 and 1 are its two hardware threads. Empty if the system does not say.
std::string siblings(int cpu) {
  std::ifstream file(concat("/sys/devices/system/cpu/cpu", cpu, "/topology/thread_siblings_list"));
  std::string text;
  std::getline(file, text);
  return text;
}

}  // namespace

Throughput measure_throughput(const gart::Program& program, const NamedTensors& inputs, int callers, double seconds) {
  Callers all(program, inputs, callers);
  Throughput out{callers};
  for (int trip = 0; trip < kAssumedTrips; ++trip) {
    out.runs_per_second_of_one =
        std::max(out.runs_per_second_of_one, all.measure(1, seconds / kAssumedTrips / 2).first);
    const auto [rate, runs] = all.measure(callers, seconds / kAssumedTrips / 2);
    out.runs_per_second = std::max(out.runs_per_second, rate);
    out.runs += runs;
  }
  return out;
}

std::string cores_text() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return "unknown cores";
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) cores.insert(siblings(cpu));
  const int threads = CPU_COUNT(&allowed);
  if (cores.count("") != 0) return concat(threads, " processors; the system does not say which share a core");
  const auto count = static_cast<int>(cores.size());
  if (count == threads) return concat(threads, threads == 1 ? " core" : " cores");
  return concat(threads, " threads of ", count, count == 1 ? " core" : " cores", ", which share its units");
}

}  // namespace gcg::tools
