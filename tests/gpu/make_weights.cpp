// Writes the data file of a model whose weights strip_weights.py removed.
//
//   make_weights RECIPE OUT
//
// Each line of the recipe is "BYTES SCALE SEED": that many bytes of floats, evenly spread over [-SCALE, SCALE).
#include <cstdint>
#include <fstream>
#include <iostream>
#include <vector>

namespace {

/// Sebastiano Vigna's splitmix64: one random 64-bit number per call.
uint64_t next(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "make_weights RECIPE OUT\n";
    return 2;
  }
  std::ifstream recipe(argv[1]);
  std::ofstream out(argv[2], std::ios::binary);
  uint64_t bytes = 0, seed = 0;
  double scale = 0;
  while (recipe >> bytes >> scale >> seed) {
    std::vector<float> values(bytes / sizeof(float));
    for (float& v : values) v = static_cast<float>((static_cast<double>(next(seed) >> 11) * 0x1p-52 - 1) * scale);
    out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(bytes));
  }
  if (!recipe.eof() || !out.flush()) {
    std::cerr << "make_weights: cannot make " << argv[2] << " from " << argv[1] << '\n';
    return 1;
  }
}
