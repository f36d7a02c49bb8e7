// Groups of a lost device move to other devices, whatever goes wrong meanwhile. Also cancels requests.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>

#include "tests/fleet_runtime/fake_fleet.h"

namespace gart::fleet {
namespace {

using test::evaluated;
using test::FakeModel;
using test::FakeRequest;
using test::FakeWorld;
using test::open_fake;

/// One call on device 0; other devices can also run it.
FakeModel one_call(uint32_t devices) {
  FakeModel model(1, devices);
  model.output(model.call({0}));
  for (Group& group : model.assembly.groups) group.predicted = std::vector<double>(devices, 1);
  return model;
}

struct Moving : ::testing::Test {
  FakeModel model = one_call(3);
  std::shared_ptr<FakeWorld> world = std::make_shared<FakeWorld>(3);
  std::shared_ptr<detail::FleetState> fleet = open_fake(model.assembly, world);

  void lose_device_0() {
    world->lost[0] = true;
    FakeRequest request(fleet);
    ASSERT_TRUE(request.start({1}).ok());
    ASSERT_EQ(request.wait().error().code, ErrorCode::device_lost);
  }
  void expect_runs_on(uint32_t device) {
    FakeRequest request(fleet);
    const Result<void> started = request.start({1});
    ASSERT_TRUE(started.ok()) << started.error().message;
    ASSERT_TRUE(request.wait().ok());
    EXPECT_EQ(request.output(0), evaluated(model.assembly, {1})[1]);
    EXPECT_EQ(world->calls[device], 1);
  }
};

/// If the system refuses to start a lane's thread, the group must not stay on a device without a lane.
TEST_F(Moving, AnyExceptionLeavesThePlacement) {
  lose_device_0();
  world->loading = [](uint32_t device) {
    if (device == 1) throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    throw 1;
  };
  FakeRequest request(fleet);
  const Result<void> started = request.start({1});
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, ErrorCode::device_lost);
  EXPECT_NE(started.error().message.find("the system refused another thread"), std::string::npos)
      << started.error().message;
  EXPECT_NE(started.error().message.find("; C++ exception"), std::string::npos) << started.error().message;
  EXPECT_EQ(fleet->places(), std::vector<uint32_t>{0});
  world->loading = [](uint32_t device) {
    if (device == 1) throw 1;
  };
  expect_runs_on(2);
}

TEST_F(Moving, ThePlacementIsReadWithoutPlacing) {
  lose_device_0();
  std::atomic<int> loaded = 0;
  world->loading = [&](uint32_t) { ++loaded; };
  EXPECT_EQ(fleet->places(), std::vector<uint32_t>{0});
  EXPECT_EQ(loaded, 0);
  expect_runs_on(1);
  EXPECT_EQ(fleet->places(), std::vector<uint32_t>{1});
  EXPECT_EQ(loaded, 1);
}

/// Requests whose parts are loaded must not wait while a large part is being loaded.
TEST_F(Moving, NobodyElseWaitsWhileCodeIsLoaded) {
  lose_device_0();
  std::atomic<bool> loads = false, goes_on = false;
  world->loading = [&](uint32_t) {
    loads = true;
    while (!goes_on) std::this_thread::yield();
  };
  std::thread mover([&] { expect_runs_on(1); });
  while (!loads) std::this_thread::yield();
  std::atomic<bool> answered = false;
  std::thread asks([&] {
    EXPECT_EQ(fleet->device(0).lost, true);
    EXPECT_EQ(fleet->places(), std::vector<uint32_t>{0});
    EXPECT_EQ(fleet->route(model.assembly.outputs)->calls.size(), 1u);
    answered = true;
  });
  for (int i = 0; i < 500 && !answered; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(answered) << "the fleet is locked while code is loaded";
  goes_on = true;
  asks.join();
  mover.join();
}

TEST_F(Moving, ACancelledRequestFailsAlone) {
  const FakeModel chain = [] {
    FakeModel m(1, 1);
    m.output(m.call({m.call({m.call({0})})}));
    return m;
  }();
  const auto slow = std::make_shared<FakeWorld>(1);
  slow->sleep_ns[0] = 20'000'000;
  const auto other_fleet = open_fake(chain.assembly, slow);
  FakeRequest request(other_fleet), other(other_fleet);
  ASSERT_TRUE(request.start({1}).ok());
  ASSERT_TRUE(other.start({2}).ok());
  while (slow->calls[0] == 0) std::this_thread::yield();
  request.request.cancel();
  const Result<void> done = request.wait();
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::cancelled);
  EXPECT_EQ(done.error().message, "the run was cancelled");
  ASSERT_TRUE(other.wait().ok());
  EXPECT_EQ(other.output(0), evaluated(chain.assembly, {2})[3]);
  EXPECT_LT(slow->calls[0], 6) << "the cancelled request ran to its end";
  request.request.cancel();
  EXPECT_EQ(request.start({1}).error().code, ErrorCode::cancelled) << "just before a run";
  ASSERT_TRUE(request.start({1}).ok());
  ASSERT_TRUE(request.wait().ok());
}

/// More calls wait for a lane than its buffer had room for at first; the oldest call must still run first.
TEST_F(Moving, ManyCallsWaitForOneLane) {
  FakeModel wide(1, 1);
  for (int i = 0; i < 3000; ++i) wide.output(wide.call({0}));
  const auto fleet_of_wide = open_fake(wide.assembly, std::make_shared<FakeWorld>(1));
  FakeRequest a(fleet_of_wide), b(fleet_of_wide);
  ASSERT_TRUE(a.start({1}).ok());
  ASSERT_TRUE(b.start({2}).ok());
  ASSERT_TRUE(a.wait().ok());
  ASSERT_TRUE(b.wait().ok());
  const std::vector<int64_t> of_a = evaluated(wide.assembly, {1}), of_b = evaluated(wide.assembly, {2});
  for (size_t i = 0; i < 3000; ++i) {
    ASSERT_EQ(a.output(i), of_a[i + 1]);
    ASSERT_EQ(b.output(i), of_b[i + 1]);
  }
}

}  // namespace
}  // namespace gart::fleet
