#include "codegen/cuda/text/function_text.h"

#include <algorithm>

#include "codegen/cuda/text/text_hash.h"

namespace gcg::cuda {

std::string type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
    case DType::f16:
    case DType::bf16:
    case DType::u16:
      return "unsigned short";
    case DType::i8:
      return "signed char";
    case DType::i16:
      return "short";
    case DType::i32:
      return "int";
    case DType::i64:
      return "long long";
    case DType::u8:
      return "unsigned char";
    case DType::u32:
      return "unsigned int";
    case DType::u64:
      return "unsigned long long";
    case DType::boolean:
      return "bool";
    default:
      break;
  }
  GCG_CHECK(false, "values of dtype ", name_of(dtype), " have no CUDA type");
  return "";
}

std::string stored_type(DType dtype) { return dtype == DType::boolean ? "unsigned char" : type_of(dtype); }

std::string index_type(const Interval& values) { return values.fits_int() ? "int" : "long long"; }

std::string integer_literal(int64_t value) {
  if (value == INT64_MIN) return "(-9223372036854775807LL - 1)";
  if (value == INT32_MIN) return "(-2147483647 - 1)";
  const bool wide = value < INT32_MIN || value > INT32_MAX;
  const std::string digits = concat(value, wide ? "LL" : "");
  return value < 0 ? concat("(", digits, ")") : digits;
}

IndexText FunctionText::dim(const Dim& dim) {
  if (dim.is_constant()) {
    const int64_t value = dim.constant();
    return {integer_literal(value), value < INT32_MIN || value > INT32_MAX};
  }
  const auto at = std::find(params_.begin(), params_.end(), dim);
  const auto number = at - params_.begin();
  if (at == params_.end()) params_.push_back(dim);
  if (interval_of(dim).fits_int()) return {concat("(int)n", number), false};
  return {concat("n", number), true};
}

IndexText quotient(const IndexText& a, const IndexText& b) {
  if (!a.wide && !b.wide) return {concat("(int)((unsigned int)", a.text, " / (unsigned int)", b.text, ")"), false};
  return {concat("gart_index_div(", a.as_wide(), ", ", b.as_wide(), ")"), true};
}

IndexText remainder(const IndexText& a, const IndexText& b) {
  if (!a.wide && !b.wide) return {concat("(int)((unsigned int)", a.text, " % (unsigned int)", b.text, ")"), false};
  return {concat("gart_index_mod(", a.as_wide(), ", ", b.as_wide(), ")"), true};
}

std::vector<std::string> FunctionText::coordinates(const std::vector<Axis>& axes, IndexText point) {
  std::vector<std::string> names(axes.size());
  for (size_t k = axes.size(); k-- > 0;) {
    const Interval range = ranges_.of_axis(axes[k].id);
    const IndexText extent = dim(axes[k].extent);
    const IndexText here = k == 0 ? point : remainder(point, extent);
    names[k] = concat("a", axes[k].id);
    line("const ", index_type(range), " ", names[k], " = ", range.fits_int() && here.wide ? "(int)" : "", here.text,
         ";");
    if (k == 0) break;
    const std::string rest = fresh("e");
    const IndexText next = quotient(point, extent);
    line("const ", next.wide ? "long long " : "int ", rest, " = ", next.text, ";");
    point = {rest, next.wide};
  }
  return names;
}

void FunctionText::wait_later(int operand, int64_t bytes) {
  waits_later_ = true;
  if (operand < 0) return;
  ahead_.push_back(operand);
  ahead_bytes_ += bytes;
}

KernelText FunctionText::finish(const std::string& kind, int threads, int min_blocks, int cluster) const {
  std::string parameters;
  for (size_t i = 0; i < kernel_.operands.size(); ++i) {
    const Operand& o = kernel_.operands[i];
    if (o.array) continue;
    parameters += concat(o.written ? "" : "const ", stored_type(o.dtype), "* p", i, ", ");
  }
  for (size_t i = 0; i < params_.size(); ++i) parameters += concat("long long n", i, ", ");
  parameters += "void* workspace, unsigned int* status";
  // The next launch may start now: before it touches memory that this launch writes, it waits for this launch.
  const std::string head = concat("  gart_start_next_launch();\n", waits_later_ ? "" : "  gart_await_last_launch();\n");
  for (size_t i = 0; i < maps_.size(); ++i) parameters += concat(", const __grid_constant__ GartTensorMap m", i);
  std::string bounds = min_blocks > 0 ? concat(threads, ", ", min_blocks) : concat(threads);
  if (cluster > 0) bounds += concat(") __cluster_dims__(", cluster, ", 1, 1");
  KernelText result;
  result.symbol = kind + "_" + hash_text(parameters + bounds + includes_ + head + body_);
  result.source =
      concat("#include \"gart_prelude.cuh\"\n", includes_, "\nextern \"C\" __global__ void __launch_bounds__(", bounds,
             ") ", result.symbol, "(", parameters, ") {\n", head, body_, "}\n");
  result.cluster = cluster;
  result.params = params_;
  result.maps = maps_;
  result.threads = threads;
  result.may_fail = may_fail_;
  result.ahead = ahead_;
  result.ahead_bytes = ahead_bytes_;
  return result;
}

}  // namespace gcg::cuda
