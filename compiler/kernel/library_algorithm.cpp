#include "compiler/kernel/library_algorithm.h"

#include <algorithm>
#include <bit>
#include <sstream>

#include "compiler/support/error.h"

namespace gcg {
namespace {

constexpr const char* kOperations[] = {"matmul", "convolution", "attention"};

bool is_open(const LibraryTensor& t) {
  const auto is_constant = [](const Dim& d) { return d.is_constant(); };
  return !is_constant(t.offset) || !std::all_of(t.extents.begin(), t.extents.end(), is_constant) ||
         !std::all_of(t.strides.begin(), t.strides.end(), is_constant);
}

/// "f16[1,128,768]/[98304,768,1]@16": extents, strides, and the known alignment of the address in bytes.
std::string describe(const LibraryTensor& t) {
  constexpr uint64_t kBuffers = 64;
  const uint64_t offset = static_cast<uint64_t>(t.offset.constant()) * size_of(t.dtype);
  std::string text(name_of(t.dtype));
  for (const auto* numbers : {&t.extents, &t.strides}) {
    text += numbers == &t.extents ? "[" : "/[";
    for (size_t i = 0; i < numbers->size(); ++i) text += concat(i > 0 ? "," : "", (*numbers)[i].constant());
    text += "]";
  }
  return concat(text, "@", uint64_t{1} << std::countr_zero(offset | kBuffers));
}

std::string list(const char* name, const std::vector<int64_t>& numbers) {
  std::string text = concat(", ", name, " ");
  for (size_t i = 0; i < numbers.size(); ++i) text += concat(i > 0 ? "," : "", numbers[i]);
  return text;
}

std::string describe(const LibraryCall& call) {
  std::string text;
  for (const LibraryTensor& t : call.tensors) text += concat(text.empty() ? "" : " ", describe(t));
  if (call.bias) text += ", bias";
  if (call.addend) text += ", addend";
  if (call.activation == LibraryActivation::relu) text += ", relu";
  if (call.activation == LibraryActivation::gelu_tanh) text += ", gelu_tanh";
  if (call.causal) text += ", causal";
  if (call.operation != LibraryOperation::convolution) return text;
  return text + list("strides", call.strides) + list("dilations", call.dilations) + list("pads", call.pads) +
         concat(", groups ", call.groups);
}

}  // namespace

std::string describe(const LibraryAlgorithm& algorithm) {
  std::ostringstream out;
  out << algorithm.version << ':' << std::hex;
  for (const int64_t number : algorithm.config) out << ' ' << static_cast<uint64_t>(number);
  return out.str();
}

std::optional<LibraryAlgorithm> parse_algorithm(const std::string& text) {
  std::istringstream in(text);
  LibraryAlgorithm algorithm;
  char colon = 0;
  if (!(in >> algorithm.version >> colon) || colon != ':') return std::nullopt;
  in >> std::hex;
  for (uint64_t number = 0; in >> number;) algorithm.config.push_back(static_cast<int64_t>(number));
  if (algorithm.config.empty() || !in.eof()) return std::nullopt;
  return algorithm;
}

std::optional<Decision> decision_about(const LibraryCall& call, const Target& target) {
  if (std::any_of(call.tensors.begin(), call.tensors.end(), is_open)) return std::nullopt;
  const std::string kind = concat(call.library, " ", kOperations[static_cast<size_t>(call.operation)]);
  return Decision{target.name, name_of(target.precision), kind, describe(call), {}};
}

std::optional<LibraryAlgorithm> measured_algorithm(const LibraryCall& call, const Target& target) {
  if (target.decisions == nullptr) return std::nullopt;
  const auto decision = decision_about(call, target);
  return decision ? target.decisions->algorithm(*decision) : std::nullopt;
}

}  // namespace gcg
