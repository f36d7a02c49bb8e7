// Runs one artifact many times on several threads, and compares each result bit by bit with the thread's first one.
//
//   gpu_soak ARTIFACT DEVICE THREADS RUNS
#include <atomic>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gart/gart.hpp"

namespace {

/// Zeros for integers (valid indices everywhere), a ramp for floats; open extents are 1.
gart::Tensor make_input(const gart::TensorInfo& info) {
  std::vector<int64_t> extents;
  for (const std::string& dim : info.dims) {
    const bool number = !dim.empty() && dim.find_first_not_of("0123456789") == dim.npos;
    extents.push_back(number ? std::stoll(dim) : 1);
  }
  const gart::Shape shape{std::span<const int64_t>(extents)};
  auto tensor = gart::Tensor::allocate(info.dtype, shape, info.name);
  if (!tensor) throw std::runtime_error(tensor.error().message);
  std::memset(tensor->data(), 0, static_cast<size_t>(tensor->bytes()));
  if (info.dtype == gart::DType::f32) {
    auto* values = static_cast<float*>(tensor->data());
    for (int64_t i = 0; i < shape.elements(); ++i) values[i] = static_cast<float>(i % 97) * 0.02F - 1;
  }
  return std::move(*tensor);
}

class Soak {
 public:
  Soak(gart::Program program, int64_t runs) : program_(std::move(program)), left_(runs) {
    for (const gart::TensorInfo& info : program_.inputs()) inputs_.push_back(make_input(info));
  }

  void work() {
    std::vector<gart::Tensor> first;
    while (left_.fetch_sub(1) > 0) {
      auto outputs = program_.run(inputs_);
      if (!outputs) return stop(outputs.error().message);
      if (first.empty())
        first = std::move(*outputs);
      else if (!same(first, *outputs))
        return stop("a run gave another result");
      done_.fetch_add(1);
    }
  }

  /// The process's exit code.
  int report() const {
    std::cout << done_ << " runs on " << program_.device() << ", " << (problem_.empty() ? "all equal" : problem_)
              << '\n';
    return problem_.empty() ? 0 : 1;
  }

 private:
  static bool same(const std::vector<gart::Tensor>& a, const std::vector<gart::Tensor>& b) {
    for (size_t i = 0; i < a.size(); ++i)
      if (a[i].bytes() != b[i].bytes() || std::memcmp(a[i].data(), b[i].data(), static_cast<size_t>(a[i].bytes())) != 0)
        return false;
    return true;
  }

  void stop(const std::string& problem) {
    left_ = 0;
    const std::lock_guard lock(mutex_);
    if (problem_.empty()) problem_ = problem;
  }

  gart::Program program_;
  std::vector<gart::Tensor> inputs_;
  std::atomic<int64_t> left_, done_ = 0;
  std::mutex mutex_;
  std::string problem_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "gpu_soak ARTIFACT DEVICE THREADS RUNS\n";
    return 2;
  }
  gart::LoadOptions options;
  options.device = argv[2];
  auto program = gart::load(argv[1], options);
  if (!program) {
    std::cerr << "gpu_soak: " << program.error().message << '\n';
    return 1;
  }
  Soak soak(std::move(*program), std::stoll(argv[4]));
  std::vector<std::thread> threads;
  for (int i = 0; i < std::stoi(argv[3]); ++i) threads.emplace_back([&] { soak.work(); });
  for (std::thread& t : threads) t.join();
  return soak.report();
}
