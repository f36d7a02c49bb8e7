// Says which parts of a machine gcc-graph can use, what is missing, and how to repair it.
#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "gart/gart.hpp"
#include "gcc_graph/compile.h"
#include "tools/gcc-graph/commands/commands.h"
#include "tools/gcc-graph/devices/inventory.h"
#include "tools/gcc-graph/io/model_inputs.h"
#include "tools/gcc-graph/options/default_targets.h"
#include "tools/gcc-graph/support/fail.h"
#include "tools/gcc-graph/support/json_text.h"
#include "tools/text/tokenizer.h"

namespace gcg::tools {
namespace {

struct Finding {
  enum class Kind { good, missing, broken } kind;
  std::string what, mend;  // mend: the repair; empty if nothing is missing or broken
};
using Findings = std::vector<Finding>;

/// Compiles y = softmax(x * w) for the target and runs it on the device, with two rows. Returns the fault; empty if
/// each row has the sum 1.
std::string fault_of(const std::string& target, const std::string& device) try {
  gcc_graph::Graph graph("doctor");
  const gcc_graph::Value x = graph.input("x", gcc_graph::DType::f32, {"rows", "8"});
  std::vector<float> w(64);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 7) / 7;
  const gcc_graph::Value product = graph.op("MatMul", {x, graph.constant<float>({8, 8}, w)});
  graph.output("y", graph.op("Softmax", {product}, {{"axis", int64_t{-1}}}));
  gcc_graph::CompileOptions compile;
  compile.targets = {target};
  const gcc_graph::Compiled compiled = gcc_graph::compile(graph, compile);
  gart::LoadOptions load;
  load.device = device;
  const gart::Program program = value_or_throw(gart::load(std::span<const uint8_t>(compiled.artifact), load));
  std::vector<float> rows(16, 0.5f);
  const auto outputs = value_or_throw(program.run({{"x", {rows.data(), gart::DType::f32, {2, 8}}}}));
  const std::span<const float> y = outputs.at(0).elements<float>();
  for (int row = 0; row < 2; ++row) {
    float sum = 0;
    for (int i = 0; i < 8; ++i) sum += y[static_cast<size_t>(row * 8 + i)];
    if (!(std::abs(sum - 1) < 1e-4f)) return concat("row ", row, " of a softmax has the sum ", sum);
  }
  return "";
} catch (const std::exception& e) {
  return e.what();
}

void try_out(Findings& all, const std::string& target, const std::string& device) {
  const std::string fault = fault_of(target, device);
  if (fault.empty())
    all.push_back(
        {Finding::Kind::good, concat(device, ": a model compiles for ", target, " and gives right results"), ""});
  else
    all.push_back(
        {Finding::Kind::broken, concat(device, ": ", fault), "report this with the output of gcc-graph doctor --json"});
}

void look_at_devices(Findings& all) {
  const Inventory inventory = take_inventory(false);
  bool has_gpu = false;
  for (size_t i = 0; i < inventory.fleet.devices.size(); ++i) {
    const FleetDevice& device = inventory.fleet.devices[i];
    has_gpu = has_gpu || device.kind == FleetDevice::Kind::cuda;
    all.push_back({Finding::Kind::good, concat(device.name, ": ", inventory.about[i]), ""});
  }
  for (const std::string& remark : inventory.remarks) all.push_back({Finding::Kind::missing, remark, ""});
  for (const std::string& target : gcc_graph::host_targets()) try_out(all, target, "cpu");
  const DefaultTargets gpus = default_targets();
  for (const std::string& target : gpus.gpus) try_out(all, target, "cuda");
  for (const std::string& remark : gpus.remarks)
    all.push_back(
        {Finding::Kind::missing, remark,
         "install NVRTC (pip install nvidia-cuda-nvrtc, or the CUDA Toolkit), or name it in GCC_GRAPH_NVRTC"});
  if (!has_gpu)
    all.push_back({Finding::Kind::missing,
                   "no NVIDIA GPU: models run on the CPU; code for GPUs still compiles here with --target", ""});
}

void look_at_compilers(Findings& all) {
  constexpr int kSm = 80, kDriver = 13000;
  try {
    all.push_back({Finding::Kind::good,
                   concat("NVRTC compiles for GPUs, such as ", gcc_graph::target_for_driver(kSm, kDriver)), ""});
  } catch (const Error& e) {
    all.push_back(
        {Finding::Kind::missing, concat("no code for GPUs can be compiled here: ", e.what()),
         "install NVRTC (pip install nvidia-cuda-nvrtc, or the CUDA Toolkit), or name it in GCC_GRAPH_NVRTC"});
  }
}

void look_at_text(Findings& all) {
  if (const std::optional<TokenizersPackage> found = find_tokenizers())
    all.push_back({Finding::Kind::good,
                   concat("generate reads and prints text: tokenizers ", found->version, " in ", found->python), ""});
  else
    all.push_back({Finding::Kind::missing,
                   "generate reads and prints token ids only: no Python here has the package tokenizers",
                   concat(kInstallTokenizers, ", or name another Python in GCC_GRAPH_PYTHON")});
}

void print(const Findings& all) {
  for (const Finding& f : all) {
    std::cout << (f.kind == Finding::Kind::good      ? "ok       "
                  : f.kind == Finding::Kind::missing ? "missing  "
                                                     : "BROKEN   ")
              << f.what << '\n';
    if (!f.mend.empty()) std::cout << "         -> " << f.mend << '\n';
  }
}

void print_json(const Findings& all) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const Finding& f : all) {
    static constexpr const char* names[] = {"ok", "missing", "broken"};
    out.push_back({{"state", names[static_cast<size_t>(f.kind)]}, {"what", f.what}});
    if (!f.mend.empty()) out.back()["mend"] = f.mend;
  }
  std::cout << json_text({{"findings", out}}) << '\n';
}

}  // namespace

void add_doctor_command(CLI::App& app) {
  struct Arguments {
    bool json = false;
  };
  auto a = std::make_shared<Arguments>();
  CLI::App* c = app.add_subcommand(
      "doctor", "Say which devices of this machine can be used, what is missing, and how to mend it");
  c->add_flag("--json", a->json, "Print JSON");
  c->callback([a] {
    Findings all;
    look_at_devices(all);
    look_at_compilers(all);
    look_at_text(all);
    if (a->json)
      print_json(all);
    else
      print(all);
    for (const Finding& f : all)
      if (f.kind == Finding::Kind::broken) throw CLI::RuntimeError(1);
  });
}

}  // namespace gcg::tools
