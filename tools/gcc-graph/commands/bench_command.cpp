#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/fleet/bench_fleet.h"
#include "tools/gcc-graph/fleet/check_predictions.h"
#include "tools/gcc-graph/fleet/job.h"
#include "tools/gcc-graph/fleet/replace_on_fleet.h"
#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/io/write_file.h"
#include "tools/gcc-graph/measure/device_bench.h"
#include "tools/gcc-graph/measure/profile.h"
#include "tools/gcc-graph/measure/throughput.h"
#include "tools/gcc-graph/options/artifact_option.h"
#include "tools/gcc-graph/options/parse_parallel.h"
#include "tools/gcc-graph/options/session_option.h"
#include "tools/gcc-graph/support/fail.h"
#include "tools/gcc-graph/support/json_text.h"

namespace gcg::tools {
namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
  std::string artifact;
  ArtifactOption source;
  double seconds = 3;
  int iterations = 0, warmup = 3;  // iterations: 0: limited by `seconds` instead
  bool json = false;
  int callers = 0;
  InputOptions inputs;
  SessionOption session;
  ProfileOptions profile;
  RunOnFleet fleet;
  bool replace = false;
  std::string output;  // of --replace
  int placements = 0;
};

double milliseconds(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

void check(const gart::Result<void>& result) {
  if (!result.ok()) throw Error(result.error().message);
}

/// Prints a line per value, "p50_ms: 0.5"; nested values get a path, "in_device_memory.runs: 20".
void print(const nlohmann::ordered_json& report, const std::string& prefix = {}) {
  for (const auto& [key, value] : report.items()) {
    if (value.is_object()) {
      print(value, prefix + key + ".");
    } else {
      std::cout << prefix << key << ": " << (value.is_string() ? value.get<std::string>() : json_text(value, -1))
                << '\n';
    }
  }
}

void run_on_fleet(const Arguments& a) {
  if (a.iterations > 0) fail("--iterations counts runs on one device; on a fleet use --seconds");
  if (a.profile.table) fail("--profile measures one device; on a fleet use --monitor or --trace");
  if ((a.replace || a.placements > 0) && !a.profile.trace.empty())
    fail("--trace shows the parts of one placement; --replace and --placements try many");
  const auto report = [&] {
    if (a.replace) return replace_on_fleet(a.artifact, a.fleet, a.inputs, a.seconds, a.output);
    if (a.placements > 0) return check_predictions(a.artifact, a.fleet, a.inputs, a.seconds, a.placements);
    return bench_fleet(a.artifact, a.fleet, a.inputs, a.seconds, a.profile.trace);
  };
  const nlohmann::ordered_json out = report();
  if (a.json)
    std::cout << json_text(out) << '\n';
  else
    print(out);
}

/// Number of concurrent callers: the requested number, or the number of replicas.
int callers_of(const Arguments& a) { return a.callers > 0 ? a.callers : parse_parallel(a.inputs.parallel).replicas; }

nlohmann::ordered_json throughput_json(const Throughput& t) {
  return {{"callers", t.callers},
          {"runs", t.runs},
          {"runs_per_second", t.runs_per_second},
          {"runs_per_second_of_one", t.runs_per_second_of_one},
          {"speedup", t.runs_per_second / t.runs_per_second_of_one},
          {"cores", cores_text()}};
}

struct Latency {
  double first_ms = 0;
  std::vector<double> times;  // in ms, ascending

  double quantile(double q) const {
    return times[std::min(times.size() - 1, static_cast<size_t>(q * static_cast<double>(times.size())))];
  }
};

/// Times the first run, runs a.warmup times untimed, then times further runs: a.iterations, or for a.seconds, but at
/// least ten. `session`: each run begins with the same states; the time to set them does not count.
Latency measure_latency(gart::Invocation& invocation, const std::optional<gart::Session>& session, const Arguments& a) {
  Latency result;
  const auto timed = [&] {
    if (session) a.session.rewind(*session);
    const auto begin = Clock::now();
    check(invocation.run());
    return milliseconds(Clock::now() - begin);
  };
  result.first_ms = timed();
  for (int i = 0; i < a.warmup; ++i) timed();
  std::vector<double>& times = result.times;
  const auto start = Clock::now();
  const auto goes_on = [&] {
    if (a.iterations > 0) return times.size() < static_cast<size_t>(a.iterations);
    return times.size() < 10 || (milliseconds(Clock::now() - start) < a.seconds * 1000 && times.size() < 10'000'000);
  };
  while (goes_on()) times.push_back(timed());
  std::sort(times.begin(), times.end());
  return result;
}

gart::Invocation new_invocation(const Arguments& a, const gart::Program& program,
                                const std::optional<gart::Session>& session) {
  return value_or_throw(session ? session->new_invocation(a.inputs.entry) : program.new_invocation(a.inputs.entry));
}

/// Profiles the artifact. Loads the artifact a second time, because a profiled GPU waits after each step, and other
/// measurements must not include these waits. On a GPU, inputs and outputs of the first entry point of a model without
/// states are in its memory, so no step's time includes copies from or to the host.
nlohmann::ordered_json profile_of(const Arguments& a, const NamedTensors& inputs) {
  auto waiting = a.inputs;
  waiting.blocking = true;
  const gart::Program program = load_program(a.artifact, waiting);
  const std::optional<gart::Session> session = a.session.open(program);
  const auto profiled = [&](gart::Invocation& invocation) {
    return profile(a.artifact, program, a.inputs.entry, invocation, inputs, a.seconds, a.profile, [&] {
      if (session) a.session.rewind(*session);
    });
  };
#if GCC_GRAPH_CUDA_RUNTIME
  if (!session && a.inputs.entry.empty() && !program.device().starts_with("cpu")) {
    DeviceInvocation on_device(program, inputs);
    return profiled(on_device.get());
  }
#endif
  gart::Invocation invocation = new_invocation(a, program, session);
  for (const auto& [name, tensor] : inputs) check(invocation.set_input(name, tensor.view()));
  return profiled(invocation);
}

/// False for other entry points and for models with states: concurrent callers of these are not measured.
bool is_first_without_states(const Arguments& a, const std::optional<gart::Session>& session) {
  const bool is_plain = !session && a.inputs.entry.empty();
  if (!is_plain && callers_of(a) > 1) fail("--callers measures the first entry point, of a model without states");
  return is_plain;
}

void run(const Arguments& a) {
  if (!a.output.empty() && !a.replace)
    fail("-o ", a.output, " writes the best placement that --replace finds: it needs --replace");
  if (!a.output.empty()) check_writable(a.output);
  if (a.replace || a.placements > 0 || a.fleet.is_wanted(a.artifact, a.inputs)) return run_on_fleet(a);
  const auto begin = Clock::now();
  const gart::Program program = load_program(a.artifact, a.inputs);
  const double load_ms = milliseconds(Clock::now() - begin);
  const NamedTensors inputs = collect_inputs(inputs_of(program, a.inputs), a.inputs);
  const std::optional<gart::Session> session = a.session.open(program);
  const bool is_plain = is_first_without_states(a, session);
  gart::Invocation invocation = new_invocation(a, program, session);
  for (const auto& [name, tensor] : inputs) check(invocation.set_input(name, tensor.view()));

  const Latency latency = measure_latency(invocation, session, a);
  a.fleet.tell_whole(a.artifact, a.inputs, program.device());
  const gart::MemoryInfo memory = invocation.memory();
  nlohmann::ordered_json out = {{"artifact", a.artifact},
                                {"device", program.device()},
                                {"target", program.target()},
                                {"threads", program.threads()},
                                {"runs", latency.times.size()},
                                {"min_ms", latency.times.front()},
                                {"p50_ms", latency.quantile(0.5)},
                                {"p99_ms", latency.quantile(0.99)},
                                {"first_ms", latency.first_ms},
                                {"load_ms", load_ms},
                                {"arena_bytes", memory.arena_bytes},
                                {"arena_lower_bound_bytes", memory.arena_lower_bound_bytes},
                                {"weight_bytes", memory.weight_bytes},
                                {"code_bytes", memory.code_bytes}};
#if GCC_GRAPH_CUDA_RUNTIME
  if (const auto on_device = !is_plain ? std::nullopt : time_on_device(program, inputs, a.seconds)) {
    out["in_device_memory"] = {{"runs", on_device->runs},
                               {"wall_p50_ms", on_device->wall_ms},
                               {"enqueue_p50_us", on_device->enqueue_us},
                               {"device_p50_ms", on_device->device_ms}};
  }
#endif
  if (const int callers = callers_of(a); callers > 1)
    out["throughput"] = throughput_json(measure_throughput(program, inputs, callers, a.seconds));
  if (a.profile.is_enabled()) out["profile"] = profile_of(a, inputs);
  if (a.json) {
    std::cout << json_text(out) << '\n';
    return;
  }
  const nlohmann::ordered_json profiled = a.profile.is_enabled() ? out["profile"] : nlohmann::ordered_json();
  out.erase("profile");
  print(out);
  if (a.profile.table) print_profile(profiled);
}

}  // namespace

void add_bench_command(CLI::App& app) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand("bench", "Measure the latency of an artifact");
  a->source.add_to(*c);
  a->inputs.add_to(*c);
  a->fleet.add_to(*c);
  a->session.add_to(*c, false);
  c->add_flag(
      "--replace", a->replace,
      "On a fleet: run, measure and place the groups again, in rounds of --seconds, until a round gains less than 2 %");
  c->add_option("-o,--output", a->output,
                "The file for --replace to write: the artifact with the placement that was measured to be fastest");
  c->add_option("--placements", a->placements,
                "On a fleet: predict and measure this many random placements, and print the error of the predictions")
      ->check(CLI::Range(1, 1000));
  c->add_option("--seconds", a->seconds, "Seconds to measure")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 86400.0));
  c->add_option("--iterations", a->iterations, "Measure this many runs of one caller, instead of running for --seconds")
      ->check(CLI::Range(1, 10'000'000));
  c->add_option("--warmup", a->warmup, "Runs after the first one that are not measured")
      ->capture_default_str()
      ->check(CLI::Range(0, 10'000'000));
  c->add_option("--callers", a->callers,
                "Also measure the throughput of this many concurrent callers (default: replicas of --parallel)")
      ->check(CLI::Range(1, 1024));
  c->add_flag("--profile", a->profile.table, "Print the time of each step (a GPU then waits for each)");
  c->add_option(
      "--trace", a->profile.trace,
      "Write the steps of one run to this file, for Perfetto or chrome://tracing; on a fleet its parts, a row "
      "per device");
  c->add_flag("--json", a->json, "Print JSON");
  c->callback([a] {
    in_job([&](const gart::fleet::Hosts* hosts) {
      a->fleet.use(hosts);
      a->artifact = a->source.path();
      TrustOption& trust = a->inputs.trust;
      trust.use_stored(a->source.signature(trust.needs_signature()));
      if (a->inputs.npz.empty() && a->inputs.files.empty() && a->inputs.random_seed < 0) a->inputs.random_seed = 1;
      run(*a);
    });
  });
}

}  // namespace gcg::tools
