// Requests that choose their devices when they begin, and those of groups when the groups may begin.
#include <gtest/gtest.h>

#include <random>

#include "runtime/fleet/candidate.h"
#include "tests/fleet_runtime/fake_fleet.h"

namespace gart::fleet::test {
namespace {

TEST(Candidate, TheEstimatedEndCountsAmongThoseThatAreNotFull) {
  Candidate fast{false, 10, 0, 5}, slow{false, 0, 0, 12};
  EXPECT_TRUE(is_better(slow, fast));  // 12 against 15
  slow.arrival = 4;
  EXPECT_TRUE(is_better(fast, slow));
  fast.full = true;
  EXPECT_TRUE(is_better(slow, fast));
  slow.full = true;  // both are
  EXPECT_TRUE(is_better(fast, slow));
  slow.arrival = 3;  // equal
  EXPECT_FALSE(is_better(fast, slow));
  EXPECT_FALSE(is_better(slow, fast));
  fast.lacks = true;
  EXPECT_TRUE(is_better(slow, fast));
  slow.full = true;  // a full device is still better than one that lacks memory
  EXPECT_TRUE(is_better(slow, fast));
}

/// One group that takes 100 us on each device, according to the file.
FakeModel one_group(uint32_t devices) {
  FakeModel model(1, devices);
  model.output(model.call({0}));
  model.assembly.groups[0].predicted.assign(devices, 100);
  return model;
}

std::shared_ptr<detail::FleetState> open_dynamic(const FakeModel& model, std::shared_ptr<FakeWorld> world,
                                                 int requests) {
  return open_fake(model.assembly, std::move(world), {}, requests, true, true);
}

/// Starts this many requests one after the other, and waits for all.
void run(const std::shared_ptr<detail::FleetState>& fleet, int count) {
  std::vector<std::unique_ptr<FakeRequest>> requests;
  for (int i = 0; i < count; ++i) {
    requests.push_back(std::make_unique<FakeRequest>(fleet));
    ASSERT_TRUE(requests.back()->start({i}).ok());
  }
  for (auto& request : requests) {
    ASSERT_TRUE(request->wait().ok());
    EXPECT_EQ(request->output(0), evaluated(fleet->assembly, request->values).back());
  }
}

TEST(Dynamic, RequestsSpreadOverEqualDevices) {
  const auto world = std::make_shared<FakeWorld>(2);
  for (auto& ns : world->sleep_ns) ns = 20'000'000;
  run(open_dynamic(one_group(2), world, 8), 8);
  EXPECT_EQ(world->calls[0], 4);
  EXPECT_EQ(world->calls[1], 4);
}

TEST(Dynamic, ADeviceThatIsFullIsNotGivenMore) {
  FakeModel model = one_group(2);
  model.assembly.groups[0].predicted = {1, 1000};  // the first device would get all requests if its queue had no limit
  const auto world = std::make_shared<FakeWorld>(2);
  world->sleep_ns[0] = 30'000'000;
  run(open_dynamic(model, world, 6), 6);
  EXPECT_EQ(world->calls[0], 3);
  EXPECT_EQ(world->calls[1], 3);
}

TEST(Dynamic, WhatWasMeasuredCounts) {
  const auto world = std::make_shared<FakeWorld>(2);
  world->sleep_ns[0] = 8'000'000;  // the file says that both are equally fast
  world->sleep_ns[1] = 1'000'000;
  const auto fleet = open_dynamic(one_group(2), world, 8);
  run(fleet, 64);  // after these runs, the fleet reads the measured times
  world->calls[0] = world->calls[1] = 0;
  for (int i = 0; i < 16; ++i) run(fleet, 1);
  EXPECT_EQ(world->calls[0], 0);
  EXPECT_EQ(world->calls[1], 16);
}

TEST(Dynamic, WithoutAQueueAChainStaysWhereItIs) {
  FakeModel model(1, 3);
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = model.call({value});
  model.output(value);
  for (Group& group : model.assembly.groups) group.predicted = {10, 10, 10};
  const auto world = std::make_shared<FakeWorld>(3);
  const auto fleet = open_dynamic(model, world, 6);
  run(fleet, 1);
  EXPECT_EQ(world->calls[0], 4);  // another device would first have to get the call's input
}

TEST(Dynamic, ALostDeviceIsNotChosen) {
  const auto world = std::make_shared<FakeWorld>(2);
  const auto fleet = open_dynamic(one_group(2), world, 4);
  FakeRequest request(fleet);
  world->lost[0] = true;
  ASSERT_TRUE(request.start({1}).ok());
  EXPECT_EQ(request.wait().error().code, ErrorCode::device_lost);
  for (int i = 0; i < 5; ++i) run(fleet, 1);
  EXPECT_EQ(world->calls[1], 5);
  world->lost[1] = true;
  ASSERT_TRUE(request.start({1}).ok());
  EXPECT_EQ(request.wait().error().code, ErrorCode::device_lost);
  EXPECT_EQ(request.start({1}).error().message,
            "device 'fake:1' is lost, and no other device supports its group 'g0' and has room for it: the device is "
            "lost: a test took it");
}

TEST(Dynamic, ADeviceWithoutRoomForTheWeightsIsNoChoice) {
  FakeModel model(1, 2);
  model.output(model.call({model.call({0}, 0)}, 1));
  for (Group& group : model.assembly.groups) group.weight_bytes = 20, group.peak_bytes = 2, group.predicted = {1, 1};
  model.assembly.devices[1].memory = 38;  // one group and its values, but not the weights of the other one, too
  const auto world = std::make_shared<FakeWorld>(2);
  for (auto& ns : world->sleep_ns) ns = 10'000'000;
  run(open_dynamic(model, world, 4), 8);
  EXPECT_GE(world->calls[0], 8);
  EXPECT_GT(world->calls[1], 0);
  EXPECT_LE(world->calls[1], 8);
}

constexpr uint64_t kOfOneGroup = 16;  // bytes of the group's input and output

/// One group that takes 1 us on device 1, which has this much memory, and 1000 us on device 0.
FakeModel fast_device(uint64_t memory) {
  FakeModel model = one_group(2);
  model.assembly.groups[0].predicted = {1000, 1};
  model.assembly.devices[1].memory = memory;
  return model;
}

TEST(Dynamic, ADeviceTooSmallForTheValuesIsNotChosen) {
  for (const uint64_t memory : {kOfOneGroup, kOfOneGroup - 1}) {
    const auto world = std::make_shared<FakeWorld>(2);
    const auto fleet = open_dynamic(fast_device(memory), world, 2);
    for (int i = 0; i < 4; ++i) run(fleet, 1);
    EXPECT_EQ(world->calls[1], memory == kOfOneGroup ? 4 : 0);
  }
}

TEST(Dynamic, ValuesThatStayUntilTheEndCount) {
  FakeModel model(1, 2);
  model.output(model.call({model.call({model.call({0})})}));
  for (Group& group : model.assembly.groups) group.predicted = {1000, 1};
  model.assembly.devices[1].memory = 24;  // room for the input and the results of two groups
  const auto world = std::make_shared<FakeWorld>(2);
  run(open_dynamic(model, world, 1), 1);
  EXPECT_EQ(world->calls[1], 2);
  EXPECT_EQ(world->calls[0], 1);
}

TEST(Dynamic, ValuesOfOtherRequestsTakeRoom) {
  const auto world = std::make_shared<FakeWorld>(2);
  for (auto& ns : world->sleep_ns) ns = 20'000'000;
  run(open_dynamic(fast_device(kOfOneGroup), world, 8), 2);
  EXPECT_EQ(world->calls[0], 1);
  EXPECT_EQ(world->calls[1], 1);
}

TEST(Dynamic, WhereNothingHasRoomTheBytesAreTold) {
  FakeModel model = fast_device(kOfOneGroup - 1);
  model.assembly.devices[0].memory = 1;
  const auto fleet = open_dynamic(model, std::make_shared<FakeWorld>(2), 2);
  FakeRequest request(fleet);
  const Result<void> started = request.start({1});
  EXPECT_EQ(started.error().code, ErrorCode::out_of_memory);
  EXPECT_EQ(started.error().message,
            "group 'g0' fits on no device with these inputs: 'fake:0' has 1 bytes, 16 are needed, 'fake:1' has 15 "
            "bytes, 16 are needed");
}

/// A call on device 0 makes a vector; a call that is fast on device 1 reads it. Device 1 has 100 bytes.
FakeModel reader_of_a_vector() {
  FakeModel model(1, 2);
  model.output(model.call({model.vector_call({0})}));
  model.assembly.groups[0].predicted = {1, 1000};
  model.assembly.groups[1].predicted = {1000, 1};
  model.assembly.devices[1].memory = 100;
  return model;
}

TEST(Dynamic, TheSizeThatAValueTurnsOutToHaveCounts) {
  const auto world = std::make_shared<FakeWorld>(2);
  const auto fleet = open_dynamic(reader_of_a_vector(), world, 2);
  for (const int64_t extent : {5, 1000, 5}) {
    world->extent = extent;
    world->calls[1] = 0;
    for (int i = 0; i < 3; ++i) run(fleet, 1);  // one after the other: no device has more than its share
    EXPECT_EQ(world->calls[1], extent == 5 ? 3 : 0) << extent;
  }
}

TEST(Dynamic, AValueThatFitsNowhereFailsTheRequestThatMadeIt) {
  FakeModel model = reader_of_a_vector();
  model.assembly.devices[0].memory = 200;
  const auto world = std::make_shared<FakeWorld>(2);
  const auto fleet = open_dynamic(model, world, 2);
  world->extent = 100;
  FakeRequest request(fleet);
  ASSERT_TRUE(request.start({1}).ok());
  EXPECT_EQ(request.wait().error().message,
            "group 'g1' fits on no device with these inputs: 'fake:0' has 200 bytes, 816 are needed, 'fake:1' has 100 "
            "bytes, 808 are needed");
  world->extent = 2;
  run(fleet, 2);
}

TEST(Dynamic, AThousandRandomModelsGiveTheSame) {
  std::mt19937 random(11);
  for (int round = 0; round < 1000; ++round) {
    const uint32_t devices = 1 + uint32_t(random()) % 4;
    FakeModel model(1, devices);
    for (uint32_t i = 1 + uint32_t(random()) % 12; i > 0; --i) {
      const std::vector<uint32_t> inputs = {uint32_t(random()) % uint32_t(model.assembly.values.size())};
      random() % 4 == 0 ? model.vector_call(inputs) : model.call(inputs, uint32_t(random()) % devices);
    }
    model.output(uint32_t(model.assembly.values.size()) - 1);
    const auto world = std::make_shared<FakeWorld>(devices);
    for (auto& apart : world->is_apart) apart = random() % 2 == 0;
    for (auto& ns : world->work_ns) ns = int64_t(random() % 20'000);
    for (Group& group : model.assembly.groups)
      for (uint32_t device = 0; device < devices; ++device) group.predicted.push_back(double(random() % 20));
    run(open_dynamic(model, world, 3), 6);
  }
}

}  // namespace
}  // namespace gart::fleet::test
