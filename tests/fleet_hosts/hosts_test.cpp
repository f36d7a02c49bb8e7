// Models whose parts run on the ranks of a job: equal results, and faults of ranks, in a job of threads.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "gart/fleet.hpp"
#include "runtime/fleet_hosts/remote_model.h"
#include "tests/fleet_hosts/stand_in.h"
#include "tests/fleet_runtime/diamond.h"
#include "tests/runtime/models.h"

namespace gart::fleet::test {
namespace {

using gart::test::floats;
using gart::test::ramp;
using gart::test::view;

/// The diamond on three hosts: "left" is here, "right" on host b, and "far" on host c. Every group runs everywhere.
std::span<const uint8_t> three_hosts() {
  static const std::span<const uint8_t> file = [] {
    fb::AssemblyT assembly = diamond();
    auto far = std::make_unique<fb::FleetDeviceT>();
    far->name = "far";
    far->host = "c";
    assembly.devices[1]->host = "b";
    assembly.devices.push_back(std::move(far));
    for (auto& group : assembly.groups) group->support = {0, 1, 2};
    return artifact(packed(assembly));
  }();
  return file;
}

LoadOptions on(const Hosts& hosts, const std::string& places = "") {
  LoadOptions options;
  options.devices = {{"left", "cpu"}, {"right", "cpu"}, {"far", "cpu"}};
  options.threads = 1;
  options.hosts = &hosts;
  const std::map<char, std::string> names = {{'l', "left"}, {'r', "right"}, {'f', "far"}};
  for (size_t group = 0; group < places.size(); ++group)
    options.placement.push_back({"g" + std::to_string(group), names.at(places[group])});
  return options;
}

/// Fails the test if the program's result for n elements is wrong.
void expect_right(const Program& program, size_t n) {
  const std::vector<float> x = ramp(n, 1), y = ramp(n, -7);
  const NamedTensor inputs[] = {{"x", view(x)}, {"y", view(y)}};
  auto request = program.submit(inputs);
  ASSERT_TRUE(request) << request.error().message;
  const Result<void> done = request->wait();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(floats(request->output("out")), expected(x, y));
}

TEST(Hosts, AnyPlacementGivesTheSameBits) {
  for (const size_t eager : {size_t{0}, size_t{1} << 20}) {
    StandInJob job(3, eager);
    for (int number = 0; number < 81; ++number) {
      std::string places;
      for (int i = 0, rest = number; i < 4; ++i, rest /= 3) places += "lrf"[rest % 3];
      const auto program = load(three_hosts(), on(job.hosts(), places));
      ASSERT_TRUE(program) << program.error().message;
      for (const size_t n : {size_t{0}, size_t{3}, size_t{5000}}) expect_right(*program, n);
    }
    for (const Result<void>& end : job.end()) EXPECT_TRUE(end) << end.error().message;
  }
}

TEST(Hosts, RequestsFlowThroughTheRanks) {
  StandInJob job(3);
  const auto program = load(three_hosts(), on(job.hosts(), "rflr"));
  ASSERT_TRUE(program) << program.error().message;
  std::vector<std::vector<float>> xs;
  std::vector<Request> requests;
  for (int i = 0; i < 40; ++i) xs.push_back(ramp(size_t(1 + 300 * (i % 5)), float(i)));
  for (const std::vector<float>& x : xs) {
    const NamedTensor inputs[] = {{"x", view(x)}, {"y", view(x)}};
    requests.push_back(program->submit(inputs).value());
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_TRUE(requests[i].wait());
    EXPECT_EQ(floats(requests[i].output(0)), expected(xs[i], xs[i]));
  }
  EXPECT_EQ(program->devices()[1].device, "rank 1 cpu");
}

/// A value that crosses between two other ranks goes directly from one to the other. Rank 0 sends and receives only the
/// bytes of inputs and outputs.
TEST(Hosts, CrossingValuesDoNotPassRankZero) {
  StandInJob job(3);
  const auto program = load(three_hosts(), on(job.hosts(), "rfrf"));  // a and c on rank 1, b and the output on rank 2
  ASSERT_TRUE(program) << program.error().message;
  constexpr size_t kCount = 100'000, kBytes = kCount * sizeof(float);
  expect_right(*program, kCount);  // allocates
  const auto bytes = [&](int from, int to) { return double(job.network().bytes(from, to)) / kBytes; };
  const double before[] = {bytes(1, 0), bytes(2, 0), bytes(1, 2), bytes(2, 1)};
  expect_right(*program, kCount);
  EXPECT_NEAR(bytes(1, 0) - before[0], 0, 0.1);
  EXPECT_NEAR(bytes(2, 0) - before[1], 1, 0.1);  // the output
  EXPECT_NEAR(bytes(1, 2) - before[2], 2, 0.1);  // a and c
  EXPECT_NEAR(bytes(2, 1) - before[3], 0, 0.1);
}

TEST(Hosts, RanksTakeTheirOwnCopyOfTheFile) {
  const std::string path =
      (std::filesystem::path(::testing::TempDir()) / (std::to_string(getpid()) + "hosts.gart")).string();
  const std::span<const uint8_t> file = three_hosts();
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(file.data()), std::ssize(file));
  StandInJob job(3);
  {
    const auto program = load(path, on(job.hosts(), "lrfl"));
    ASSERT_TRUE(program) << program.error().message;
    expect_right(*program, 10);
    EXPECT_LT(job.network().bytes(0, 1), std::ssize(file));
  }
  const auto sent = load(file, on(job.hosts(), "lrfl"));
  ASSERT_TRUE(sent) << sent.error().message;
  expect_right(*sent, 10);
  EXPECT_GT(job.network().bytes(0, 1), std::ssize(file));
  std::filesystem::remove(path);
}

TEST(Hosts, GroupsOfALostRankMove) {
  StandInJob job(3, 1024, 400);
  const auto program = load(three_hosts(), on(job.hosts(), "lrfl"));
  ASSERT_TRUE(program) << program.error().message;
  expect_right(*program, 10);
  job.network().silence(2);
  Request request = program->new_request().value();
  const std::vector<float> x = ramp(10);
  ASSERT_TRUE(request.set_input("x", view(x)) && request.set_input("y", view(x)));
  const auto began = std::chrono::steady_clock::now();
  const Result<void> lost = request.run();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2));
  ASSERT_FALSE(lost);
  EXPECT_NE(lost.error().message.find("rank 2 of the job is lost: it has not answered for 400 ms"), std::string::npos)
      << lost.error().message;
  for (int i = 0; i < 3; ++i) expect_right(*program, 10);
  EXPECT_NE(program->placement()[2].device, "far");
}

/// A rank falls silent after some number of messages; the test tries many numbers. Each request must end with the right
/// values or with an error message.
TEST(Hosts, ARankMayFallSilentAtAnyMessage) {
  int failed = 0, good = 0;
  for (int64_t count = 3; count < 43; count += 2) {
    StandInJob job(3, count % 4 == 1 ? 0 : 4096, 250);
    job.network().silence(1 + int(count / 2 % 2), count);
    const auto program = load(three_hosts(), on(job.hosts(), "rfrf"));
    if (!program) {
      EXPECT_NE(program.error().message.find("is lost"), std::string::npos) << program.error().message;
      ++failed;
      continue;
    }
    const std::vector<float> x = ramp(3000);
    for (int i = 0; i < 3; ++i) {
      const NamedTensor inputs[] = {{"x", view(x)}, {"y", view(x)}};
      auto request = program->submit(inputs);
      const Result<void> done = request ? request->wait() : Result<void>(request.error());
      ++(done ? good : failed);
      if (done) {
        EXPECT_EQ(floats(request->output(0)), expected(x, x));
      } else {
        EXPECT_NE(done.error().message.find("lost"), std::string::npos) << done.error().message;
      }
    }
  }
  EXPECT_GT(failed, 10);
  EXPECT_GT(good, 10);
}

TEST(Hosts, DevicesBelongToRanks) {
  const auto ranks = [](const std::vector<std::string>& hosts, const std::vector<std::string>& machines) {
    std::vector<Device> devices(hosts.size());
    for (size_t i = 0; i < hosts.size(); ++i) devices[i].host = hosts[i];
    return ranks_of(devices, machines);
  };
  EXPECT_EQ(ranks({"", "b", "c", "b"}, {"m", "m", "m"}), (std::vector<int>{0, 1, 2, 1}));
  EXPECT_EQ(ranks({"a", "b"}, {"m", "m"}), (std::vector<int>{0, 1}));
  EXPECT_EQ(ranks({"a", "b"}, {"b", "a"}), (std::vector<int>{1, 0}));
  EXPECT_EQ(ranks({"", "b", "c"}, {"m", "c", "b"}), (std::vector<int>{0, 2, 1}));
  EXPECT_EQ(ranks({"b", "c"}, {"m", "b", "m"}), (std::vector<int>{1, 0}));
  EXPECT_EQ(ranks({"", ""}, {"m"}), (std::vector<int>{0, 0}));
}

TEST(Hosts, Refusals) {
  StandInJob job(2);
  EXPECT_EQ(load(three_hosts(), on(job.hosts())).error().message,
            "the file's devices are on 3 hosts (this host, 'b', 'c'), but the job has 2 processes");
  EXPECT_EQ(job.hosts().serve().error().message, "rank 0 does not serve: it loads the model");
  EXPECT_EQ(Hosts::over(job.network().transport(1), {50}).error().message,
            "silence_ms is 50, but must be at least 100");
  StandInJob other(3);
  LoadOptions options = on(other.hosts(), "lrfl");
  options.devices[1].device = "cuda:7";
  const std::string words = load(three_hosts(), options).error().message;
  EXPECT_NE(words.find("device 'right' on rank 1 (machine1): "), std::string::npos) << words;
}

}  // namespace
}  // namespace gart::fleet::test
