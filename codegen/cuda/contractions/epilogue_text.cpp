#include "codegen/cuda/contractions/epilogue_text.h"

#include "codegen/cuda/text/vector_access.h"

namespace gcg::cuda {

void EpilogueText::load_vectors(const EvaluationPoint& place) {
  vectors_.clear();
  if (vector_ == 1) return;
  for (const Expr& e : vector_loads(p_.epilogue, f_.kernel().operands, p_.lane, vector_)) {
    if (e->dtype != DType::f32 && e->dtype != DType::f16 && e->dtype != DType::bf16) continue;
    if (e.get() == known_) continue;
    ExprText exprs(f_, place);
    const Access from = exprs.access(e->operand, e->args);
    const std::string name = f_.fresh("v");
    f_.line("const gart_vector<", stored_type(e->dtype), ", ", vector_, "> ", name, " = gart_load<", vector_, ">(",
            f_.pointer(e->operand), " + ", from.offset.text, ");");
    vectors_.emplace_back(e.get(), name);
  }
}

void finish_one_sum(FunctionText& f, const Product& product, EvaluationPoint place) {
  product.declare_row(f, place);
  product.declare_column(f, place);
  EpilogueText epilogue(f, product, 1);
  const auto name = [](int) { return std::string("sum"); };
  epilogue.values(place, name);
  epilogue.store(place, name);
}

}  // namespace gcg::cuda
