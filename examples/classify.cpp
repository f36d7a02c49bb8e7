// Classifies a batch of images and prints the best class of each: classify CLASSIFIER.gart
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "gart/gart.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: classify CLASSIFIER.gart\n"), 1;
  auto model = gart::load(argv[1]);
  if (!model) return std::fprintf(stderr, "%s\n", model.error().message.c_str()), 1;

  // The batch of this model is symbolic, so a run takes any number of images.
  auto images = gart::Tensor::allocate(gart::DType::f32, {2, 3, 32, 32});
  std::span<float> pixels = images->elements<float>();
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = std::sin(static_cast<float>(i));

  const gart::TensorView inputs[] = {*images};
  auto outputs = model->run(inputs);
  if (!outputs) return std::fprintf(stderr, "%s\n", outputs.error().message.c_str()), 1;
  const gart::Tensor& probabilities = outputs->at(0);
  const auto classes = static_cast<size_t>(probabilities.shape()[1]);
  for (size_t image = 0; image < 2; ++image) {
    const auto row = probabilities.elements<float>().subspan(image * classes, classes);
    const auto best = std::max_element(row.begin(), row.end());
    std::printf("image %zu: class %zd, probability %.3f\n", image, best - row.begin(), static_cast<double>(*best));
  }
}
