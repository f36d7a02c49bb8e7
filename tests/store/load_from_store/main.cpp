// Loads a model by gart/store.hpp and prints its version, its digest and the number of its inputs. A third argument is
// the text of a trusted key.
#include <cstdio>
#include <string_view>

#include "gart/store.hpp"

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) return 2;
  const auto found = gart::store::find(argv[1], argv[2]);
  gart::LoadOptions options;
  const std::string_view key = argc == 4 ? argv[3] : "";
  if (argc == 4) options.trusted_keys = {&key, 1};
  const auto program = gart::store::load(argv[1], argv[2], options);
  if (!found || !program) {
    std::fprintf(stderr, "%s\n", (found ? program.error() : found.error()).message.c_str());
    return 1;
  }
  std::printf("%lld %s %zu\n", static_cast<long long>(found->version), found->digest.c_str(), program->inputs().size());
  return 0;
}
