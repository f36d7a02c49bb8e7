// What a user of fleets in C++ writes: prints why a file cannot be loaded.
#include <gart/fleet.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  const auto model = gart::fleet::load(std::string(argc > 1 ? argv[1] : ""));
  if (model) return 1;
  std::puts(model.error().message.c_str());
  return 0;
}
