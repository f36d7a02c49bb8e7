#include "tools/gcc-graph/fleet/bench_fleet.h"

#include <algorithm>
#include <chrono>

#include "tools/gcc-graph/fleet/trace_fleet.h"

namespace gcg::tools {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

class Bench {
 public:
  Bench(const std::string& artifact, const RunOnFleet& fleet, const InputOptions& options)
      : artifact_(artifact),
        fleet_(fleet),
        program_(fleet.load(artifact, options)),
        inputs_(collect_inputs(program_.inputs(), options)) {}

  /// Milliseconds of each run, one after the other, sorted.
  std::vector<double> latencies(double seconds, const std::string& trace) {
    gart::fleet::Request request = fleet_.request(program_, inputs_);
    for (int i = 0; i < 3; ++i) value_or_throw(request.run());
    std::vector<double> times;
    const auto start = Clock::now();
    while (times.size() < 10 || (milliseconds(Clock::now() - start) < seconds * 1000 && times.size() < 10'000'000)) {
      const auto t = Clock::now();
      value_or_throw(request.run());
      times.push_back(milliseconds(Clock::now() - t));
      write_sometimes();
    }
    if (!trace.empty()) trace_fleet(trace, artifact_, program_, request);
    std::sort(times.begin(), times.end());
    return times;
  }

  /// Requests per second if a request is always waiting.
  double throughput(double seconds, size_t requests) {
    std::vector<gart::fleet::Request> pipeline;
    for (size_t i = 0; i < requests; ++i) pipeline.push_back(fleet_.request(program_, inputs_));
    for (gart::fleet::Request& request : pipeline) value_or_throw(request.start());
    size_t done = 0;
    const auto start = Clock::now();
    for (; done < 2 * requests || milliseconds(Clock::now() - start) < seconds * 1000; ++done) {
      gart::fleet::Request& oldest = pipeline[done % requests];
      value_or_throw(oldest.wait());
      value_or_throw(oldest.start());
    }
    const double rate = static_cast<double>(done) / milliseconds(Clock::now() - start) * 1000;
    for (gart::fleet::Request& request : pipeline) value_or_throw(request.wait());
    return rate;
  }

  const gart::fleet::Program& program() const { return program_; }
  void write() const { fleet_.write_monitor(artifact_, program_); }

 private:
  void write_sometimes() {
    constexpr double kPeriodMs = 1000;
    if (milliseconds(Clock::now() - written_) < kPeriodMs) return;
    write();
    written_ = Clock::now();
  }

  const std::string artifact_;
  const RunOnFleet& fleet_;
  const gart::fleet::Program program_;
  const NamedTensors inputs_;
  Clock::time_point written_ = Clock::now();
};

Json groups_of(const gart::fleet::Times& times) {
  Json groups = Json::object();
  for (const gart::fleet::GroupTime& time : times.groups)
    groups[time.group + " on " + time.device + (time.crossed ? ", crossed" : "")] = {
        {"operation_us", time.operation_us}, {"idle_us", time.idle_us}, {"runs", time.runs}};
  return groups;
}

}  // namespace

Json bench_fleet(const std::string& artifact, const RunOnFleet& fleet, const InputOptions& inputs, double seconds,
                 const std::string& trace) {
  const auto begin = Clock::now();
  Bench bench(artifact, fleet, inputs);
  const double load_ms = milliseconds(Clock::now() - begin);
  Json devices = Json::object();
  size_t used = 0;
  for (const gart::fleet::DeviceInfo& device : bench.program().devices()) {
    if (device.device.empty()) continue;
    devices[device.name] = device.device + ", " + device.target;
    ++used;
  }
  const std::vector<double> times = bench.latencies(seconds / 2, trace);
  const gart::fleet::Times measured = bench.program().times();
  bench.write();  // writes the measurements of runs without concurrent requests
  const size_t requests = fleet.requests() > 0 ? fleet.requests() : 2 * used;
  const double rate = bench.throughput(seconds / 2, requests);
  const auto quantile = [&](double q) {
    return times[std::min(times.size() - 1, static_cast<size_t>(q * static_cast<double>(times.size())))];
  };
  return {{"artifact", artifact},
          {"devices", devices},
          {"runs", times.size()},
          {"min_ms", times.front()},
          {"p50_ms", quantile(0.5)},
          {"p99_ms", quantile(0.99)},
          {"load_ms", load_ms},
          {"groups", groups_of(measured)},
          {"pipelined", {{"requests", requests}, {"runs_per_s", rate}, {"ms_per_run", 1000 / rate}}}};
}

}  // namespace gcg::tools
