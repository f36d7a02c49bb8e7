// Imports a model, exports its graph, and imports the exported file.
//
//   reexport_model MODEL.onnx OUT.onnx [MOST_BYTES]   MOST_BYTES: the weights of a larger model go to a file
//
// Prints "the same graph", or the first line in which the two graphs differ. Several nodes of a graph may come from one
// node of the model and have its name, but names in a model are unique. So names of nodes are compared separately, and
// "the same graph but for names of nodes" also counts as equal. The exit code is 2 for a model that cannot be imported,
// and 3 for one that cannot be exported.
#include <iostream>
#include <regex>
#include <sstream>

#include "compiler/export/export_onnx.h"
#include "compiler/gir/gir.h"
#include "compiler/import/import.h"

namespace {

using namespace gcg;

std::string without_node_names(const std::string& text) {
  static const std::regex name(" @\"[^\"]*\"\n");
  return std::regex_replace(text, name, "\n");
}

int compare(const std::string& first, const std::string& second) {
  if (first == second) {
    std::cout << "the same graph\n";
    return 0;
  }
  std::istringstream a(without_node_names(first)), b(without_node_names(second));
  std::string one, other;
  while (true) {
    const bool more = static_cast<bool>(std::getline(a, one)), others = static_cast<bool>(std::getline(b, other));
    if (!more && !others) break;
    if (more && others && one == other) continue;
    std::cout << "other: " << (more ? one : "(the end)") << "\nnow:   " << (others ? other : "(the end)") << "\n";
    return 0;
  }
  std::cout << "the same graph but for names of nodes\n";
  return 0;
}

int run(const std::vector<std::string>& arguments) {
  const ImportedModel model = import_onnx(arguments.at(0));
  ExportOptions options;
  options.metadata = model.metadata;
  if (arguments.size() > 2) options.most_bytes = std::stoll(arguments[2]);
  try {
    export_onnx(model.graph, arguments.at(1), options);
  } catch (const CompileError& error) {
    std::cerr << error.what() << "\n";
    return 3;
  }
  return compare(print_graph(model.graph), print_graph(import_onnx(arguments[1]).graph));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const UnsupportedModel& error) {
    std::cerr << error.what() << "\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
