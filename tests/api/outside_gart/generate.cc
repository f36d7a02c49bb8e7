// What a user of generation in C++ writes: prints why a file cannot generate.
#include <cstdio>
#include <gart/generate.hpp>

int main(int argc, char** argv) {
  const auto model = gart::load(std::string(argc > 1 ? argv[1] : ""));
  if (!model) return 1;
  const auto generator = gart::Generator::create(*model, *model->new_session());
  if (generator) return 1;
  std::puts(generator.error().message.c_str());
  return 0;
}
