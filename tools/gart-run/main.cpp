// gart-run: run, bench, check and inspect artifacts on a device that has only the runtime.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <new>

#include "tools/gart-run/arrays.h"
#include "tools/gcc-graph/io/compare_elements.h"
#include "tools/gcc-graph/io/golden.h"
#include "tools/gcc-graph/io/printable.h"
#include "tools/gcc-graph/io/trust_option.h"
#include "tools/gcc-graph/support/fail.h"

// libgcc_graph's header declares this class. The program uses nothing else of that library.
gcc_graph::Error::~Error() = default;

namespace gcg::tools {
namespace {

constexpr int kDiffers = 3;  // exit code

struct Arguments {
  std::string artifact, entry, device, target, outputs, expect;
  std::vector<std::string> files, dims;
  TrustOption trust;
  int64_t seed = -1;
  int threads = 0;
  bool runs = false;
  double seconds = 2;
  Tolerance tolerance;
};

template <class T>
T value_or_throw(gart::Result<T> result) {
  if (!result) throw Error(result.error().message);
  return std::move(*result);
}
void check(const gart::Result<void>& result) {
  if (!result) throw Error(result.error().message);
}

gart::Program load(const Arguments& a) {
  gart::LoadOptions options;
  options.threads = a.threads;
  options.device = a.device;
  options.target = a.target;
  const TrustOption::Read trusted = a.trust.read();
  options.trusted_keys = trusted.keys;
  options.signature = trusted.signature;
  return value_or_throw(gart::load(a.artifact, options));
}

std::string text_of(const gart::TensorInfo& info) {
  std::string dims;
  for (const std::string& d : info.dims) dims += (dims.empty() ? "" : ", ") + d;
  return concat(info.name, " ", gart::name_of(info.dtype), "[", dims, "]");
}

void print(const gart::Tensor& t) {
  constexpr int64_t kShown = 5;
  const int64_t count = t.shape().elements();
  std::cout << t.name() << ' ' << gart::name_of(t.dtype()) << t.shape().text() << " [";
  for (int64_t i = 0; i < std::min(count, kShown); ++i) std::cout << (i > 0 ? ", " : "") << element_at(t, i);
  std::cout << (count > kShown ? ", ...]\n" : "]\n");
}

/// Returns true if all outputs for which the folder has an expected array agree with it.
bool is_as_expected(const std::vector<gart::Tensor>& outputs, const Arguments& a) {
  const Arrays expected = read_folder(a.expect);
  if (expected.empty()) fail("--expect ", a.expect, ": there is no .npy");
  bool all = true;
  for (const auto& [name, want] : expected) {
    const auto got = std::find_if(outputs.begin(), outputs.end(),
                                  [&, &n = name](const gart::Tensor& t) { return file_of(t.name()) == n + ".npy"; });
    if (got == outputs.end()) fail("--expect ", a.expect, ": the model has no output '", name, "'");
    const gart::TensorView x = *got, y = want.view();
    if (x.dtype != y.dtype || x.shape.text() != y.shape.text()) {
      std::cout << name << ": FAIL, " << gart::name_of(x.dtype) << x.shape.text() << " where " << gart::name_of(y.dtype)
                << y.shape.text() << " is expected\n";
      all = false;
      continue;
    }
    const Element of_x = [&x](int64_t i) { return element_at(x, i); },
                  of_y = [&y](int64_t i) { return element_at(y, i); };
    const Comparison found = compare_elements(x.shape.elements(), of_x, of_y, a.tolerance);
    std::cout << name << ": " << describe(found, of_x, of_y) << '\n';
    all = all && found.ok;
  }
  return all;
}

void run(const Arguments& a) {
  const gart::Program program = load(a);
  const Arrays inputs = inputs_of(program, a.entry, a.files, a.dims, a.seed);
  std::vector<gart::NamedTensor> views;
  for (const auto& [name, tensor] : inputs) views.push_back({name, tensor.view()});
  const std::vector<gart::Tensor> outputs =
      value_or_throw(program.run(std::span<const gart::NamedTensor>(views), a.entry));
  if (!a.outputs.empty()) write_folder(a.outputs, outputs);
  if (a.expect.empty())
    for (const gart::Tensor& t : outputs) print(t);
  else if (!is_as_expected(outputs, a))
    throw CLI::RuntimeError(kDiffers);
}

void bench(const Arguments& a) {
  using Clock = std::chrono::steady_clock;
  const auto milliseconds = [](Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); };
  const auto begin = Clock::now();
  const gart::Program program = load(a);
  const double load_ms = milliseconds(Clock::now() - begin);
  const Arrays inputs = inputs_of(program, a.entry, a.files, a.dims, std::max<int64_t>(a.seed, 1));
  gart::Invocation invocation = value_or_throw(program.new_invocation(a.entry));
  for (const auto& [name, tensor] : inputs) check(invocation.set_input(name, tensor.view()));
  std::vector<double> times;
  for (const auto end = Clock::now() + std::chrono::duration<double>(a.seconds);
       times.size() < 12 || Clock::now() < end;) {
    const auto start = Clock::now();
    check(invocation.run());
    times.push_back(milliseconds(Clock::now() - start));
  }
  const double first = times.front();
  times.erase(times.begin(), times.begin() + 2);
  std::sort(times.begin(), times.end());
  std::cout << "device: " << program.device() << ", " << program.target() << ", threads " << program.threads()
            << "\nload_ms: " << load_ms << "\nfirst_ms: " << first << "\nruns: " << times.size()
            << "\nmin_ms: " << times.front() << "\np50_ms: " << times[times.size() / 2]
            << "\np99_ms: " << times[times.size() * 99 / 100] << "\narena_bytes: " << invocation.memory().arena_bytes
            << '\n';
}

void inspect(const Arguments& a) {
  const gart::Program program = load(a);
  std::cout << "runs on " << program.device() << " with code for " << program.target() << '\n';
  for (const std::string& entry : program.entry_points()) {
    std::cout << "entry point " << entry << '\n';
    for (const gart::TensorInfo& info : program.inputs(entry)) std::cout << "  in  " << text_of(info) << '\n';
    for (const gart::TensorInfo& info : program.outputs(entry)) std::cout << "  out " << text_of(info) << '\n';
  }
  for (const gart::TensorInfo& info : program.states()) std::cout << "state " << text_of(info) << '\n';
}

/// Loading verifies the file and the digests of its code and weights.
void check_file(const Arguments& a) {
  const gart::Program program = load(a);
  if (a.runs && !check_golden(program, a.tolerance, element_at, std::cout)) throw CLI::RuntimeError(kDiffers);
  std::cout << a.artifact << ": sound; it runs on " << program.device() << " with code for " << program.target()
            << '\n';
}

void add_device(CLI::App& c, Arguments& a) {
  c.add_option("artifact", a.artifact, "The .gart file")->required();
  c.add_option("--device", a.device,
               "cpu, cpu:0-3 (these cores), cuda or cuda:1; default: the best that the file has code for");
  c.add_option("--target", a.target, "Use the code for this target instead of the best one for this machine");
  c.add_option("--threads", a.threads, "Threads that share a run; 0: one per CPU")->check(CLI::Range(0, 1024));
  a.trust.add_to(c);
}

void add_inputs(CLI::App& c, Arguments& a) {
  c.add_option("--input", a.files, "NAME=F.npy; once per input");
  c.add_option("--random", a.seed, "SEED: random numbers for every input that is not given")
      ->check(CLI::Range(0, 1 << 30));
  c.add_option("--dim", a.dims, "NAME=VALUE: an open extent of inputs that are not given (default: 1)");
  c.add_option("--entry", a.entry, "The entry point to run (default: the file's first)");
}

void add_tolerance(CLI::App& c, Arguments& a) {
  c.add_option("--rtol", a.tolerance.rtol, "Largest error relative to the largest expected element")
      ->capture_default_str();
  c.add_option("--atol", a.tolerance.atol, "Absolute error that is always accepted")->capture_default_str();
}

void add_commands(CLI::App& app, Arguments& a) {
  CLI::App* c = app.add_subcommand("run", "Run an artifact once");
  add_device(*c, a);
  add_inputs(*c, a);
  c->add_option("--outputs", a.outputs, "Folder for the outputs, one NAME.npy each");
  c->add_option("--expect", a.expect, "Folder of .npy files: compare the outputs; exit code 3 if they differ");
  add_tolerance(*c, a);
  c->callback([&a] { run(a); });
  c = app.add_subcommand("bench", "Measure the latency of an artifact");
  add_device(*c, a);
  add_inputs(*c, a);
  c->add_option("--seconds", a.seconds, "Seconds to measure")->check(CLI::Range(0.001, 86400.0))->capture_default_str();
  c->callback([&a] { bench(a); });
  c = app.add_subcommand("inspect", "Show inputs, outputs and states");
  add_device(*c, a);
  c->callback([&a] { inspect(a); });
  c = app.add_subcommand("check", "Verify a file and load it");
  add_device(*c, a);
  c->add_flag("--run", a.runs,
              "Run the golden vectors that gcc-graph compile --golden stored, and print the error of each output; exit "
              "code 3 if one is too large");
  add_tolerance(*c, a);
  c->callback([&a] { check_file(a); });
}

int say(const std::string& text) {
  std::fprintf(stderr, "gart-run: %s\n", printable(text).c_str());
  return 1;
}

}  // namespace
}  // namespace gcg::tools

int main(int argc, char** argv) {
  using namespace gcg::tools;
  CLI::App app{"gart-run: runs artifacts with the runtime alone"};
  app.require_subcommand(1);
  app.set_version_flag("-V,--version", "gart-run " GART_RUN_VERSION);
  app.footer(
      "\nExample:\n  gart-run run model.gart --input x=x.npy --outputs results\nExit codes: 0; 1 if it failed; 3 if "
      "the outputs differ from those of --expect or the golden vectors\n");
  Arguments a;
  add_commands(app, a);
  const PrintableStream output(std::cout);
  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& e) {
    return e.get_exit_code();
  } catch (const CLI::ParseError& e) {
    return e.get_exit_code() == 0 ? app.exit(e) : say(std::string(e.what()) + "; --help lists the options");
  } catch (const std::bad_alloc&) {
    return say("not enough memory");
  } catch (const std::exception& e) {
    return say(e.what());
  }
  return 0;
}
