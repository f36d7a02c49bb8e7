// Converts left operands of 8-bit contractions to u8. Internal to lower_integers.
#pragma once

#include <map>

#include "compiler/passes/rewrite.h"

namespace gcg {

/// Finds or makes the u8 counterpart of an i8 value: the same numbers plus 128. If a QuantizeLinear with a constant
/// zero point makes the value, another one makes the counterpart. Nodes that dequantise the value then read the
/// counterpart instead. Zero points of i8 grow by the same 128, so differences from them do not change: they are in
/// [-255, 255].
class UnsignedBytes {
 public:
  explicit UnsignedBytes(Rewriter& r) : r_(r) {}

  struct Operand {
    ValueId value;  // u8
    ValueId zero;   // u8; invalid if the zero point is 0
  };
  /// Input `i` of a MatMulInteger or ConvInteger, with its zero point, which is input i + 2.
  Operand operand(const Node& n, size_t i);

 private:
  ValueId counterpart(ValueId v);
  ValueId shifted(ValueId v, const std::string& name);
  void redirect(ValueId v, ValueId counterpart);
  ValueId requantized(ValueId v);
  ValueId moved(ValueId v);

  Rewriter& r_;
  std::map<ValueId, ValueId> unsigned_;
};

}  // namespace gcg
