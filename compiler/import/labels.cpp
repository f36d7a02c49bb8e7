#include "compiler/import/labels.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "compiler/import/tensor_import.h"
#include "compiler/ops/op_def.h"

namespace gcg {
namespace {

constexpr int64_t kOnnxString = 8;

bool moves_input_0(const Node& node) {
  static const std::set<std::string_view> names = {"ArrayFeatureExtractor",
                                                   "Expand",
                                                   "Flatten",
                                                   "Gather",
                                                   "GatherElements",
                                                   "GatherND",
                                                   "Identity",
                                                   "Reshape",
                                                   "Slice",
                                                   "Squeeze",
                                                   "Tile",
                                                   "Transpose",
                                                   "Unsqueeze"};
  return names.count(node.op->name) != 0;
}

/// The names that the node itself gives to the numbers or columns of its first result; may be empty.
std::vector<std::string> own_labels(const Node& node) {
  const std::string_view name = node.op->name, domain = node.op->domain;
  if (domain != "ai.onnx.ml") return {};
  if (name == "LabelEncoder") {
    std::vector<std::string> labels = node.strings_attribute("values_strings");
    if (!labels.empty()) labels.push_back(node.string_attribute("default_string", "_Unused"));
    return labels;
  }
  std::vector<std::string> labels = node.strings_attribute("classlabels_strings");
  if (name == "ZipMap" && labels.empty())
    for (const int64_t label : node.ints_attribute("classlabels_int64s")) labels.push_back(std::to_string(label));
  return labels;
}

bool is_labelled(const Labels& labels, const Graph& graph, ValueId v) {
  return v.valid() && labels.of(graph, v) != nullptr;
}

}  // namespace

LabelList Labels::of(const Graph& graph, ValueId value) const {
  const auto found = lists_.find({&graph, value});
  return found == lists_.end() ? nullptr : found->second;
}

void Labels::set(const Graph& graph, ValueId value, std::vector<std::string> labels) {
  lists_[{&graph, value}] = std::make_shared<const std::vector<std::string>>(std::move(labels));
}

std::string Labels::carry(const Graph& graph, Node& node) {
  const bool cast_to_string = std::string_view(node.op->name) == "Cast" && node.has_attribute("to") &&
                              node.int_attribute("to", 0) == kOnnxString;
  const LabelList first = node.inputs.empty() ? nullptr : of(graph, node.inputs[0]);
  const bool others = std::any_of(node.inputs.begin() + (node.inputs.empty() ? 0 : 1), node.inputs.end(),
                                  [&](ValueId v) { return is_labelled(*this, graph, v); });
  if (others) return "it reads strings; only operators that move elements can read them";
  if (first) {
    const bool encodes = std::string_view(node.op->name) == "LabelEncoder";
    if (encodes) {
      if (const std::string why = look_up(*first, node); !why.empty()) return why;
    } else if (!moves_input_0(node) && !cast_to_string) {
      return "it reads strings; only operators that move elements can read them";
    } else {
      lists_[{&graph, node.outputs.at(0)}] = first;
      if (cast_to_string) {
        node.op = &op("Identity");
        node.attributes.clear();
      }
      return {};
    }
  } else if (cast_to_string) {
    return "it turns numbers into strings, which is not supported";
  }
  if (std::vector<std::string> labels = own_labels(node);
      !labels.empty() && !node.outputs.empty() && node.outputs[0].valid())
    set(graph, node.outputs[0], std::move(labels));
  return {};
}

std::string Labels::look_up(const std::vector<std::string>& labels, Node& node) const {
  const std::vector<std::string> keys = node.strings_attribute("keys_strings");
  if (keys.empty()) return "it reads strings, but has no attribute keys_strings";
  std::vector<int64_t> numbers;
  for (const std::string& key : keys) {
    const auto found = std::find(labels.begin(), labels.end(), key);
    numbers.push_back(found == labels.end() ? -1 : found - labels.begin());  // -1: a key that never occurs
  }
  node.attributes.erase("keys_strings");
  node.attributes["keys_int64s"] = std::move(numbers);
  return {};
}

std::pair<Tensor, std::vector<std::string>> numbered_strings(const onnx::TensorProto& proto) {
  const std::vector<int64_t> shape(proto.dims().begin(), proto.dims().end());
  const int64_t elements = checked_elements(shape, DType::i64, concat("tensor '", proto.name(), "'"));
  if (proto.string_data_size() != elements)
    fail("tensor '", proto.name(), "' has ", proto.string_data_size(), " strings, but its shape needs ", elements);
  Tensor numbers(DType::i64, shape);
  std::vector<std::string> labels;
  std::map<std::string, int64_t> known;
  for (int64_t i = 0; i < elements; ++i) {
    const auto [at, is_new] =
        known.emplace(proto.string_data(static_cast<int>(i)), static_cast<int64_t>(labels.size()));
    if (is_new) labels.push_back(at->first);
    numbers.set_int(i, at->second);
  }
  return {std::move(numbers), std::move(labels)};
}

}  // namespace gcg
