#include <CLI/CLI.hpp>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "gcc_graph/operators.h"
#include "tools/gcc-graph/commands/commands.h"

namespace gcg::tools {
namespace {

std::string counted(int least, int most) {
  if (most < 0) return std::to_string(least) + " or more";
  return least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
}

void print_domain(const std::string& domain, const std::vector<gcc_graph::OperatorInfo>& ops) {
  std::cout << "\n## " << domain
            << "\n\n| operator | from version | inputs | their types | outputs | their types | gradient | becomes |\n"
               "|---|---|---|---|---|---|---|---|\n";
  for (const gcc_graph::OperatorInfo& op : ops)
    if (op.domain == domain)
      std::cout << "| " << op.name << " | " << op.since << " | " << counted(op.min_inputs, op.max_inputs) << " | "
                << op.types << " | " << counted(op.min_outputs, op.max_outputs) << " | " << op.results << " | "
                << op.gradient << " | " << op.becomes << " |\n";
}

/// Prints the supported operators, as in docs/operators.md.
void print_all() {
  const std::vector<gcc_graph::OperatorInfo> ops = gcc_graph::known_operators();
  std::cout
      << "# Operators\n\nMade by `gcc-graph operators > docs/operators.md`; a test compares the two.\n\n"
         "Every operator here compiles for CPUs and for GPUs. \"From version\" is the oldest supported opset of its "
         "domain; newer\n"
         "opsets, up to opset 27 of ai.onnx, are supported, too. If a node uses something that is not supported, the "
         "error names the\n"
         "node. \"Other operators\": the node is replaced by several other operators, which fuse as usual. Strings "
         "are supported as\n"
         "class names in a model's outputs, and as inputs that encoders and comparisons with constants look up.\n\n"
         "Types are listed per input (or output); the last entry also applies to all that follow. \"As the first\" "
         "is the type of the\n"
         "first input. A node with an input of another type is refused by name. If an output has several types, an "
         "attribute or the\n"
         "inputs choose. Sets of types: *floats* are f32, f64, f16 and bf16; *integers* i8 to i64 and u8 to u64;\n"
         "*numbers* both; *bytes* i8 and u8; *quantized* i8 to i32, u8, u16, i4, u4, i2, u2, f8e4m3fn, f8e4m3fnuz, "
         "f8e5m2, f8e5m2fnuz and\n"
         "f4e2m1; *rounded* all of *quantized* except i32; *to quantize* floats and i32; *any* all of these and "
         "bool.\n\n"
         "Gradient: *yes* if `compile --train` differentiates it; *zero* if its results are whole numbers or constant "
         "almost everywhere;\n"
         "*as what it becomes* if the operators that replace it decide; *no* if a loss that depends on a parameter "
         "through it is refused.\n";
  std::set<std::string> domains;
  for (const gcc_graph::OperatorInfo& op : ops) domains.insert(op.domain);
  for (const std::string& domain : domains) print_domain(domain, ops);
}

}  // namespace

void add_operators_command(CLI::App& app) {
  app.add_subcommand("operators", "Print a Markdown table of the supported operators")->callback(print_all);
}

}  // namespace gcg::tools
