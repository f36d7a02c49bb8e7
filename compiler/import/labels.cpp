#include "compiler/import/labels.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "compiler/import/tensor_import.h"
#include "compiler/ops/op_def.h"

namespace gcg {
namespace {

constexpr int64_t kOnnxString = 8;
constexpr const char* kReader = "it reads strings; only operators that move elements can read them";

/// The inputs that an operator moves to its outputs; empty if it does not move elements.
std::span<const ValueId> moved_inputs(const Node& node) {
  static constexpr std::string_view kFirst[] = {"ArrayFeatureExtractor",
                                                "Expand",
                                                "Flatten",
                                                "Gather",
                                                "GatherElements",
                                                "GatherND",
                                                "Identity",
                                                "Reshape",
                                                "Slice",
                                                "Split",
                                                "Squeeze",
                                                "Tile",
                                                "Transpose",
                                                "Unsqueeze"};
  const std::span all(node.inputs);
  const std::string_view name = node.op->name;
  if (name == "Concat") return all;
  if (name == "Where" && all.size() == 3) return all.subspan(1);
  return std::find(std::begin(kFirst), std::end(kFirst), name) == std::end(kFirst) ? all.first(0) : all.first(1);
}

bool is_encoder(const Node& node, std::string_view name) {
  return node.op->name == name && std::string_view(node.op->domain) == "ai.onnx.ml";
}

bool is_cast_to_string(const Node& node) {
  return std::string_view(node.op->name) == "Cast" && node.has_attribute("to") &&
         node.int_attribute("to", 0) == kOnnxString;
}

/// The names that a classifier gives to the numbers or columns of its first result; may be empty.
std::vector<std::string> own_labels(const Node& node) {
  if (std::string_view(node.op->domain) != "ai.onnx.ml") return {};
  std::vector<std::string> labels = node.strings_attribute("classlabels_strings");
  if (is_encoder(node, "ZipMap") && labels.empty())
    for (const int64_t label : node.ints_attribute("classlabels_int64s")) labels.push_back(std::to_string(label));
  return labels;
}

/// The position of the text; -1: the list lacks it, so it never occurs.
int64_t find(const std::vector<std::string>& list, const std::string& text) {
  const auto found = std::find(list.begin(), list.end(), text);
  return found == list.end() ? -1 : found - list.begin();
}

std::vector<int64_t> find_all(const std::vector<std::string>& list, const std::vector<std::string>& texts) {
  std::vector<int64_t> numbers;
  for (const std::string& text : texts) numbers.push_back(find(list, text));
  return numbers;
}

/// The values of a LabelEncoder, and then the one for unknown keys.
Tensor values_of(const Node& node) {
  const TensorRef tensor = node.tensor_attribute("values_tensor"), other = node.tensor_attribute("default_tensor");
  const std::vector<double> floats = node.floats_attribute("values_floats");
  const std::vector<int64_t> ints = node.ints_attribute("values_int64s");
  const int64_t count =
      tensor ? tensor->elements() : static_cast<int64_t>(floats.empty() ? ints.size() : floats.size());
  Tensor values(tensor ? tensor->dtype() : floats.empty() ? DType::i64 : DType::f32, {count + 1});
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    if (is_int(values.dtype()))
      values.set_int(i, tensor ? tensor->at_int(i) : ints[at]);
    else
      values.set_double(i, tensor ? tensor->at_double(i) : floats[at]);
  }
  if (is_int(values.dtype()))
    values.set_int(count, other ? other->at_int(0) : node.int_attribute("default_int64", -1));
  else
    values.set_double(count, other ? other->at_double(0) : node.float_attribute("default_float", 0));
  return values;
}

/// Makes a LabelEncoder of strings a Gather from a table that has a value for each string of the list. The last value
/// is for unknown strings: their number, -1, is the last index.
std::string make_table(Graph& graph, Node& node, const std::vector<std::string>& list) {
  const std::vector<std::string> keys = node.strings_attribute("keys_strings");
  if (keys.empty()) return "it reads strings, but has no attribute keys_strings";
  const Tensor values = values_of(node);
  const int64_t count = values.elements() - 1, strings = static_cast<int64_t>(list.size());
  if (count != static_cast<int64_t>(keys.size())) return concat("it has ", keys.size(), " keys and ", count, " values");
  const auto width = static_cast<size_t>(size_of(values.dtype()));
  auto table = std::make_shared<Tensor>(values.dtype(), std::vector<int64_t>{strings + 1});
  const auto put = [&](int64_t to, int64_t from) {
    std::copy_n(values.data() + static_cast<size_t>(from) * width, width,
                table->mutable_data() + static_cast<size_t>(to) * width);
  };
  for (int64_t i = 0; i <= strings; ++i) put(i, count);
  const std::vector<int64_t> numbers = find_all(list, keys);
  for (int64_t i = count; i-- > 0;)  // the first of equal keys counts
    if (numbers[static_cast<size_t>(i)] >= 0) put(numbers[static_cast<size_t>(i)], i);
  Value constant;
  constant.name = graph.unique_name(node.name + ".table");
  constant.dtype = table->dtype();
  constant.shape = to_shape(table->shape());
  constant.constant = std::move(table);
  node.op = &op("Gather");
  node.inputs.insert(node.inputs.begin(), graph.add_value(std::move(constant)));
  node.attributes = {{"axis", int64_t{0}}};
  return {};
}

}  // namespace

void Labels::set_dictionary(std::vector<std::string> strings) {
  if (strings.empty()) return;
  dictionary_ = std::make_shared<const std::vector<std::string>>(strings);
  from_inputs_ = std::make_shared<const std::vector<std::string>>(std::move(strings));
}

LabelList Labels::of(const Graph& graph, ValueId value) const {
  const auto found = lists_.find({&graph, value});
  return found == lists_.end() ? nullptr : found->second;
}

bool Labels::may_be_unknown(const Graph& graph, ValueId value) const {
  const LabelList list = of(graph, value);
  return list != nullptr && list == from_inputs_;
}

void Labels::set(const Graph& graph, ValueId value, LabelList list) { lists_[{&graph, value}] = std::move(list); }
void Labels::add_input(const Graph& graph, ValueId value) { set(graph, value, from_inputs_); }

void Labels::copy(const Graph& from, ValueId value, const Graph& to, ValueId other) {
  if (LabelList list = of(from, value)) set(to, other, std::move(list));
}

std::string Labels::carry(Graph& graph, Node& node) {
  const bool any = std::any_of(node.inputs.begin(), node.inputs.end() - node.captures,  // subgraphs read captures
                               [&](ValueId v) { return v.valid() && of(graph, v) != nullptr; });
  const LabelList first = node.inputs.empty() || !node.inputs[0].valid() ? nullptr : of(graph, node.inputs[0]);
  if (any) return read(graph, node, first);
  if (is_cast_to_string(node)) return "it turns numbers into strings, which is not supported";
  if (node.outputs.empty() || !node.outputs[0].valid()) return {};
  if (is_encoder(node, "LabelEncoder")) {
    if (LabelList list = number_values(node)) set(graph, node.outputs[0], std::move(list));
  } else if (std::vector<std::string> labels = own_labels(node); !labels.empty()) {
    set(graph, node.outputs[0], std::make_shared<const std::vector<std::string>>(std::move(labels)));
  }
  return {};
}

std::string Labels::read(Graph& graph, Node& node, const LabelList& first) {
  if (is_encoder(node, "LabelEncoder")) {
    if (LabelList list = number_values(node)) set(graph, node.outputs.at(0), std::move(list));
    return make_table(graph, node, *first);
  }
  if (is_encoder(node, "OneHotEncoder")) {
    if (!node.has_attribute("cats_strings")) return "it reads strings, but has no attribute cats_strings";
    node.attributes["cats_int64s"] = find_all(*first, node.strings_attribute("cats_strings"));
    node.attributes.erase("cats_strings");
    return {};
  }
  if (std::string_view(node.op->name) == "Equal") return compare(graph, node);
  if (!is_cast_to_string(node)) return move(graph, node);
  set(graph, node.outputs.at(0), first);
  node.op = &op("Identity");
  node.attributes.clear();
  return {};
}

/// All moved inputs, and no others, must be strings of one list. A result may be unknown if one of these inputs may be
/// unknown.
std::string Labels::move(const Graph& graph, Node& node) {
  const std::span<const ValueId> moved = moved_inputs(node);
  size_t strings = 0;
  for (const ValueId v : node.inputs) strings += v.valid() && of(graph, v) != nullptr ? 1 : 0;
  LabelList all = moved.empty() ? nullptr : of(graph, moved[0]);
  size_t of_moved = 0;
  for (const ValueId v : moved) {
    const LabelList list = of(graph, v);
    of_moved += list != nullptr ? 1 : 0;
    if (list == nullptr || all == nullptr || *list != *all) return kReader;
    if (list == from_inputs_) all = list;
  }
  if (strings == 0 || strings != of_moved) return kReader;
  for (const ValueId output : node.outputs)
    if (output.valid()) set(graph, output, all);
  return {};
}

std::string Labels::compare(const Graph& graph, const Node& node) const {
  const LabelList a = of(graph, node.inputs.at(0)), b = of(graph, node.inputs.at(1));
  if (a == nullptr || b == nullptr || *a != *b || dictionary_ == nullptr) return kReader;
  if (a == from_inputs_ && b == from_inputs_)
    return "it compares strings of inputs with each other; they can only be compared with constants";
  return {};
}

/// Turns a LabelEncoder's string values into numbers of a list, and returns the list; null if the node has no string
/// values.
LabelList Labels::number_values(Node& node) const {
  const std::vector<std::string> values = node.strings_attribute("values_strings");
  if (values.empty()) return nullptr;
  const std::string other = node.string_attribute("default_string", "_Unused");
  LabelList list = dictionary_;
  if (list == nullptr) {
    std::vector<std::string> texts;
    for (const std::string& text : values)
      if (find(texts, text) < 0) texts.push_back(text);
    if (find(texts, other) < 0) texts.push_back(other);
    list = std::make_shared<const std::vector<std::string>>(std::move(texts));
  }
  node.attributes.erase("values_strings");
  node.attributes.erase("default_string");
  node.attributes["values_int64s"] = find_all(*list, values);
  node.attributes["default_int64"] = find(*list, other);
  return list;
}

std::pair<TensorRef, LabelList> Labels::number(const onnx::TensorProto& proto) const {
  const std::vector<int64_t> shape(proto.dims().begin(), proto.dims().end());
  const int64_t elements = checked_elements(shape, DType::i64, concat("tensor '", proto.name(), "'"));
  if (proto.string_data_size() != elements)
    fail("tensor '", proto.name(), "' has ", proto.string_data_size(), " strings, but its shape needs ", elements);
  auto numbers = std::make_shared<Tensor>(DType::i64, shape);
  std::vector<std::string> texts;
  std::map<std::string, int64_t> known;
  for (size_t i = 0; dictionary_ != nullptr && i < dictionary_->size(); ++i)
    known.emplace((*dictionary_)[i], static_cast<int64_t>(i));
  for (int64_t i = 0; i < elements; ++i) {
    const auto [at, is_new] = known.emplace(proto.string_data(static_cast<int>(i)), static_cast<int64_t>(known.size()));
    if (is_new) texts.push_back(at->first);
    numbers->set_int(i, at->second);
  }
  return {std::move(numbers),
          dictionary_ != nullptr ? dictionary_ : std::make_shared<const std::vector<std::string>>(std::move(texts))};
}

}  // namespace gcg
