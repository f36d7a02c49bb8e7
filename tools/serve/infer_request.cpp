#include "tools/serve/infer_request.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/serve/datatypes.h"
#include "tools/serve/json_elements.h"
#include "tools/serve/refusal.h"

namespace gcg::serve {
namespace {

using nlohmann::json;

constexpr size_t kMostTensors = 4096;
constexpr size_t kLongestName = 1 << 16;

const json& object_in(const json& holder, const char* key) {
  static const json none = json::object();
  const auto at = holder.find(key);
  if (at == holder.end()) return none;
  if (!at->is_object()) refuse(400, "'", key, "' is not an object");
  return *at;
}

bool flag_in(const json& parameters, const char* key, bool otherwise) {
  const auto at = parameters.find(key);
  if (at == parameters.end()) return otherwise;
  if (!at->is_boolean()) refuse(400, "the parameter '", key, "' is not true or false");
  return at->get<bool>();
}

uint64_t count_in(const json& parameters, const char* key, uint64_t otherwise) {
  const auto at = parameters.find(key);
  if (at == parameters.end()) return otherwise;
  if (!at->is_number_unsigned()) refuse(400, "the parameter '", key, "' is not a whole number from 0 on");
  return at->get<uint64_t>();
}

std::string text_in(const json& holder, const char* key, const char* where) {
  const auto at = holder.find(key);
  if (at == holder.end()) return {};
  if (!at->is_string() || at->get_ref<const std::string&>().size() > kLongestName)
    refuse(400, "'", key, "' of ", where, " is not a text of at most ", kLongestName, " bytes");
  return at->get<std::string>();
}

const json& list_in(const json& holder, const char* key) {
  static const json none = json::array();
  const auto at = holder.find(key);
  if (at == holder.end()) return none;
  if (!at->is_array() || at->size() > kMostTensors)
    refuse(400, "'", key, "' is not a list of at most ", kMostTensors, " entries");
  for (const json& entry : *at)
    if (!entry.is_object()) refuse(400, "an entry of '", key, "' is not an object");
  return *at;
}

std::vector<int64_t> shape_in(const json& input, const std::string& name) {
  const auto at = input.find("shape");
  if (at == input.end() || !at->is_array()) refuse(400, "input '", name, "' has no shape");
  if (at->size() > gart::kMaxRank) refuse(400, "input '", name, "' has more than ", gart::kMaxRank, " axes");
  std::vector<int64_t> shape;
  for (const json& extent : *at) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > std::numeric_limits<int64_t>::max())
      refuse(400, "input '", name, "': an extent of its shape is not a whole number from 0 on");
    shape.push_back(extent.get<int64_t>());
  }
  return shape;
}

/// Takes the binary tensors from the rest of the body, one after the other.
class BinaryPart {
 public:
  explicit BinaryPart(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  std::span<const uint8_t> take(uint64_t size, const std::string& name) {
    if (size > bytes_.size() - taken_)
      refuse(400, "input '", name, "' has binary_data_size ", size, "; ", bytes_.size() - taken_,
             " bytes of the body are left");
    const auto part = bytes_.subspan(taken_, size);
    taken_ += size;
    return part;
  }
  void check_end() const {
    if (taken_ != bytes_.size())
      refuse(400, "the body has ", bytes_.size(), " bytes of binary data; the inputs take ", taken_);
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t taken_ = 0;
};

GivenTensor tensor_in(const json& input, BinaryPart& binary) {
  GivenTensor t;
  t.name = text_in(input, "name", "an input");
  const std::string datatype = text_in(input, "datatype", "an input");
  t.dtype = dtype_of(datatype);
  if (t.dtype == gart::DType::undefined)
    refuse(400, "input '", t.name, "' has the datatype '", datatype.substr(0, 40),
           "', which this server does not know");
  t.shape = shape_in(input, t.name);
  const int64_t count = gart::Shape(t.shape).elements();
  const auto element = static_cast<int64_t>(gart::size_of(t.dtype));
  if (count < 0 || count > std::numeric_limits<int64_t>::max() / element)
    refuse(400, "input '", t.name, "' has more elements than 64 bits can count");
  const json& parameters = object_in(input, "parameters");
  for (const char* key : {"shared_memory_region", "shared_memory_offset"})
    if (parameters.contains(key)) refuse(400, "input '", t.name, "': this server reads no shared memory");
  const auto data = input.find("data");
  if (parameters.contains("binary_data_size")) {
    if (data != input.end()) refuse(400, "input '", t.name, "' has both data and binary_data_size");
    const uint64_t size = count_in(parameters, "binary_data_size", 0);
    t.bytes = binary.take(size, t.name);
    if (size != static_cast<uint64_t>(count * element))
      refuse(400, "input '", t.name, "' has ", size, " bytes of binary data; its shape needs ", count * element);
    if (t.dtype == gart::DType::boolean && std::ranges::any_of(t.bytes, [](uint8_t b) { return b > 1; }))
      refuse(400, "input '", t.name, "' has a BOOL other than 0 and 1");
  } else {
    if (data == input.end()) refuse(400, "input '", t.name, "' has no data");
    t.owned = elements_from_json(*data, t.dtype, count, t.name);
    t.bytes = t.owned;
  }
  return t;
}

SequenceUse sequence_in(const json& parameters) {
  SequenceUse use;
  use.starts = flag_in(parameters, "sequence_start", false);
  use.ends = flag_in(parameters, "sequence_end", false);
  const auto at = parameters.find("sequence_id");
  if (at == parameters.end()) return use;
  if (at->is_number_unsigned()) {
    if (const auto id = at->get<uint64_t>(); id != 0) use.key = "#" + std::to_string(id);
  } else if (!at->is_string() || at->get_ref<const std::string&>().size() > kLongestName) {
    refuse(400, "the parameter 'sequence_id' is not a whole number or a text of at most ", kLongestName, " bytes");
  } else if (!at->get_ref<const std::string&>().empty()) {
    use.key = "'" + at->get<std::string>();
  }
  return use;
}

void read_outputs(const json& document, InferRequest& request) {
  std::set<std::string> names;
  for (const json& output : list_in(document, "outputs")) {
    const std::string name = text_in(output, "name", "an output");
    if (!names.insert(name).second) refuse(400, "output '", name, "' is named twice");
    const json& parameters = object_in(output, "parameters");
    if (count_in(parameters, "classification", 0) > 0)
      refuse(400, "output '", name, "': this server does not classify; it returns the numbers");
    if (parameters.contains("shared_memory_region"))
      refuse(400, "output '", name, "': this server writes no shared memory");
    request.outputs.push_back({name, flag_in(parameters, "binary_data", request.is_binary)});
  }
}

size_t length_of_json(const std::string& header, size_t body) {
  if (header.empty()) return body;
  size_t length = 0;
  const auto [stop, error] = std::from_chars(header.data(), header.data() + header.size(), length);
  if (error != std::errc() || stop != header.data() + header.size() || length > body)
    refuse(400, "Inference-Header-Content-Length is not a number from 0 to ", body, ", the length of the body");
  return length;
}

}  // namespace

InferRequest parse_infer_request(std::string body, const std::string& json_length) {
  InferRequest request;
  request.body = std::move(body);
  const size_t length = length_of_json(json_length, request.body.size());
  const json document = parse_json(std::string_view(request.body).substr(0, length));
  if (!document.is_object()) refuse(400, "the request is not an object");
  request.id = text_in(document, "id", "the request");
  const json& parameters = object_in(document, "parameters");
  request.entry = text_in(parameters, "entry", "the parameters");
  request.is_binary = flag_in(parameters, "binary_data_output", false);
  request.sequence = sequence_in(parameters);
  request.priority = count_in(parameters, "priority", 0);
  constexpr uint64_t kLongestTimeout = uint64_t{1} << 50;
  if (const uint64_t timeout = count_in(parameters, "timeout", 0); timeout > 0)
    request.timeout_us = static_cast<int64_t>(std::min(timeout, kLongestTimeout));
  BinaryPart binary(
      std::span(reinterpret_cast<const uint8_t*>(request.body.data()), request.body.size()).subspan(length));
  for (const json& input : list_in(document, "inputs")) request.inputs.push_back(tensor_in(input, binary));
  binary.check_end();
  read_outputs(document, request);
  return request;
}

void check_against(InferRequest& request, std::span<const gart::TensorInfo> inputs) {
  std::vector<GivenTensor> ordered;
  for (const gart::TensorInfo& info : inputs) {
    const auto is_it = [&](const GivenTensor& t) { return t.name == info.name; };
    const auto at = std::ranges::find_if(request.inputs, is_it);
    if (at == request.inputs.end()) refuse(400, "input '", info.name, "' is missing");
    if (std::count_if(at, request.inputs.end(), is_it) > 1) refuse(400, "input '", info.name, "' is given twice");
    if (at->dtype != info.dtype)
      refuse(400, "input '", info.name, "' is ", datatype_name(info.dtype), "; the request has ",
             datatype_name(at->dtype));
    if (at->shape.size() != info.dims.size())
      refuse(400, "input '", info.name, "' has ", info.dims.size(), " axes; the request has ", at->shape.size());
    ordered.push_back(std::move(*at));
    request.inputs.erase(at);
  }
  if (!request.inputs.empty()) refuse(400, "the model has no input '", request.inputs[0].name, "'");
  request.inputs = std::move(ordered);
}

}  // namespace gcg::serve
