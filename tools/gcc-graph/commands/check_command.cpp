#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "gart/gart.hpp"
#include "gcc_graph/compile_model.h"
#include "gcc_graph/values.h"
#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/io/artifact_file.h"
#include "tools/gcc-graph/io/golden.h"
#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/io/trust_option.h"
#include "tools/gcc-graph/options/default_targets.h"
#include "tools/gcc-graph/options/parse_dim.h"
#include "tools/gcc-graph/support/fail.h"
#include "tools/gcc-graph/support/json_text.h"

namespace gcg::tools {
namespace {

using Json = nlohmann::ordered_json;

/// An artifact that is loaded several times. With trusted keys, the bytes whose signature was checked are loaded each
/// time.
class CheckedArtifact {
 public:
  CheckedArtifact(std::string path, const TrustOption& trust)
      : path_(std::move(path)), is_trusted_(trust.is_given()), file_(open_artifact(path_, trust)) {}

  const gart::fb::Manifest& manifest() const { return *file_.view.manifest; }
  gart::Result<gart::Program> load(const gart::LoadOptions& options) const {
    return is_trusted_ ? gart::load(file_.view.file, options) : gart::load(path_, options);
  }

 private:
  std::string path_;
  bool is_trusted_;
  ArtifactFile file_;
};

/// For each target of the file: whether its code runs on this machine, and the reason if it does not.
Json targets_of(const CheckedArtifact& file) {
  Json targets = Json::array();
  for (const auto* target : *file.manifest().targets()) {
    gart::LoadOptions options;
    options.target = target->name()->str();
    options.threads = 1;
    const auto program = file.load(options);
    Json row = {{"name", options.target}, {"runs", program.ok()}};
    row[program.ok() ? "device" : "reason"] = program.ok() ? program->device() : program.error().message;
    targets.push_back(std::move(row));
  }
  return targets;
}

/// The target and device that gart::load chooses without options.
Json chosen(const CheckedArtifact& file) {
  const auto program = file.load({});
  if (program.ok()) return {{"target", program->target()}, {"device", program->device()}};
  return {{"reason", program.error().message}};
}

void print(const Json& found) {
  for (const Json& t : found["targets"])
    std::cout << t["name"].get<std::string>() << ": "
              << (t["runs"].get<bool>() ? "runs here, on " + t["device"].get<std::string>()
                                        : t["reason"].get<std::string>())
              << '\n';
  if (!found.contains("default")) {
    std::cout << "this file cannot run on this machine\n";
  } else if (const Json& choice = found["default"]; choice.contains("target")) {
    std::cout << "gart::load would use " << choice["target"].get<std::string>() << " on "
              << choice["device"].get<std::string>() << '\n';
  } else {
    std::cout << "gart::load fails unless a target or device is named: " << choice["reason"].get<std::string>() << '\n';
  }
}

/// Decides by the file name. Any other file counts as an artifact, and is reported as damaged if it is not an artifact.
bool is_model(const std::string& path) { return path.ends_with(".onnx"); }

/// Checks whether the model compiles for CPUs and for this machine's GPUs. Runs all stages except code generation.
Json compiles(const std::string& path, const std::vector<std::string>& dims) {
  gcc_graph::ModelOptions options;
  options.targets = {"x86-64-v3"};
  for (const std::string& gpu : default_targets().gpus) options.targets.push_back(gpu);
  options.dims = parse_dims(dims);
  options.stop_after = "plan";
  Json found = {{"compiles", true}, {"targets", options.targets}};
  try {
    gcc_graph::compile_model(path, options);
  } catch (const gcc_graph::Unsupported& e) {
    found = {{"compiles", false}, {"reason", e.what()}, {"unsupported", Json::array()}};
    for (const auto& node : e.nodes())
      found["unsupported"].push_back({{"node", node.name},
                                      {"operator", node.op},
                                      {"domain", node.domain},
                                      {"version", node.version},
                                      {"why", node.why}});
  }
  return found;
}

int check_model(const std::string& path, const std::vector<std::string>& dims, bool json) {
  const Json found = compiles(path, dims);
  if (json) {
    std::cout << json_text(found) << '\n';
  } else if (found["compiles"].get<bool>()) {
    std::cout << path << " compiles\n";
  } else {
    std::cout << path << " does not compile: " << found["reason"].get<std::string>() << '\n';
  }
  return found["compiles"].get<bool>() ? 0 : 2;
}

int check_artifact(const CheckedArtifact& file, bool json) {
  Json found = {{"targets", targets_of(file)}};
  const bool any = std::any_of(found["targets"].begin(), found["targets"].end(),
                               [](const Json& t) { return t["runs"].get<bool>(); });
  if (any) found["default"] = chosen(file);
  if (json)
    std::cout << json_text(found) << '\n';
  else
    print(found);
  return any ? 0 : 3;
}

/// Runs the golden vectors on the device.
int run_golden(const CheckedArtifact& file, const std::string& device, const Tolerance& tolerance) {
  gart::LoadOptions options;
  options.device = device;
  const auto element = [](const gart::TensorView& t, int64_t i) {
    return gcc_graph::element_at(static_cast<gcc_graph::DType>(t.dtype), t.data, i);
  };
  return check_golden(value_or_throw(file.load(options)), tolerance, element, std::cout) ? 0 : 3;
}

struct GoldenOptions {
  bool runs = false;
  std::string device;
  Tolerance tolerance;

  void add_to(CLI::App& c) {
    CLI::Option* run = c.add_flag("--run", runs,
                                  "For an artifact: run the golden vectors that compile --golden stored, and print the "
                                  "error of each output; exit code 3 if one is too large");
    c.add_option("--device", device, "For --run: cpu, cuda or cuda:1; default: the best that the file has code for")
        ->needs(run);
    c.add_option("--rtol", tolerance.rtol, "For --run: largest error relative to the largest expected element")
        ->needs(run)
        ->capture_default_str();
    c.add_option("--atol", tolerance.atol, "For --run: absolute error that is always accepted")
        ->needs(run)
        ->capture_default_str();
  }
};

}  // namespace

void add_check_command(CLI::App& app) {
  auto path = std::make_shared<std::string>();
  auto dims = std::make_shared<std::vector<std::string>>();
  CLI::App* c = app.add_subcommand(
      "check", "Tell whether an artifact runs on this machine, or a model compiles, and if not, why");
  c->add_option("file", *path, "The .gart file, or an .onnx file")->required();
  c->add_option("--dim", *dims, "For a model: extents, as in compile")->delimiter('\0')->allow_extra_args(false);
  auto json = std::make_shared<bool>(false);
  CLI::Option* as_json = c->add_flag("--json", *json, "Print JSON");
  auto trust = std::make_shared<TrustOption>();
  trust->add_to(*c);
  auto golden = std::make_shared<GoldenOptions>();
  golden->add_to(*c);
  c->get_option("--run")->excludes(as_json);
  c->callback([path, dims, json, golden, trust] {
    if (golden->runs && is_model(*path)) fail("--run is for artifacts; '", *path, "' is a model");
    if (!is_model(*path) && !dims->empty()) fail("--dim is for models; '", *path, "' is an artifact");
    if (is_model(*path) && trust->is_given()) fail("--trusted-key is for artifacts; '", *path, "' is a model");
    const int code = is_model(*path) ? check_model(*path, *dims, *json)
                     : golden->runs  ? run_golden(CheckedArtifact(*path, *trust), golden->device, golden->tolerance)
                                     : check_artifact(CheckedArtifact(*path, *trust), *json);
    if (code != 0) throw CLI::RuntimeError(code);
  });
}

}  // namespace gcg::tools
