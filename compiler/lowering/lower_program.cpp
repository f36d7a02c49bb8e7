// Lowers a node by its OpDef::program to its own kernel.
#include <algorithm>

#include "compiler/kernel/drop_operands.h"
#include "compiler/lowering/group_lowering.h"
#include "compiler/ops/launches.h"
#include "compiler/ops/program_builder.h"
#include "compiler/support/error.h"

namespace gcg {

void GroupLowering::program() {
  const Node& n = anchor();
  std::vector<bool> is_read;
  is_read.reserve(n.outputs.size());
  for (ValueId v : n.outputs) is_read.push_back(v.valid() && f_.materialized[v]);
  // Outputs that are missing from the node's list are not wanted.
  is_read.resize(std::max(is_read.size(), static_cast<size_t>(std::max(n.op->max_outputs, 0))));
  const auto context = values_.context(n);
  ProgramBuilder builder(*context, is_read);
  group_.by_launches ? launches_of(*n.op)->write(builder) : n.op->program(builder);
  ProgramBuilder::Program written = builder.take();
  take_operands();
  std::vector<Operand>& operands = out_.kernel.operands;
  std::vector<int> outputs;
  for (size_t i = 0; i < is_read.size(); ++i) {
    outputs.push_back(static_cast<int>(operands.size()));
    if (!is_read[i]) continue;
    const Value& v = value(n.outputs[i]);
    GCG_CHECK(!v.channels_last && v.stored == DType::undefined, n.op->name,
              ": a program stores its results as they are");
    operands.push_back(Operand{storage_dtype(v.dtype), *v.shape, true});
    out_.storages.push_back(n.outputs[i]);
  }
  const int arrays = static_cast<int>(operands.size());
  operands.insert(operands.end(), written.arrays.begin(), written.arrays.end());
  if (written.replaced >= 0) written.kernel.replaced = input_operand(n.inputs[static_cast<size_t>(written.replaced)]);
  out_.kernel.body = std::move(written.kernel);
  renumber_operands(out_.kernel, [&](int o) {
    if (o >= ProgramBuilder::kArrays) return arrays + o - ProgramBuilder::kArrays;
    return o >= ProgramBuilder::kOutputs ? outputs[static_cast<size_t>(o - ProgramBuilder::kOutputs)] : o;
  });
}

int GroupLowering::input_operand(ValueId v) const {
  for (size_t i = 0; i < values_.operands().size(); ++i)
    if (values_.operands()[i].value == v) return static_cast<int>(i);
  return -1;
}

}  // namespace gcg
