#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <string_view>

#include "compiler/ops/expansion.h"
#include "compiler/ops/op_def.h"
#include "tools/gcc-graph/commands/commands.h"

namespace gcg::tools {
namespace {

std::string counted(int least, int most) {
  if (most < 0) return std::to_string(least) + " or more";
  return least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
}

/// How an operator gets to machine code.
const char* way_of(const OpDef& op) {
  if (expand_of(op) != nullptr) return "other operators";
  switch (op.kind) {
    case OpKind::pointwise:
      return "elementwise";
    case OpKind::movement:
      return "movement of elements";
    case OpKind::view:
      return "view";
    case OpKind::reduction:
      return "reduction";
    case OpKind::contraction:
      return "contraction";
    case OpKind::generator:
      return "generator";
    case OpKind::control:
      return "control flow";
    case OpKind::program:
      return "statements in order";
    case OpKind::opaque:
      return "other operators";
  }
  return "";
}

void print_operators(const std::string& domain, std::vector<const OpDef*> ops) {
  std::sort(ops.begin(), ops.end(), [](const OpDef* a, const OpDef* b) { return std::string_view(a->name) < b->name; });
  std::cout << "\n## " << domain
            << "\n\n| operator | from version | inputs | outputs | becomes |\n|---|---|---|---|---|\n";
  for (const OpDef* op : ops)
    std::cout << "| " << op->name << " | " << op->since << " | " << counted(op->min_inputs, op->max_inputs) << " | "
              << counted(op->min_outputs, op->max_outputs) << " | " << way_of(*op) << " |\n";
}

/// What the compiler knows of operators, as docs/operators.md.
void print_all() {
  std::map<std::string, std::vector<const OpDef*>> by_domain;
  for (const OpDef* op : all_ops())
    if (std::string_view(op->domain) != "gart") by_domain[*op->domain ? op->domain : "ai.onnx"].push_back(op);
  std::cout << "# Operators\n\nMade by `gcc-graph operators > docs/operators.md`; a test compares the two.\n\n"
               "Every operator here compiles for CPUs and for GPUs. \"From version\" is the oldest opset of its domain "
               "whose meaning is known;\n"
               "newer ones, up to opset 27 of ai.onnx, mean what they say there. Where a node asks for more than the "
               "compiler can do, it says\n"
               "so by the node's name. \"Other operators\": the node is written as several others, which then fuse as "
               "any do. Strings are\n"
               "supported only as names of classes that a model gives out.\n";
  for (const auto& [domain, ops] : by_domain) print_operators(domain, ops);
}

}  // namespace

void add_operators_command(CLI::App& app) {
  app.add_subcommand("operators", "Print a table of the operators that compile, as Markdown")->callback(print_all);
}

}  // namespace gcg::tools
