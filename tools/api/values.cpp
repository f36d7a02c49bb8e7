#include "gcc_graph/values.h"

#include <charconv>
#include <cstring>

#include "compiler/ir/dim.h"
#include "compiler/ir/tensor.h"
#include "compiler/support/name_list.h"
#include "compiler/support/nearest.h"
#include "tools/api/graph_state.h"

namespace gcc_graph {
namespace {

template <class T>
bool parse(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool set_element(gcg::Tensor& t, const std::string& text) {
  if (gcg::is_float(t.dtype())) {
    double number = 0;
    if (!parse(text, number)) return false;
    t.set_double(0, number);
    return true;
  }
  if (t.dtype() == gcg::DType::boolean && (text == "true" || text == "false")) {
    t.set_int(0, text == "true" ? 1 : 0);
    return true;
  }
  if (uint64_t large = 0; t.dtype() == gcg::DType::u64 && parse(text, large)) {
    t.set_int(0, static_cast<int64_t>(large));
    return true;
  }
  int64_t integer = 0;
  if (!parse(text, integer) || (integer < 0 && gcg::is_unsigned_int(t.dtype()))) return false;
  t.set_int(0, integer);
  return t.at_int(0) == integer;
}

gcg::Dim dim_of(const std::string& extent) { return gcg::Dim::parse(extent).value_or(gcg::Dim::symbol(extent)); }

}  // namespace

double element_at(DType dtype, const void* elements, int64_t i) {
  return gcg::Tensor(static_cast<gcg::DType>(dtype), {}, static_cast<const uint8_t*>(elements) + i * size_of(dtype),
                     nullptr)
      .at_double(0);
}

bool parse_element(DType dtype, const std::string& text, void* element) {
  gcg::Tensor one(static_cast<gcg::DType>(dtype), {});
  if (!set_element(one, text)) return false;
  std::memcpy(element, one.data(), static_cast<size_t>(one.bytes()));
  return true;
}

DType dtype_from_onnx(int32_t onnx_type) {
  return static_cast<DType>(gcg::dtype_from_onnx(onnx_type).value_or(gcg::DType::undefined));
}

std::set<std::string> symbols_of_extent(const std::string& extent) {
  const auto symbols = dim_of(extent).symbols();
  return {symbols.begin(), symbols.end()};
}

int64_t extent_value(const std::string& extent, const std::map<std::string, int64_t>& symbols) {
  return detail::guarded([&] { return dim_of(extent).evaluate(symbols); });
}

std::vector<std::string> split_names(const std::vector<std::string>& lists, const std::set<std::string>& known) {
  return gcg::split_names(lists, known);
}

std::string nearest(const std::string& word, const std::vector<std::string>& known) {
  return gcg::nearest(word, known);
}

}  // namespace gcc_graph
