// Compares the results of two artifacts, or of an artifact and its model, or a model's values one by one.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "gcc_graph/compile_model.h"
#include "gcc_graph/interpret.h"
#include "gcc_graph/values.h"
#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/io/compare_elements.h"
#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {
namespace {

using gcc_graph::HostArray;
constexpr int kDiffers = 3;  // exit code

struct Arguments {
  std::string first, second, precision = "fp32";
  bool layers = false;
  Tolerance tolerance;
  InputOptions inputs;
};

bool is_model(const std::string& path) { return path.ends_with(".onnx"); }

std::vector<HostArray> arrays_of(const NamedTensors& inputs) {
  std::vector<HostArray> arrays;
  for (const auto& [name, t] : inputs) {
    if (t.dtype == gart::DType::string)
      fail("input '", name, "' has strings, which the interpreter does not take; compare two .gart files");
    arrays.push_back({name, static_cast<gcc_graph::DType>(t.dtype), t.shape, t.bytes});
  }
  return arrays;
}

std::vector<HostArray> run(const gart::Program& program, const NamedTensors& inputs, const std::string& entry) {
  std::vector<gart::NamedTensor> views;
  for (const auto& [name, tensor] : inputs) views.push_back({name, tensor.view()});
  std::vector<HostArray> arrays;
  for (const gart::Tensor& t : value_or_throw(program.run(std::span<const gart::NamedTensor>(views), entry))) {
    const auto* bytes = static_cast<const uint8_t*>(t.data());
    const auto extents = t.shape().extents();
    arrays.push_back({t.name(),
                      static_cast<gcc_graph::DType>(t.dtype()),
                      {extents.begin(), extents.end()},
                      {bytes, bytes + t.bytes()}});
  }
  return arrays;
}

/// The results of a file: a model is interpreted, and an artifact is run.
std::vector<HostArray> results_of(const std::string& path, const NamedTensors& inputs, const Arguments& a) {
  if (is_model(path)) return gcc_graph::interpret_model(path, arrays_of(inputs));
  return run(load_program(path, a.inputs), inputs, a.inputs.entry);
}

std::string type_text(const HostArray& a) {
  std::string extents;
  for (const int64_t e : a.shape) extents += concat(extents.empty() ? "" : ", ", e);
  return concat(gcc_graph::name_of(a.dtype), "[", extents, "]");
}

struct Difference {
  bool ok = true;
  std::string text;
};

Difference difference(const HostArray& got, const HostArray& want, const Tolerance& tolerance) {
  if (got.dtype != want.dtype || got.shape != want.shape)
    return {false, concat("FAIL, ", type_text(got), " where ", type_text(want), " is expected")};
  int64_t count = 1;
  for (const int64_t e : got.shape) count *= e;
  const auto element = [](const HostArray& of) {
    return [&of](int64_t i) { return gcc_graph::element_at(of.dtype, of.bytes.data(), i); };
  };
  const Comparison found = compare_elements(count, element(got), element(want), tolerance);
  return {found.ok, concat(type_text(got), ", ", describe(found, element(got), element(want)))};
}

const HostArray& named(const std::vector<HostArray>& arrays, const std::string& name, const std::string& path) {
  const auto at = std::find_if(arrays.begin(), arrays.end(), [&](const HostArray& a) { return a.name == name; });
  if (at == arrays.end()) fail(path, " has no output '", name, "'");
  return *at;
}

/// The inputs for both files, which the artifact defines.
NamedTensors inputs_for(const Arguments& a, const std::string& artifact) {
  const gart::Program program = load_program(artifact, a.inputs);
  return collect_inputs(inputs_of(program, a.inputs), a.inputs);
}

void compare_files(const Arguments& a) {
  if (a.second.empty()) fail("compare needs two files, or --layers for a model alone");
  if (is_model(a.first) && is_model(a.second)) fail("one of the two must be an artifact");
  if (a.inputs.trust.has_signature() && !is_model(a.first) && !is_model(a.second))
    fail("--signature is for one artifact, but '", a.first, "' and '", a.second,
         "' are artifacts: keep each signature in the file beside its artifact");
  const NamedTensors inputs = inputs_for(a, is_model(a.first) ? a.second : a.first);
  const std::vector<HostArray> first = results_of(a.first, inputs, a), second = results_of(a.second, inputs, a);
  bool ok = true;
  for (const HostArray& want : first) {
    const Difference found = difference(named(second, want.name, a.second), want, a.tolerance);
    std::cout << want.name << ": " << found.text << '\n';
    ok = ok && found.ok;
  }
  if (!ok) throw CLI::RuntimeError(kDiffers);
}

/// Compiles the model with all float values as outputs, so that fusion does not remove any. Compares each value with
/// the interpreter's.
void compare_layers(const Arguments& a) {
  if (!is_model(a.first) || !a.second.empty()) fail("--layers compares the values of one .onnx file");
  if (a.inputs.trust.is_given()) fail("--trusted-key is for artifacts; --layers compiles a model");
  gcc_graph::ModelOptions options;
  options.precision = a.precision;
  options.outputs = gcc_graph::computed_floats(a.first);
  if (options.outputs.empty()) fail(a.first, ": its nodes compute no floats");
  if (!a.inputs.target.empty()) options.targets = {a.inputs.target};
  const gcc_graph::CompiledModel compiled = gcc_graph::compile_model(a.first, options);
  gart::LoadOptions load;
  load.device = a.inputs.device;
  load.threads = a.inputs.threads;
  const gart::Program program = value_or_throw(gart::load(std::span<const uint8_t>(compiled.artifact), load));
  const NamedTensors inputs = collect_inputs(program.inputs(), a.inputs);
  const std::vector<HostArray> got = run(program, inputs, ""),
                               want = gcc_graph::interpret_model(a.first, arrays_of(inputs), options.outputs);
  size_t wrong = 0;
  for (const HostArray& expected : want) {
    const Difference found = difference(named(got, expected.name, a.first), expected, a.tolerance);
    if (found.ok) continue;
    if (wrong++ == 0) std::cout << "the first that differs is '" << expected.name << "': " << found.text << '\n';
  }
  std::cout << want.size() - wrong << " of " << want.size() << " values agree\n";
  if (wrong > 0) throw CLI::RuntimeError(kDiffers);
}

}  // namespace

void add_compare_command(CLI::App& app) {
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand(
      "compare", "Compare the outputs of two artifacts, or of an artifact and its model, on the same inputs");
  c->add_option("first", a->first, "The expected side: a .gart file, or an .onnx file, which is interpreted slowly")
      ->required();
  c->add_option("second", a->second, "The other side");
  c->add_flag("--layers", a->layers,
              "Compile one .onnx file so that it returns every value that its nodes compute, and name the first that "
              "differs from the interpreted one");
  c->add_option("--precision", a->precision, "For --layers: fp32, tf32, fp16, bf16")->capture_default_str();
  a->inputs.add_to(*c);
  c->add_option("--rtol", a->tolerance.rtol, "Largest error relative to the largest expected element")
      ->capture_default_str();
  c->add_option("--atol", a->tolerance.atol, "Absolute error that is always accepted")->capture_default_str();
  c->callback([a] {
    if (a->inputs.npz.empty() && a->inputs.files.empty() && a->inputs.random_seed < 0) a->inputs.random_seed = 1;
    a->layers ? compare_layers(*a) : compare_files(*a);
  });
}

}  // namespace gcg::tools
