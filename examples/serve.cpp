// Many callers of one model: they share a program, and each thread has its own invocation. serve CLASSIFIER.gart
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "gart/gart.hpp"

namespace {

constexpr int kCallers = 4, kRequests = 50;

/// Answers requests until none are left; counts the answers that differ from the first one.
void work(const gart::Program& model, std::atomic<int>& left, std::atomic<int>& wrong) {
  auto invocation = model.new_invocation();
  auto image = gart::Tensor::allocate(gart::DType::f32, {1, 3, 32, 32});
  for (float& pixel : image->elements<float>()) pixel = 0.5f;
  if (!invocation || !invocation->set_input("image", *image).ok()) {
    ++wrong;
    return;
  }
  float first = -1;
  while (left.fetch_sub(1) > 0) {
    if (!invocation->run().ok()) {
      ++wrong;
      return;
    }
    const float answer = invocation->output("probabilities").elements<float>()[0];  // valid until the next run
    if (first < 0) first = answer;
    wrong += answer != first;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: serve CLASSIFIER.gart\n"), 1;
  auto model = gart::load(argv[1], {.threads = 1});  // callers run concurrently, so a run needs no threads of its own
  if (!model) return std::fprintf(stderr, "%s\n", model.error().message.c_str()), 1;
  std::atomic<int> left = kRequests, wrong = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < kCallers; ++i) callers.emplace_back([&] { work(*model, left, wrong); });
  for (std::thread& caller : callers) caller.join();
  std::printf("%d callers, %d requests, %d wrong\n", kCallers, kRequests, wrong.load());
  return wrong == 0 ? 0 : 1;
}
