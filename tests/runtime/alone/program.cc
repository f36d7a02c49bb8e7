// What a user of the C++ API writes: load, say what the model takes and gives.
#include <gart/gart.hpp>
#include <iostream>

int main(int, char** argv) {
  auto model = gart::load(argv[1]);
  if (!model.ok()) return std::cerr << model.error().message << '\n', 1;
  for (const auto& input : model->inputs()) std::cout << "in " << input.text() << '\n';
  for (const auto& output : model->outputs()) std::cout << "out " << output.text() << '\n';
}
