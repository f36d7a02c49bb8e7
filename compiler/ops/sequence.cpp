// Sequences and optionals of tensors. take_sequences_apart replaces them by their tensors, so none of these operators
// is ever inferred, interpreted or lowered.
#include "compiler/ops/ops.h"

namespace gcg {
namespace {

constexpr OpDef sequence_op(const char* name, int since, int least_inputs, int most_inputs, int most_outputs = 1,
                            OpKind kind = OpKind::opaque, Types results = Types::any) {
  return {.name = name,
          .since = since,
          .min_inputs = least_inputs,
          .max_inputs = most_inputs,
          .max_outputs = most_outputs,
          .results = {results},
          .kind = kind,
          .allows_unknown_rank = true};
}

}  // namespace

constinit const OpDef op_ConcatFromSequence = sequence_op("ConcatFromSequence", 11, 1, 1);
constinit const OpDef op_Optional = sequence_op("Optional", 15, 0, 1);
constinit const OpDef op_OptionalGetElement = sequence_op("OptionalGetElement", 15, 1, 1);
constinit const OpDef op_OptionalHasElement =
    sequence_op("OptionalHasElement", 15, 0, 1, 1, OpKind::opaque, Types::booleans);
constinit const OpDef op_SequenceAt = sequence_op("SequenceAt", 11, 2, 2);
constinit const OpDef op_SequenceConstruct = sequence_op("SequenceConstruct", 11, 0, -1);
constinit const OpDef op_SequenceEmpty = sequence_op("SequenceEmpty", 11, 0, 0);
constinit const OpDef op_SequenceErase = sequence_op("SequenceErase", 11, 1, 2);
constinit const OpDef op_SequenceInsert = sequence_op("SequenceInsert", 11, 2, 3);
constinit const OpDef op_SequenceLength = sequence_op("SequenceLength", 11, 1, 1, 1, OpKind::opaque, Types::i64);
constinit const OpDef op_SequenceMap = sequence_op("SequenceMap", 17, 1, -1, -1, OpKind::control);
constinit const OpDef op_SplitToSequence = sequence_op("SplitToSequence", 11, 1, 2);

}  // namespace gcg
