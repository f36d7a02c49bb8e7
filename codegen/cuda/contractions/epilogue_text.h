// Writes the epilogue of a contraction for neighbouring columns of one row.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/cuda/contractions/product.h"

namespace gcg::cuda {

/// Writes the epilogue for `vector` neighbouring columns of one row, all of which exist. The epilogue's own `vector` is
/// a multiple of it.
class EpilogueText {
 public:
  EpilogueText(FunctionText& f, const Epilogue& product, int vector) : f_(f), p_(product), vector_(vector) {}

  /// For 16-bit results: replaces functions by approximations that are exact enough for 16 bits.
  void approximate() { approximates_ = size_of(result_type()) == 2; }
  /// States that name(v) already holds the value of the load at column + v. Valid until the next call.
  void know(const ExprNode* load, std::function<std::string(int)> name) {
    known_ = load;
    known_name_ = std::move(name);
  }

  /// Assigns the result to sum(v), which names the contraction's value at column + v.
  template <class Sum>
  void values(EvaluationPoint place, const Sum& sum) {
    load_vectors(place);
    for (int v = 0; v < vector_; ++v) {
      EvaluationPoint here = place;
      if (v > 0) here.axes[p_.lane] = concat("(", place.axes.at(p_.lane), " + ", v, ")");
      for (const auto& [node, name] : vectors_) here.known[node] = concat(name, ".at[", v, "]");
      if (known_ != nullptr) here.known[known_] = known_name_(v);
      here.approximates = approximates_;
      here.accumulator = sum(v);
      f_.line("{");
      ExprText exprs(f_, here);
      const std::string value = exprs.value(p_.epilogue);
      f_.line(sum(v), " = ", value, ";");
      f_.line("}");
    }
  }

  template <class Sum>
  void store(const EvaluationPoint& place, const Sum& sum) {
    ExprText exprs(f_, place);
    if (vector_ == 1) return exprs.store(p_.result, p_.index, rounded(sum(0)));
    std::string list;
    for (int v = 0; v < vector_; ++v) list += concat(v ? ", " : "", rounded(sum(v)));
    const std::string name = f_.fresh("v");
    f_.line("const gart_vector<", stored_type(result_type()), ", ", vector_, "> ", name, " = {{", list, "}};");
    const Access to = exprs.access(p_.result, p_.index);
    f_.line("gart_store(", f_.pointer(p_.result), " + ", to.offset.text, ", ", name, ");");
  }

 private:
  void load_vectors(const EvaluationPoint& place);
  DType result_type() const { return f_.kernel().operands[static_cast<size_t>(p_.result)].dtype; }
  /// A float, converted to the result's element type.
  std::string rounded(const std::string& value) const {
    return result_type() == DType::f32 ? value : concat("gart_narrow_", name_of(result_type()), "(", value, ")");
  }

  FunctionText& f_;
  const Epilogue& p_;
  int vector_;
  bool approximates_ = false;
  const ExprNode* known_ = nullptr;
  std::function<std::string(int)> known_name_;
  std::vector<std::pair<const ExprNode*, std::string>> vectors_;
};

/// Applies the epilogue to the float `sum` in scope and stores it, at the `row` and `column` in scope.
void finish_one_sum(FunctionText& f, const Product& product, EvaluationPoint place);

}  // namespace gcg::cuda
