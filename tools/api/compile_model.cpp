#include "gcc_graph/compile_model.h"

#include <algorithm>
#include <set>

#include "compiler/fleet/fleet.h"
#include "compiler/import/import.h"
#include "compiler/kernel/cpu_levels.h"
#include "compiler/ops/custom_op.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op_def.h"
#include "compiler/partition/implied_fleet.h"
#include "compiler/passes/last_logits.h"
#include "compiler/report/remark.h"
#include "compiler/support/nearest.h"
#include "compiler/support/unsupported.h"
#include "compiler/train/finite_check.h"
#include "compiler/train/training_entries.h"
#include "tools/api/compile_state.h"
#include "tools/api/graph_state.h"
#include "tools/api/tuning_file.h"

namespace gcc_graph {
namespace {

using Dims = std::vector<std::pair<std::string, std::vector<int64_t>>>;

/// The dims that have exactly one value, because a sequence must have one length.
std::map<std::string, int64_t> only_values(const Dims& dims) {
  std::map<std::string, int64_t> values;
  for (const auto& [name, list] : dims)
    if (list.size() == 1) values[name] = list[0];
  return values;
}

/// Refuses symbolic plans if there is a memory limit, because the size of their arena is not known.
void check_limit(const gcg::Graph& graph, const gcg::CompileOptions& options) {
  if (!options.memory_limit) return;
  std::set<std::string> open;
  for (gcg::ValueId in : graph.inputs)
    for (const gcg::Dim& d : *graph.value(in).shape) open.merge(d.symbols());
  for (const auto& [name, values] : options.dims) {
    open.erase(name);
    for (const auto& [symbol, other] : options.same_dims)
      if (other == name) open.erase(symbol);
  }
  if (!open.empty())
    gcg::fail("--memory-limit needs a size for every extent; '", *open.begin(), "' is open: fix it with --dim");
}

/// True if the graph has quantized operators or 8-bit weights.
bool computes_with_bytes(const gcg::Graph& graph) {
  const std::set<std::string_view> quantized = {"DequantizeLinear", "MatMulInteger", "ConvInteger"};
  for (int64_t i = 0; i < graph.value_count(); ++i)
    if (const gcg::TensorRef& t = graph.value(gcg::ValueId(i)).constant;
        t && t->rank() >= 2 && (t->dtype() == gcg::DType::i8 || t->dtype() == gcg::DType::u8))
      return true;
  const auto order = graph.order();
  return std::any_of(order.begin(), order.end(),
                     [&](gcg::NodeId id) { return quantized.count(graph.node(id).op->name) != 0; });
}

/// True if the precision is "bf16" or the model itself holds bf16 values.
bool computes_with_bf16(const gcg::Graph& graph, const std::string& precision) {
  for (int64_t i = 0; i < graph.value_count(); ++i)
    if (graph.value(gcg::ValueId(i)).dtype == gcg::DType::bf16) return true;
  return precision == "bf16";
}

/// The CPU targets, further CPU targets that suit the model's types, the given GPUs, and the targets of the fleet's
/// devices.
std::vector<std::string> default_targets(const std::vector<std::string>& gpus, const std::optional<gcg::Fleet>& fleet,
                                         bool bytes, bool halves) {
  std::vector<std::string> targets = gcg::default_cpu_levels(bytes, halves);
  targets.insert(targets.end(), gpus.begin(), gpus.end());
  if (!fleet) return targets;
  for (const gcg::FleetDevice& device : fleet->devices) {
    const auto is_its = [&](const std::string& t) { return t.substr(0, t.find(':')) == device.target; };
    if (!device.target.empty() && std::none_of(targets.begin(), targets.end(), is_its))
      targets.push_back(device.target);
  }
  return targets;
}

/// The levels of `defaults`, oldest first, that are newer than each of them in `targets`; empty if there is none of
/// them.
std::vector<std::string> newer_levels(const std::vector<std::string>& targets,
                                      const std::vector<std::string>& defaults) {
  const auto is_given = [&](const std::string& level) {
    return std::find(targets.begin(), targets.end(), level) != targets.end();
  };
  const auto newest = std::find_if(defaults.rbegin(), defaults.rend(), is_given);
  if (newest == defaults.rend()) return {};
  return {newest.base(), defaults.end()};
}

/// Sets the targets if the user names none. Returns the CPU levels that the user's targets lack.
std::vector<std::string> choose_targets(gcg::CompileOptions& options, const ModelOptions& requested,
                                        const gcg::Graph& graph) {
  const bool bytes = computes_with_bytes(graph), halves = computes_with_bf16(graph, requested.precision);
  if (requested.targets.empty()) options.targets = default_targets(requested.gpus, options.fleet, bytes, halves);
  return newer_levels(options.targets, gcg::default_cpu_levels(bytes, halves));
}

/// Adds the groups and devices that functions and nodes of the model name in metadata_props ("gart.group",
/// "gart.device"). They come before the user's labels, so that the user's labels win. Each call of a function is a
/// group of its own, because calls may wait for each other. Devices that the fleet lacks are left out, because a
/// library of functions serves other fleets, too. Returns a remark for each such device.
std::vector<gcg::Remark> add_labels_of_nodes(const std::vector<gcg::NodeLabel>& labels, const gcg::Fleet& fleet,
                                             gcg::CutOptions& cut) {
  std::vector<gcg::Remark> remarks;
  std::vector<std::string> names;
  for (const gcg::FleetDevice& device : fleet.devices) names.push_back(device.name);
  std::vector<gcg::NodeRequest> groups, devices;
  for (const gcg::NodeLabel& label : labels) {
    const bool is_call = label.node.ends_with('/');
    const std::string pattern = label.node + (is_call ? "*" : "");
    const bool is_here = !gcg::devices_called(fleet, label.value).empty();
    if (label.key == "gart.group")
      groups.push_back({pattern, label.value + (is_call ? " of " + label.node : ""), label.key});
    if (label.key == "gart.device" && is_here) devices.push_back({pattern, label.value, label.key});
    if (label.key == "gart.device" && !is_here)
      remarks.push_back({{},
                         gcg::UnmatchedName{gcg::concat("gart.device '", label.value, "' of node '", label.node, "'"),
                                            "device or kind of devices", gcg::nearest(label.value, names)}});
  }
  cut.labels.insert(cut.labels.begin(), groups.begin(), groups.end());
  cut.assignments.insert(cut.assignments.begin(), devices.begin(), devices.end());
  return remarks;
}

gcg::TuningFile parse_tuning(const NamedText& tuning) {
  return gcg::TuningFile::parse({tuning.text.begin(), tuning.text.end()}, tuning.name);
}

/// Merges the measurements that functions contain with the user's measurements. If both have a row, the user's row is
/// used.
gcg::TuningFile tuning_of(const std::optional<NamedText>& requested, const std::vector<gcg::NodeLabel>& labels) {
  gcg::TuningFile tuning;
  if (requested) tuning = parse_tuning(*requested);
  std::set<std::string> seen;
  for (const gcg::NodeLabel& label : labels)
    if (label.key == "gart.tuning" && seen.insert(label.value).second)
      tuning.add(parse_tuning({label.value, "gart.tuning of " + label.node}));
  return tuning;
}

gcg::CompileOptions own_options(const ModelOptions& requested) {
  gcg::CompileOptions options = detail::own_options(requested);
  if (requested.generate && options.states.empty()) options.states = {"auto"};
  if (requested.fleet) options.fleet = gcg::parse_fleet(requested.fleet->text, requested.fleet->name);
  if (!requested.cut.empty()) options.cut.rules = gcg::parse_cut_rules(requested.cut);
  for (const std::string& text : requested.labels)
    options.cut.labels.push_back(gcg::parse_node_request("--label", text));
  options.keep = requested.keep;
  options.passes.print_after = requested.print_after;
  options.passes.stop_after = requested.stop_after;
  options.passes.time_passes = requested.time_passes;
  options.passes.out = requested.out;
  options.print_plan = requested.print_plan;
  options.print_source = requested.print_source;
  return options;
}

/// Refuses inputs with strings, which are supported only in a file with one entry point that runs on one device.
void refuse_strings(const gcg::ImportedModel& model) {
  for (const gcg::ValueId input : model.graph.inputs)
    if (const std::string& name = model.graph.value(input).name; model.labels.count(name) != 0)
      gcg::fail("input '", name,
                "' has strings; such a model is supported on one device, without training and further entry points");
}

/// Adds the entry point "extend", with which generate reads prompts, if the model can compute the last token's logits
/// alone.
void add_extend(std::vector<gcg::NamedGraph>& entries, const gcg::Graph& model) {
  const auto is_there = [](const gcg::NamedGraph& entry) { return entry.name == "extend"; };
  if (model.name == "extend" || std::any_of(entries.begin(), entries.end(), is_there)) return;
  gcg::Graph extend = model.clone();
  gcg::infer_graph(extend);
  if (gcg::keep_last_logits(extend)) entries.push_back({"extend", std::move(extend)});
}

/// Makes the training step check its numbers: that of --train, or that of the model itself.
void check_training(gcg::CompileOptions& options, gcg::ImportedModel& model) {
  if (options.train) {
    options.train->options.checks_finite = true;
    return;
  }
  const auto step = std::find_if(model.training.begin(), model.training.end(),
                                 [](const gcg::Graph& graph) { return graph.name == gcg::kTrainEntry; });
  if (step == model.training.end())
    gcg::fail("--check-finite: there is no training step; the model needs a training_info, or give --train");
  gcg::check_finite_step(*step);
}

CompiledModel compile(const std::string& path, const ModelOptions& requested, std::map<std::string, int64_t>& opsets) {
  gcg::CompileOptions options = own_options(requested);
  const gcg::Backends backends = detail::make_backends(requested.cache, requested.print_code ? requested.out : nullptr);
  std::vector<gcg::CustomOp> custom_ops;
  custom_ops.reserve(requested.custom_ops.size());
  for (const std::string& text : requested.custom_ops) custom_ops.push_back(gcg::parse_custom_op(text));
  if (requested.progress) requested.progress("import");
  gcg::ImportedModel model =
      gcg::import_onnx(path, only_values(requested.dims), custom_ops, requested.functions, requested.outputs,
                       requested.training && requested.train.empty() && requested.outputs.empty() && !requested.fleet);
  opsets = model.opsets;
  std::vector<std::string> newer = choose_targets(options, requested, model.graph);
  const gcg::Fleet fleet = options.fleet ? *options.fleet : gcg::fleet_of(gcg::require_targets(options.targets));
  std::vector<gcg::Remark> idle;
  if (options.fleet || fleet.devices.size() > 1) idle = add_labels_of_nodes(model.node_labels, fleet, options.cut);
  if (model.training_graphs > 0) idle.push_back({{}, gcg::OmittedTraining{model.training_graphs}});
  const gcg::TuningFile tuning = tuning_of(requested.tuning, model.node_labels);
  if (tuning.size() > 0) options.decisions = &tuning;
  if (options.train) options.train->parameters = model.initializers;
  if (requested.check_finite) check_training(options, model);
  options.labels = model.labels;
  options.metadata = model.metadata;
  options.same_dims = model.separated;
  std::erase_if(options.dims, [&](const auto& dim) {
    return std::find(model.sequences.begin(), model.sequences.end(), dim.first) != model.sequences.end();
  });
  check_limit(model.graph, options);
  const bool is_cut = options.fleet || !options.cut.assignments.empty();
  if (is_cut || options.train || !model.training.empty() || !requested.entries.empty()) refuse_strings(model);
  std::vector<gcg::NamedGraph> more;
  for (gcg::Graph& graph : model.training) more.push_back({graph.name, std::move(graph)});
  for (const std::string& text : requested.entries) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) gcg::fail("--entry ", text, ": expected NAME=FILE.onnx");
    gcg::ImportedModel other =
        gcg::import_onnx(text.substr(equals + 1), only_values(requested.dims), custom_ops, requested.functions);
    check_limit(other.graph, options);
    refuse_strings(other);
    options.same_dims.insert(other.separated.begin(), other.separated.end());
    more.push_back({text.substr(0, equals), std::move(other.graph)});
  }
  if (requested.generate) add_extend(more, model.graph);
  gcg::CompileResult result =
      gcg::compile(std::move(model.graph), model.source_hash, options, backends, std::move(more));
  result.remarks.insert(result.remarks.begin(), idle.begin(), idle.end());
  result.faster.newer_targets = std::move(newer);
  CompiledModel out{detail::given_result(std::move(result)), {}};
  if (requested.tuning || tuning.size() > 0)
    out.tuning = TuningReport{static_cast<int64_t>(tuning.used()), static_cast<int64_t>(tuning.stale())};
  return out;
}

}  // namespace

Unsupported detail::given_error(const gcg::UnsupportedModel& error, const std::map<std::string, int64_t>& opsets) {
  std::vector<gcg::UnsupportedNode> rows = error.nodes();
  std::vector<Unsupported::Node> nodes;
  for (gcg::UnsupportedNode& row : rows) {
    if (const auto it = opsets.find(row.domain); row.version == 0 && it != opsets.end()) row.version = it->second;
    nodes.push_back({row.name, row.op, row.domain, row.version, row.why});
  }
  return {gcg::UnsupportedModel(std::move(rows)).what(), std::move(nodes)};
}

Unsupported::~Unsupported() = default;

void check_tuning(const NamedText& tuning) {
  detail::guarded([&] { parse_tuning(tuning); });
}

CompiledModel compile_model(const std::string& path, const ModelOptions& options) {
  std::map<std::string, int64_t> opsets;
  return detail::guarded([&] {
    try {
      return compile(path, options, opsets);
    } catch (const gcg::UnsupportedModel& error) {
      throw detail::given_error(error, opsets);
    }
  });
}

}  // namespace gcc_graph
