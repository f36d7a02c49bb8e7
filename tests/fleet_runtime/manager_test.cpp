// Programs that share the queues and the memory of their devices.
#include "gart/manager.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <thread>

#include "runtime/errors.h"
#include "tests/fleet_runtime/diamond.h"
#include "tests/fleet_runtime/fake_fleet.h"

namespace gart::fleet::test {
namespace {

constexpr int64_t kMillisecond = 1'000'000;  // in nanoseconds

Manager open_manager(std::vector<MemoryLimit> memory = {}) {
  Result<Manager> manager = Manager::open(memory);
  EXPECT_TRUE(manager);
  return *manager;
}

/// One group that takes 1 ms on each device, according to the file, placed on device 0.
FakeModel one_group(uint32_t devices, uint64_t weight_bytes = 0) {
  FakeModel model(1, devices);
  model.output(model.call({0}));
  model.assembly.groups[0].predicted.assign(devices, 1000);
  model.assembly.groups[0].weight_bytes = weight_bytes;
  return model;
}

std::shared_ptr<detail::FleetState> open(const FakeModel& model, const std::shared_ptr<FakeWorld>& world,
                                         const Manager* manager, bool dynamic = false) {
  return open_fake(model.assembly, world, {}, 16, true, dynamic, manager != nullptr ? manager->queues() : nullptr);
}

/// Starts requests of two programs in turn, and says whether two calls ran at once.
bool overlap(const Manager* manager) {
  const auto world = std::make_shared<FakeWorld>(1);
  world->sleep_ns[0] = 20 * kMillisecond;
  const auto a = open(one_group(1), world, manager), b = open(one_group(1), world, manager);
  std::vector<std::unique_ptr<FakeRequest>> requests;
  for (int i = 0; i < 8; ++i) {
    requests.push_back(std::make_unique<FakeRequest>(i % 2 == 0 ? a : b));
    EXPECT_TRUE(requests.back()->start({i}));
  }
  for (const auto& request : requests) {
    EXPECT_TRUE(request->wait());
    EXPECT_EQ(request->output(0), evaluated(a->assembly, request->values).back());
  }
  return world->overlaps[0];
}

TEST(DeviceManager, ADeviceWorksOnOnePartOfAllItsPrograms) {
  EXPECT_TRUE(overlap(nullptr)) << "without a manager, each program has a queue of its own";
  const Manager manager = open_manager();
  EXPECT_FALSE(overlap(&manager));
}

TEST(DeviceManager, TheOldestRequestOfAllProgramsIsNext) {
  const Manager manager = open_manager();
  const auto world = std::make_shared<FakeWorld>(1);
  world->sleep_ns[0] = 50 * kMillisecond;
  const auto a = open(one_group(1), world, &manager), b = open(one_group(1), world, &manager);
  FakeRequest first(a), second(b), third(a);
  ASSERT_TRUE(first.start({1}));
  ASSERT_TRUE(second.start({2}));
  ASSERT_TRUE(third.start({3}));
  ASSERT_TRUE(second.wait());
  EXPECT_TRUE(first.request.ready());
  EXPECT_EQ(world->calls[0] + int64_t(third.request.ready()), world->calls[0]) << "the third request takes 50 ms more";
  ASSERT_TRUE(third.wait());
}

TEST(DeviceManager, DynamicPlacementSeesTheWorkOfOtherPrograms) {
  const Manager manager = open_manager();
  const auto world = std::make_shared<FakeWorld>(2);
  world->sleep_ns[0] = 100 * kMillisecond;
  const auto fixed = open(one_group(2), world, &manager);
  const auto chooses = open(one_group(2), world, &manager, true);
  FakeRequest busy(fixed), other(chooses);
  ASSERT_TRUE(busy.start({1}));
  ASSERT_TRUE(other.start({2}));
  ASSERT_TRUE(other.wait());
  EXPECT_EQ(world->calls[1], 1) << "device 0 is busy";
  ASSERT_TRUE(busy.wait());
  ASSERT_TRUE(other.start({3}));  // both are idle, and equal, according to the file
  ASSERT_TRUE(other.wait());
  EXPECT_EQ(world->calls[0], 2);
}

TEST(DeviceManager, DynamicPlacementSeesTheValuesOfOtherPrograms) {
  const Manager manager = open_manager({{"fake:0", 20}});
  const auto world = std::make_shared<FakeWorld>(2);
  world->sleep_ns[0] = 100 * kMillisecond;
  FakeModel quick = one_group(2);
  quick.assembly.groups[0].predicted = {1, 1'000'000};
  const auto fixed = open(one_group(2), world, &manager);
  const auto chooses = open(quick, world, &manager, true);
  FakeRequest busy(fixed), other(chooses);
  ASSERT_TRUE(busy.start({1}));   // its output takes 8 of the 20 bytes
  ASSERT_TRUE(other.start({2}));  // needs 16 bytes
  ASSERT_TRUE(other.wait());
  EXPECT_EQ(world->calls[1], 1) << "device 0 has no room, although it would be done first";
  ASSERT_TRUE(busy.wait());
  ASSERT_TRUE(other.start({3}));
  ASSERT_TRUE(other.wait());
  EXPECT_EQ(world->calls[0], 2);
}

/// Device 0 is busy for 500 ms, although the file says 1 ms. The second group of a request was to run there when the
/// request began, but device 1 is idle by the time the first group has ended.
TEST(DeviceManager, AGroupGoesWhereADeviceIsIdleWhenItMayBegin) {
  const Manager manager = open_manager();
  const auto world = std::make_shared<FakeWorld>(2);
  world->sleep_ns[0] = 500 * kMillisecond;
  world->sleep_ns[1] = 20 * kMillisecond;
  FakeModel chain(1, 2);
  chain.output(chain.call({chain.call({0})}));
  chain.assembly.groups[0].predicted = {1'000'000, 1};
  chain.assembly.groups[1].predicted = {1, 100};
  FakeModel second = one_group(2);
  second.assembly.groups[0].device = 1;
  second.assembly.groups[0].predicted = {5000, 5000};
  const auto on_0 = open(one_group(2), world, &manager), on_1 = open(second, world, &manager);
  const auto chooses = open(chain, world, &manager, true);
  FakeRequest first(on_0), other(on_1), request(chooses);
  ASSERT_TRUE(first.start({1}));
  ASSERT_TRUE(other.start({2}));
  ASSERT_TRUE(request.start({3}));
  ASSERT_TRUE(request.wait());
  EXPECT_EQ(request.output(0), evaluated(chain.assembly, {3}).back());
  EXPECT_EQ(world->calls[1], 3);
  EXPECT_EQ(chooses->places(), (std::vector<uint32_t>{1, 1}));
  ASSERT_TRUE(first.wait());
  EXPECT_EQ(world->calls[0], 1);
  const std::vector<DeviceLoad> loads = manager.devices();
  for (const DeviceLoad& load : loads) EXPECT_EQ(load.groups, 0) << load.device;
}

TEST(DeviceManager, WeightsOfAllProgramsMustFit) {
  const Manager manager = open_manager({{"fake:0", 1000}});
  const auto world = std::make_shared<FakeWorld>(2);
  auto first = open(one_group(2, 600), world, &manager);
  try {
    open(one_group(2, 401), world, &manager);
    FAIL() << "1001 bytes do not fit";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.error.code, ErrorCode::out_of_memory);
    EXPECT_EQ(failure.error.message,
              "device 'fake:0' has 1000 bytes, but the weights of 'fake:0' take 401 bytes, and those of other programs "
              "take 600");
  }
  const auto elsewhere = open(one_group(2, 401), world, &manager, true);
  FakeRequest request(elsewhere);
  ASSERT_TRUE(request.start({1}));
  ASSERT_TRUE(request.wait());
  EXPECT_EQ(world->calls[1], 1) << "only device 1 has room for the weights";
  first = nullptr;
  EXPECT_NE(open(one_group(2, 1000), world, &manager), nullptr);
}

TEST(DeviceManager, DevicesSayWhatTheyDo) {
  const Manager manager = open_manager({{"fake:0", 1000}});
  EXPECT_TRUE(manager.devices().empty());
  const auto world = std::make_shared<FakeWorld>(2);
  world->sleep_ns[0] = 100 * kMillisecond;
  auto a = open(one_group(2, 600), world, &manager), b = open(one_group(2, 100), world, &manager);
  FakeRequest first(a), second(b);
  ASSERT_TRUE(first.start({1}));
  ASSERT_TRUE(second.start({2}));
  std::vector<DeviceLoad> loads = manager.devices();
  ASSERT_EQ(loads.size(), 1U) << "no group is placed on device 1";
  EXPECT_EQ(loads[0].device, "fake:0");
  EXPECT_TRUE(loads[0].busy);
  EXPECT_EQ(loads[0].programs, 2);
  EXPECT_EQ(loads[0].groups, 2);
  EXPECT_EQ(loads[0].work_us, 2000);
  EXPECT_EQ(loads[0].memory, 1000);
  EXPECT_EQ(loads[0].weight_bytes, 700);
  EXPECT_EQ(loads[0].value_bytes, 16);
  ASSERT_TRUE(first.wait());
  ASSERT_TRUE(second.wait());
  first = FakeRequest(b);
  a = nullptr;
  for (loads = manager.devices(); loads[0].busy; loads = manager.devices()) std::this_thread::yield();
  EXPECT_EQ(loads[0].programs, 1);
  EXPECT_EQ(loads[0].groups, 0);
  EXPECT_EQ(loads[0].work_us, 0);
  EXPECT_EQ(loads[0].weight_bytes, 100);
  EXPECT_EQ(loads[0].value_bytes, 0);
}

/// Programs come and go while others run; devices of one program push to those of another one's queues.
TEST(DeviceManager, ProgramsComeAndGo) {
  constexpr uint32_t kDevices = 3;
  const Manager manager = open_manager();
  const auto world = std::make_shared<FakeWorld>(kDevices);
  const auto use = [&](uint32_t seed) {
    std::mt19937 random(seed);
    for (int round = 0; round < 100; ++round) {
      FakeModel model(1, kDevices);
      for (uint32_t i = 0; i < 8; ++i)
        model.call({uint32_t(random() % model.assembly.values.size())}, uint32_t(random() % kDevices));
      model.output(8);
      const auto fleet = open(model, world, &manager, round % 2 == 0);
      std::vector<std::unique_ptr<FakeRequest>> requests;
      for (int i = 0; i < 3; ++i) {
        requests.push_back(std::make_unique<FakeRequest>(fleet));
        ASSERT_TRUE(requests.back()->start({i}));
      }
      for (const auto& request : requests) {
        ASSERT_TRUE(request->wait());
        ASSERT_EQ(request->output(0), evaluated(model.assembly, request->values)[8]);
      }
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t seed = 0; seed < 4; ++seed) threads.emplace_back(use, seed);
  for (std::thread& thread : threads) thread.join();
  for (const auto& overlaps : world->overlaps) EXPECT_FALSE(overlaps);
  for (const DeviceLoad& load : manager.devices()) EXPECT_EQ(load.programs + load.groups + load.value_bytes, 0);
}

TEST(DeviceManager, FilesShareTheCoresOfThisMachine) {
  const Manager manager = open_manager();
  LoadOptions options;
  options.manager = &manager;
  options.devices = {{"left", "cpu:0"}, {"right", "cpu:0"}};
  const std::span<const uint8_t> file = artifact(packed(diamond()));
  const Result<Program> a = load(file, options), b = load(file, options);
  ASSERT_TRUE(a) << a.error().message;
  ASSERT_TRUE(b) << b.error().message;
  std::vector<float> x = {1, 2, 3}, y = {4, 5, 6};
  for (const Program& program : {*a, *b}) {
    Result<Request> request = program.new_request();
    ASSERT_TRUE(request);
    ASSERT_TRUE(request->set_input(0, TensorView{x.data(), DType::f32, Shape{3}, "cpu"}));
    ASSERT_TRUE(request->set_input(1, TensorView{y.data(), DType::f32, Shape{3}, "cpu"}));
    ASSERT_TRUE(request->run());
    const std::span<const float> out = request->output(0).elements<float>();
    EXPECT_EQ(std::vector<float>(out.begin(), out.end()), expected(x, y));
  }
  const std::vector<DeviceLoad> loads = manager.devices();
  ASSERT_EQ(loads.size(), 1U) << "'left' and 'right' of both files are one device here";
  EXPECT_EQ(loads[0].device, "cpu:0");
  EXPECT_EQ(loads[0].programs, 4) << "a program counts once for each of its devices";
}

TEST(DeviceManager, ImpossibleLimitsAreRefused) {
  const std::vector<MemoryLimit> none = {{"cpu:0", 0}}, twice = {{"cpu:0", 1}, {"cpu:0", 2}};
  EXPECT_EQ(Manager::open(none).error().message, "device 'cpu:0' is given 0 bytes; at least 1 is needed");
  EXPECT_EQ(Manager::open(twice).error().message, "device 'cpu:0' is given memory twice");
}

TEST(DeviceManager, AChildOfForkNeedsAnotherOne) {
  const Manager manager = open_manager();
  const auto world = std::make_shared<FakeWorld>(1);
  const auto before = open(one_group(1), world, &manager);
  const pid_t child = fork();
  if (child == 0) {
    try {
      open(one_group(1), world, &manager);
    } catch (const Failure& failure) {
      _exit(failure.error.code == ErrorCode::invalid_argument ? 7 : 8);
    }
    _exit(9);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace gart::fleet::test
