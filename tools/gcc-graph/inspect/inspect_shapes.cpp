#include "tools/gcc-graph/inspect/inspect_shapes.h"

#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

namespace fb = gart::fb;

std::string SlotTexts::at_least(Binding binding, const Text& t) {
  return t.binding < binding ? concat("(", t.text, ")") : t.text;
}

SlotTexts::Text SlotTexts::read(uint32_t slot, int depth) {
  constexpr int kMostDepth = 100;
  constexpr size_t kMostLetters = 500;
  const uint32_t symbols = gart::count_of(entry_.symbols());
  if (slot < symbols) return {std::string(gart::view_of(entry_.symbols()->Get(slot)->name())), Binding::one};
  if (const auto known = known_.find(slot); known != known_.end()) return known->second;
  Text text = depth < kMostDepth ? computed(*program_->Get(slot - symbols), depth + 1) : Text{"...", Binding::one};
  if (text.text.size() > kMostLetters) text = {"...", Binding::one};
  return known_.emplace(slot, std::move(text)).first->second;
}

SlotTexts::Text SlotTexts::computed(const fb::Instruction& i, int depth) {
  if (i.op() == fb::ExprOp::constant) return {std::to_string(i.value()), i.value() < 0 ? Binding::sum : Binding::one};
  const Text a = read(i.a(), depth), b = read(i.b(), depth);
  switch (i.op()) {
    case fb::ExprOp::add:
      return {concat(a.text, b.text.starts_with('-') ? "" : "+", b.text), Binding::sum};
    case fb::ExprOp::sub:
      return {concat(a.text, "-", at_least(Binding::product, b)), Binding::sum};
    case fb::ExprOp::mul:
      return product(i, a, b);
    case fb::ExprOp::floor_div:
      return {concat(at_least(Binding::product, a), "//", at_least(Binding::one, b)), Binding::product};
    case fb::ExprOp::mod:
      return {concat(at_least(Binding::product, a), "%", at_least(Binding::one, b)), Binding::product};
    default:
      return {concat(fb::EnumNameExprOp(i.op()), "(", a.text, ",", b.text, ")"), Binding::one};
  }
}

/// The minus sign of a negative factor comes first, so that a sum can use it as its own sign.
SlotTexts::Text SlotTexts::product(const fb::Instruction& i, const Text& a, const Text& b) const {
  const uint32_t symbols = gart::count_of(entry_.symbols());
  const fb::Instruction* factor = i.b() < symbols ? nullptr : program_->Get(i.b() - symbols);
  const bool is_negative = factor != nullptr && factor->op() == fb::ExprOp::constant && factor->value() < 0;
  if (!is_negative) return {concat(at_least(Binding::product, a), "*", at_least(Binding::one, b)), Binding::product};
  const std::string minus_a = concat("-", at_least(Binding::one, a));
  return {factor->value() == -1 ? minus_a : concat(minus_a, "*", b.text.substr(1)), Binding::sum};
}

}  // namespace gcg::tools
