#include "compiler/import/input_dims.h"

#include <algorithm>
#include <cctype>

#include "compiler/support/error.h"

namespace gcg {
namespace {

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

constexpr size_t kLongestName = 1000;  // characters; runtimes refuse symbols of more than 1 KiB

bool is_plain_name(const std::string& text) {
  return !text.empty() && text.size() <= kLongestName && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c); }) && text != "max" &&
         text != "min";
}

std::string sanitised(const std::string& text) {
  std::string name;
  for (char c : text.substr(0, kLongestName - 16)) name += is_letter(c) || is_digit(c) ? c : '_';
  while (name.size() > 1 && name.back() == '_' && name[name.size() - 2] == '_') name.pop_back();
  if (name.empty() || is_digit(name[0]) || !is_plain_name(name)) name = "d_" + name;
  return name;
}

}  // namespace

InputDims::InputDims(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& inputs) {
  for (const auto& input : inputs)
    for (const auto& dim : input.type().tensor_type().shape().dim())
      if (is_plain_name(dim.dim_param())) {
        taken_.insert(dim.dim_param());
        by_text_.emplace(dim.dim_param(), Dim::symbol(dim.dim_param()));
      }
}

Dim InputDims::fresh(const std::string& name) {
  std::string unique = name;
  for (int i = 1; !taken_.insert(unique).second; ++i) unique = concat(name, "_", i);
  return Dim::symbol(unique);
}

Dim InputDims::named(const std::string& text) {
  if (const auto known = by_text_.find(text); known != by_text_.end()) return known->second;
  constexpr size_t kLongestExpression = 200;  // characters; the parser recurses
  if (const auto expression = text.size() <= kLongestExpression ? Dim::parse(text) : std::nullopt) {
    const std::set<std::string> names = expression->symbols();
    if (!names.empty() &&
        std::all_of(names.begin(), names.end(), [&](const std::string& n) { return by_text_.count(n) != 0; }))
      return by_text_.emplace(text, *expression).first->second;
  }
  return by_text_.emplace(text, fresh(sanitised(text))).first->second;
}

Shape InputDims::shape(const std::string& input, const onnx::TensorShapeProto& proto) {
  Shape shape;
  for (int i = 0; i < proto.dim_size(); ++i) {
    const auto& dim = proto.dim(i);
    if (dim.has_dim_value() && dim.dim_value() != -1) {
      if (dim.dim_value() < 0)
        fail("graph input '", input, "' has the negative extent ", dim.dim_value(), " in dimension ", i,
             "; only -1 stands for an open one");
      shape.emplace_back(dim.dim_value());
    } else {
      shape.push_back(dim.dim_param().empty() ? fresh(sanitised(concat(input, "_dim", i))) : named(dim.dim_param()));
    }
  }
  return shape;
}

}  // namespace gcg
