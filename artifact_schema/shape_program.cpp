#include "artifact_schema/shape_program.h"

#include <algorithm>
#include <limits>

namespace gart {
namespace {

/// Returns false on failure; `result` is then unspecified.
bool compute(fb::ExprOp op, int64_t a, int64_t b, int64_t& result) {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  switch (op) {
    case fb::ExprOp::add:
      return !__builtin_add_overflow(a, b, &result);
    case fb::ExprOp::sub:
      return !__builtin_sub_overflow(a, b, &result);
    case fb::ExprOp::mul:
      return !__builtin_mul_overflow(a, b, &result);
    case fb::ExprOp::floor_div:
      if (b == 0 || (a == kLowest && b == -1)) return false;
      result = a / b - (a % b != 0 && (a < 0) != (b < 0));
      return true;
    case fb::ExprOp::mod:
      if (b == 0) return false;
      result = b == -1 ? 0 : a % b;
      if (result != 0 && (result < 0) != (b < 0)) result += b;
      return true;
    case fb::ExprOp::max:
      result = std::max(a, b);
      return true;
    case fb::ExprOp::min:
      result = std::min(a, b);
      return true;
    case fb::ExprOp::constant:
      break;
  }
  return false;
}

const char* symbol_of(fb::ExprOp op) {
  switch (op) {
    case fb::ExprOp::add:
      return " + ";
    case fb::ExprOp::sub:
      return " - ";
    case fb::ExprOp::mul:
      return "*";
    case fb::ExprOp::floor_div:
      return "//";
    case fb::ExprOp::mod:
      return "%";
    default:
      return ", ";
  }
}

/// Renders a slot as text, with as few parentheses as the precedences allow. Each instruction and each long name uses
/// up a part of `budget`; "..." replaces the rest.
struct Describer {
  ShapeProgram program;
  std::span<const std::string> symbols;
  int budget = 48;

  /// Adds parentheses if the expression binds less tightly than `strength`: 0 comma, 1 sum, 2 product, 3 right operand
  /// of a product or less.
  std::string operator()(size_t slot, int strength) {
    if (slot < symbols.size()) {
      budget -= int(symbols[slot].size() / 32);
      if (budget < 0) return "...";
      return symbols[slot];
    }
    const fb::Instruction& instruction = program[slot - symbols.size()];
    const fb::ExprOp op = instruction.op();
    if (op == fb::ExprOp::constant) return std::to_string(instruction.value());
    if (--budget < 0) return "...";
    if (op == fb::ExprOp::max || op == fb::ExprOp::min) {
      const std::string a = (*this)(instruction.a(), 0);
      return text(op == fb::ExprOp::max ? "max(" : "min(", a, ", ", (*this)(instruction.b(), 0), ")");
    }
    const int precedence = op == fb::ExprOp::add || op == fb::ExprOp::sub ? 1 : 2;
    const int right = op == fb::ExprOp::add || op == fb::ExprOp::mul ? precedence : precedence + 1;
    std::string out = (*this)(instruction.a(), precedence);
    out += symbol_of(op) + (*this)(instruction.b(), right);
    return precedence < strength ? text("(", out, ")") : out;
  }
};

}  // namespace

Status verify_program(ShapeProgram program, size_t symbols) {
  for (size_t i = 0; i < program.size(); ++i) {
    const fb::Instruction& instruction = program[i];
    if (instruction.op() > fb::ExprOp::MAX) {
      return failure("instruction ", i, " has operation ", int(instruction.op()), ", the last one known is ",
                     int(fb::ExprOp::MAX));
    }
    if (instruction.op() == fb::ExprOp::constant) continue;
    const size_t limit = symbols + i, operand = std::max(instruction.a(), instruction.b());
    if (operand >= limit)
      return failure("instruction ", i, " reads slot ", operand, ", but may only read slots below ", limit);
  }
  return {};
}

Status evaluate(ShapeProgram program, size_t symbols, Slots& slots, std::span<const uint32_t> only) {
  const size_t count = only.empty() ? program.size() : only.size();
  for (size_t n = 0; n < count; ++n) {
    const size_t i = only.empty() ? n : only[n];
    const fb::Instruction& instruction = program[i];
    const uint32_t a = instruction.a(), b = instruction.b();
    const size_t slot = symbols + i;
    if (instruction.op() == fb::ExprOp::constant) {
      slots.set(slot, instruction.value());
    } else if (slots.known[a] && slots.known[b]) {
      slots.known[slot] = 1;
      if (!compute(instruction.op(), slots[a], slots[b], slots.values[slot])) {
        return failure("shape slot ", slot, " cannot be computed: ", fb::EnumNameExprOp(instruction.op()), " of ",
                       slots[a], " and ", slots[b], " overflows or divides by zero");
      }
    }
  }
  return {};
}

std::vector<uint8_t> reachable_slots(ShapeProgram program, std::span<const uint8_t> known_symbols) {
  std::vector<uint8_t> known(known_symbols.begin(), known_symbols.end());
  known.reserve(known.size() + program.size());
  for (const fb::Instruction& instruction : program) {
    const bool constant = instruction.op() == fb::ExprOp::constant;
    known.push_back(constant || (known[instruction.a()] && known[instruction.b()]));
  }
  return known;
}

void mark_operands(ShapeProgram program, size_t symbols, std::vector<uint8_t>& marked) {
  for (size_t i = marked.size(); i-- > symbols;) {
    const fb::Instruction& instruction = program[i - symbols];
    if (marked[i] != 0 && instruction.op() != fb::ExprOp::constant)
      marked[instruction.a()] = marked[instruction.b()] = 1;
  }
}

std::string describe_slot(ShapeProgram program, std::span<const std::string> symbols, size_t slot) {
  return Describer{program, symbols}(slot, 0);
}

}  // namespace gart
