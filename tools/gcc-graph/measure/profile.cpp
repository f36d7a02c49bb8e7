#include "tools/gcc-graph/measure/profile.h"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <map>

#include "gcc_graph/fleet.h"
#include "tools/gcc-graph/inspect/step_facts.h"
#include "tools/gcc-graph/measure/peak.h"
#include "tools/gcc-graph/measure/trace_file.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

using Json = nlohmann::ordered_json;

/// Peak rates of the machine; 0: not known.
using Roofline = gcc_graph::Rates;

#if defined(__x86_64__)
Roofline measure_cpu(const std::string& target, int threads) {
  const bool avx512 = gcc_graph::vector_bytes_of_cpu(target) == 64;
  const std::vector<char> memory(64 << 20, 1);
  return {threads * bench::fma_peak(avx512, false),
          threads * bench::read_bandwidth(memory.data(), static_cast<int64_t>(memory.size()))};
}
#else
Roofline measure_cpu(const std::string&, int) { return {}; }
#endif

/// The machine's peak rates. CPU rates are measured on one core and multiplied by the number of threads. GPU rates are
/// the cost model's rates for the unit that a kernel uses.
class Peaks {
 public:
  explicit Peaks(const gart::Program& program)
      : is_cpu_(program.device().starts_with("cpu")), target_(program.target()) {
    device_rates_ = is_cpu_ ? measure_cpu(target_, program.threads()) : gcc_graph::rates_of_gpu(target_);
  }
  const Roofline& device_rates() const { return device_rates_; }
  Roofline of(const StepFacts& f) const { return is_cpu_ ? device_rates_ : gcc_graph::rates_of_gpu(target_, f.note); }

 private:
  bool is_cpu_;
  std::string target_;
  Roofline device_rates_;
};

/// The work of one thread on one step in one run: all iterations of loops together.
struct StepWork {
  double us = 0;
  int64_t iterations = 0;
};

/// For each step, the work of the thread that spent the most time on it.
std::map<uint32_t, StepWork> step_work(const std::vector<gart::StepTime>& log) {
  std::map<std::pair<uint32_t, uint32_t>, StepWork> by_thread;
  for (const gart::StepTime& t : log) {
    StepWork& work = by_thread[{t.step, t.thread}];
    work.us += static_cast<double>(t.end_ns - t.begin_ns) * 1e-3;
    ++work.iterations;
  }
  std::map<uint32_t, StepWork> longest;
  for (const auto& [key, work] : by_thread)
    if (StepWork& most = longest[key.first]; work.us >= most.us) most = work;
  return longest;
}

class Recorder {
 public:
  explicit Recorder(gart::Invocation& invocation) : invocation_(invocation), places_(1024) {}
  ~Recorder() { invocation_.record_steps({}); }

  std::vector<gart::StepTime> run() {
    for (;;) {
      invocation_.record_steps(places_);
      if (gart::Result<void> done = invocation_.run(); !done) throw Error(done.error().message);
      const size_t count = invocation_.recorded_steps();
      if (count <= places_.size()) return {places_.begin(), places_.begin() + static_cast<int64_t>(count)};
      places_.resize(2 * count);
    }
  }

 private:
  gart::Invocation& invocation_;
  std::vector<gart::StepTime> places_;
};

void write_trace(const std::string& path, const std::vector<gart::StepTime>& log, const std::vector<StepFacts>& facts,
                 const gart::Program& program) {
  int64_t start = INT64_MAX;
  std::vector<std::string> rows;
  for (const gart::StepTime& t : log) {
    start = std::min(start, t.begin_ns);
    while (rows.size() <= t.thread)
      rows.push_back(program.device().starts_with("cpu") ? concat("thread ", rows.size()) : program.device());
  }
  std::vector<TraceSpan> spans;
  for (const gart::StepTime& t : log) {
    const StepFacts& f = facts.at(t.step);
    spans.push_back({t.thread,
                     f.kernel.empty() ? f.kind : f.kernel,
                     f.kind,
                     static_cast<double>(t.begin_ns - start) * 1e-3,
                     static_cast<double>(t.end_ns - start) * 1e-3,
                     {{"step", t.step}, {"nodes", f.source}}});
  }
  write_trace_file(path, rows, spans);
}

Json step_row(uint32_t step, const StepWork& work, double total, const StepFacts& f, const Roofline& roof) {
  Json row = {{"step", step}, {"us", work.us}, {"share", work.us / total}, {"iterations", work.iterations}};
  const double us = work.us / static_cast<double>(work.iterations);  // the operations and bytes in the artifact are for
                                                                     // one iteration
  if (f.operations) row["gflops"] = *f.operations / us * 1e-3;
  if (f.bytes) row["gbytes_per_s"] = *f.bytes / us * 1e-3;
  if (roof.gflops > 0 && f.operations && f.bytes)
    row["roofline"] = std::max(*f.operations / roof.gflops, *f.bytes / roof.gbytes_per_s) * 1e-3 / us;
  row.update({{"kind", f.kind}, {"kernel", f.kernel}, {"source", f.source}});
  if (!f.note.empty()) row["note"] = f.note;
  return row;
}

}  // namespace

Json profile(const std::string& artifact, const gart::Program& program, const std::string& entry,
             gart::Invocation& invocation, const NamedTensors& inputs, double seconds, const ProfileOptions& options,
             const std::function<void()>& prepare) {
  const std::vector<StepFacts> facts = step_facts(artifact, program, entry, inputs);
  Recorder recorder(invocation);
  prepare();
  recorder.run();
  std::map<uint32_t, std::vector<double>> times;
  std::map<uint32_t, int64_t> iterations;  // iterations in the last run
  std::vector<double> runs;
  std::vector<gart::StepTime> log;
  for (const double end = bench::seconds() + seconds;
       runs.size() < 5 || (bench::seconds() < end && runs.size() < 10'000);) {
    prepare();
    const double begin = bench::seconds();
    log = recorder.run();
    runs.push_back((bench::seconds() - begin) * 1e6);
    for (const auto& [step, work] : step_work(log)) {
      times[step].push_back(work.us);
      iterations[step] = work.iterations;
    }
  }
  if (!options.trace.empty()) write_trace(options.trace, log, facts, program);

  const auto median = [](std::vector<double>& v) {
    std::nth_element(v.begin(), v.begin() + static_cast<int64_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
  };
  const Peaks peaks(program);
  std::vector<std::pair<double, uint32_t>> order;
  double total = 0;
  for (auto& [step, of_runs] : times) {
    order.emplace_back(std::max(median(of_runs), 1e-3), step);
    total += order.back().first;
  }
  std::sort(order.rbegin(), order.rend());
  Json steps = Json::array();
  for (const auto& [us, step] : order)
    steps.push_back(step_row(step, {us, iterations[step]}, total, facts.at(step), peaks.of(facts.at(step))));
  Json out = {{"runs", runs.size()}, {"run_us", median(runs)}, {"steps_us", total}};
  if (const Roofline& device_rates = peaks.device_rates(); device_rates.gflops > 0)
    out["machine"] = {{"gflops", device_rates.gflops}, {"gbytes_per_s", device_rates.gbytes_per_s}};
  out["steps"] = std::move(steps);
  return out;
}

void print_profile(const Json& p) {
  const auto number = [](const Json& row, const char* key, double scale, int width, int digits) {
    if (row.contains(key))
      std::cout << std::setw(width) << std::fixed << std::setprecision(digits) << row[key].get<double>() * scale;
    else
      std::cout << std::setw(width) << '-';
  };
  std::cout << "profile of " << p["runs"] << " runs, median " << std::fixed << std::setprecision(1)
            << p["run_us"].get<double>() << " us";
  if (p.contains("machine"))
    std::cout << "; the machine: " << p["machine"]["gflops"].get<double>() << " GFLOP/s in f32, "
              << p["machine"]["gbytes_per_s"].get<double>() << " GB/s";
  std::cout << "\n        us   share  GFLOP/s     GB/s  roofline  step  kernel  // nodes\n";
  for (const Json& row : p["steps"]) {
    number(row, "us", 1, 10, 1);
    number(row, "share", 100, 7, 1);
    std::cout << '%';
    number(row, "gflops", 1, 8, 1);
    number(row, "gbytes_per_s", 1, 9, 1);
    number(row, "roofline", 100, 9, 0);
    const std::string kernel = row["kernel"].get<std::string>();
    std::cout << "%  " << std::setw(4) << row["step"].get<uint32_t>() << "  "
              << (kernel.empty() ? row["kind"].get<std::string>() : kernel)
              << (row["iterations"].get<int64_t>() > 1 ? concat(" x", row["iterations"].get<int64_t>()) : "") << "  // "
              << row["source"].get<std::string>() << '\n';
  }
}

}  // namespace gcg::tools
