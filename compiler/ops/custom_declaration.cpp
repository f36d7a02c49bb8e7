// The text of a custom operator's declaration, and a node's attributes as text.
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "compiler/ir/gir_scanner.h"
#include "compiler/ops/custom_op.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

std::vector<CustomOp::Tensor> tensors(gir::Scanner& in, char end) {
  std::vector<CustomOp::Tensor> list;
  if (in.peek() == end) return list;
  do {
    CustomOp::Tensor t;
    t.dtype = in.word("an element type");
    t.any_shape = in.take_text("[...]");
    if (!t.any_shape) t.shape = in.dims('[', ']');
    t.optional = in.take('?');
    list.push_back(std::move(t));
  } while (in.take(','));
  return list;
}

CustomOp parse(const std::string& text) {
  const size_t semicolon = text.find(';');
  const std::string signature = text.substr(0, semicolon);
  gir::Scanner in(signature);
  CustomOp op;
  op.text = text;
  op.name = in.word("an operator");
  if (in.take_text("::")) {
    op.domain = op.name == "ai.onnx" ? "" : op.name;
    op.name = in.word("an operator");
  }
  in.expect('(');
  op.inputs = tensors(in, ')');
  in.expect(')');
  if (!in.take_text("->")) fail("expected '->' and the outputs");
  op.outputs = tensors(in, '\0');
  if (in.peek() != '\0') in.expect(',');
  if (op.outputs.empty()) fail("it makes nothing");
  for (const CustomOp::Tensor& t : op.outputs)
    if (t.optional) fail("an output cannot be optional");
  if (semicolon == std::string::npos) return op;
  gir::Scanner rest(std::string_view(text).substr(semicolon + 1));
  if (!rest.take_text("workspace ")) fail("expected 'workspace' and a number of bytes after ';'");
  op.workspace = rest.dim_until('\0');
  return op;
}

std::string json(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr const char* kDigits = "0123456789abcdef";
      out += concat("\\u00", kDigits[c >> 4], kDigits[c & 15]);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string json(int64_t value) { return std::to_string(value); }

/// ONNX's attributes are f32. Prints the shortest text that parses to the same f32 value.
std::string json(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char text[64];
  const auto end = static_cast<double>(static_cast<float>(value)) == value
                       ? std::to_chars(text, text + sizeof text, static_cast<float>(value))
                       : std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

template <class T>
std::string json(const std::vector<T>& list) {
  std::string out = "[";
  for (const T& item : list) out += (out.size() == 1 ? "" : ", ") + json(item);
  return out + "]";
}

std::string json(const TensorRef& tensor) {
  std::string data;
  for (int64_t i = 0; i < tensor->elements(); ++i)
    data += (i == 0 ? "" : ", ") + (is_float(tensor->dtype()) ? json(tensor->at_double(i)) : json(tensor->at_int(i)));
  return concat("{\"dims\": ", json(tensor->shape()), ", \"data\": [", data, "]}");
}

}  // namespace

CustomOp parse_custom_op(const std::string& text) {
  try {
    return parse(text);
  } catch (const CompileError& error) {
    fail("--custom-op '", text,
         "' is not like 'acme::Blend(f32[n, c], T[...]) -> f32[n, 2*c]; workspace 4*n': ", error.what());
  }
}

std::string attributes_as_json(const Node& node) {
  std::string out = "{";
  for (const auto& [name, value] : node.attributes)
    if (!name.starts_with("gart."))
      out +=
          (out.size() == 1 ? "" : ", ") + json(name) + ": " + std::visit([](const auto& v) { return json(v); }, value);
  return out + "}";
}

}  // namespace gcg
