// The left operands of 8-bit contractions as u8: internal to lower_integers.
#pragma once

#include <map>

#include "compiler/passes/rewrite.h"

namespace gcg {

/// Finds or makes, for a value of i8, its counterpart: the same numbers plus 128 in u8. Where the value is quantised by
/// constants, so is its counterpart, and what dequantises the value reads the counterpart instead. Zero points of i8
/// move along, so that differences from them, within [-255, 255], stay what they are.
class UnsignedBytes {
 public:
  explicit UnsignedBytes(Rewriter& r) : r_(r) {}

  struct Operand {
    ValueId value;  // u8
    ValueId zero;   // u8; none if it is the constant 0
  };
  /// Input `i` of a MatMulInteger or ConvInteger, and its zero point, which is input i + 2 of the node.
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
