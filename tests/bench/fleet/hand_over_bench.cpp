// Overhead of a fleet per part that does nothing, in microseconds: the smallest of many runs. The graphs: a chain of
// 1000 on one device (also without measuring, in the first line), a chain alternating between two devices, and 1000
// independent parts on two. hand_over_starpu runs the same graphs except the first line's.
#include <algorithm>
#include <cstdio>

#include "tests/fleet_runtime/fake_fleet.h"

using namespace gart::fleet;
using namespace gart::fleet::test;

namespace {

constexpr uint32_t kParts = 1000;
constexpr int kRuns = 200;
constexpr int64_t kMostNs = 10'000'000'000;  // time limit of each graph, for a busy machine

double microseconds_per_part(const FakeModel& model, uint32_t devices, bool monitored = true) {
  const auto fleet = open_fake(model.assembly, std::make_shared<FakeWorld>(devices), {}, 4, monitored);
  FakeRequest request(fleet);
  double best = 1e30;
  const int64_t end = now_ns() + kMostNs;
  for (int i = 0; i < kRuns && (i == 0 || now_ns() < end); ++i) {
    const int64_t begin = now_ns();
    if (!request.start({i}).ok() || !request.wait().ok()) std::abort();
    best = std::min(best, double(now_ns() - begin) / 1000 / kParts);
  }
  return best;
}

FakeModel chain(uint32_t devices) {
  FakeModel model(1, devices);
  uint32_t value = 0;
  for (uint32_t i = 0; i < kParts; ++i) value = model.call({value}, i % devices);
  model.output(value);
  return model;
}

FakeModel wide(uint32_t devices) {
  FakeModel model(1, devices);
  for (uint32_t i = 0; i < kParts; ++i) model.output(model.call({0}, i % devices));
  return model;
}

}  // namespace

int main() {
  const double silent = microseconds_per_part(chain(1), 1, false);
  std::printf("measuring: %.3f us per part\n", microseconds_per_part(chain(1), 1) - silent);
  std::printf("chain on one device: %.3f us per part\n", microseconds_per_part(chain(1), 1));
  std::printf("chain by turns on two: %.3f us per part\n", microseconds_per_part(chain(2), 2));
  std::printf("beside each other on two: %.3f us per part\n", microseconds_per_part(wide(2), 2));
}
