// Lanes, routes, pipelines, failures and lost devices, on devices that are functions.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <thread>

#include "tests/fleet_runtime/fake_fleet.h"

namespace gart::fleet::test {
namespace {

/// x -> a -> b -> f, a -> c -> f, c -> g; outputs f and g.
FakeModel diamond(uint32_t devices = 2) {
  FakeModel model(1, devices);
  const uint32_t a = model.call({0}), b = model.call({a}, devices - 1), c = model.call({a});
  model.output(model.call({b, c}, devices - 1));
  model.output(model.call({c}));
  return model;
}

FakeModel random_model(std::mt19937& numbers, uint32_t devices) {
  const auto random = [&] { return uint32_t(numbers()); };
  FakeModel model(1 + random() % 3, devices);
  const uint32_t calls = 1 + random() % 30;
  for (uint32_t i = 0; i < calls; ++i) {
    std::vector<uint32_t> inputs(1 + random() % 3);
    for (uint32_t& input : inputs) input = random() % uint32_t(model.assembly.values.size());
    model.call(inputs, random() % devices);
  }
  const uint32_t outputs = 1 + random() % 3;
  for (uint32_t i = 0; i < outputs; ++i) model.output(random() % uint32_t(model.assembly.values.size()));
  return model;
}

TEST(Fleet, ARunIsWhatItsCallsMake) {
  const FakeModel model = diamond();
  const auto world = std::make_shared<FakeWorld>(2);
  FakeRequest request(open_fake(model.assembly, world));
  for (int64_t x = 0; x < 100; ++x) {
    ASSERT_TRUE(request.start({x}).ok());
    ASSERT_TRUE(request.wait().ok());
    const std::vector<int64_t> expected = evaluated(model.assembly, {x});
    EXPECT_EQ(request.output(0), expected[4]);
    EXPECT_EQ(request.output(1), expected[5]);
  }
  EXPECT_EQ(world->calls[0], 300);
  EXPECT_EQ(world->calls[1], 200);
}

TEST(Fleet, AThousandRandomPlacementsGiveTheSame) {
  std::mt19937 random(7);
  for (int round = 0; round < 1000; ++round) {
    const uint32_t devices = 1 + uint32_t(random()) % 4;
    const FakeModel model = random_model(random, devices);
    const auto world = std::make_shared<FakeWorld>(devices);
    for (auto& apart : world->is_apart) apart = random() % 2 == 0;
    const auto fleet = open_fake(model.assembly, world);
    std::vector<std::unique_ptr<FakeRequest>> requests;
    for (int i = 0; i < 5; ++i) {
      requests.push_back(std::make_unique<FakeRequest>(fleet));
      std::vector<int64_t> inputs(model.assembly.inputs.size(), round * 10 + i);
      ASSERT_TRUE(requests.back()->start(inputs).ok());
    }
    for (auto& request : requests) {
      ASSERT_TRUE(request->wait().ok());
      const std::vector<int64_t> expected = evaluated(model.assembly, request->values);
      for (size_t i = 0; i < model.assembly.outputs.size(); ++i)
        ASSERT_EQ(request->output(i), expected[model.assembly.outputs[i]]) << "round " << round;
    }
  }
}

/// a, c and g run on device 0, b and f on device 1.
TEST(Fleet, DevicesWithMemoryOfTheirOwnExchangeValuesWithoutTheHost) {
  const FakeModel model = diamond();
  const auto world = std::make_shared<FakeWorld>(2);
  world->is_apart[0] = world->is_apart[1] = true;
  const auto fleet = open_fake(model.assembly, world);
  FakeRequest request(fleet);
  const std::vector<int64_t> expected = evaluated(model.assembly, {7});
  ASSERT_TRUE(request.start({7}).ok());
  ASSERT_TRUE(request.wait().ok());
  EXPECT_EQ(request.output(0), expected[4]);
  EXPECT_EQ(request.output(1), expected[5]);
  EXPECT_EQ(world->fetched[0], 0);
  EXPECT_EQ(world->fetched[1], 2);   // a and c
  EXPECT_EQ(world->returned[0], 0);  // g goes to the host directly, because no call reads it
  EXPECT_EQ(world->returned[1], 0);
  ASSERT_TRUE(request.start({7}, {2, 4}).ok());  // b is an output and is also read on its own device
  ASSERT_TRUE(request.wait().ok());
  EXPECT_EQ(request.output(0), expected[2]);
  EXPECT_EQ(request.output(1), expected[4]);
  EXPECT_EQ(world->returned[1], 1);
}

TEST(Fleet, OnlyWhatIsFetchedRuns) {
  const FakeModel model = diamond();
  const auto world = std::make_shared<FakeWorld>(2);
  FakeRequest request(open_fake(model.assembly, world));
  const std::vector<int64_t> expected = evaluated(model.assembly, {5});
  ASSERT_TRUE(request.start({5}, {3, 1}).ok());  // c, a
  ASSERT_TRUE(request.wait().ok());
  EXPECT_EQ(request.request.calls(), 2U);
  EXPECT_EQ(world->calls[0], 2);
  EXPECT_EQ(world->calls[1], 0);
  EXPECT_EQ(request.output(0), expected[3]);
  EXPECT_EQ(request.output(1), expected[1]);
  ASSERT_TRUE(request.start({5}, {0}).ok());  // a request that fetches only an input runs no call
  ASSERT_TRUE(request.wait().ok());
  EXPECT_EQ(request.output(0), 5);
  EXPECT_EQ(world->calls[0], 2);
  ASSERT_TRUE(request.start({5}).ok());  // the request fetches the outputs again
  ASSERT_TRUE(request.wait().ok());
  EXPECT_EQ(request.request.calls(), 5U);
}

TEST(Fleet, AnUnknownNameIsToldTheNearest) {
  const auto fleet = open_fake(diamond().assembly, std::make_shared<FakeWorld>(2));
  FakeRequest request(fleet);
  const std::string_view names[] = {"v33"};
  const Result<void> done = request.request.fetch(names);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().message,
            "no value 'v33' crosses parts or is kept; the nearest are 'v3', 'v0', 'v1'; to keep a value that fusion "
            "removes, compile with --keep v33");
}

TEST(Fleet, AFailingRequestFailsAlone) {
  const FakeModel model = diamond();
  const auto world = std::make_shared<FakeWorld>(2);
  world->poison = 13;
  const auto fleet = open_fake(model.assembly, world);
  std::vector<std::unique_ptr<FakeRequest>> requests;
  for (int64_t x = 10; x < 20; ++x) {
    requests.push_back(std::make_unique<FakeRequest>(fleet));
    ASSERT_TRUE(requests.back()->start({x}).ok());
  }
  for (auto& request : requests) {
    const Result<void> done = request->wait();
    if (request->values[0] == 13) {
      ASSERT_FALSE(done.ok());
      EXPECT_EQ(done.error().code, ErrorCode::run_failed);
      EXPECT_EQ(done.error().message, "device 'fake:0', group 'g0': poisoned");
      EXPECT_EQ(request->request.output(size_t{0}).data, nullptr);
      continue;
    }
    ASSERT_TRUE(done.ok());
    EXPECT_EQ(request->output(0), evaluated(model.assembly, request->values)[4]);
  }
  ASSERT_TRUE(requests[3]->start({14}).ok());  // the same request again
  ASSERT_TRUE(requests[3]->wait().ok());
  EXPECT_EQ(requests[3]->output(0), evaluated(model.assembly, {14})[4]);
}

TEST(Fleet, ALostDeviceEndsItsRequestsAndItsGroupsMove) {
  FakeModel model = diamond(3);
  model.assembly.devices[1].memory = 10;  // no memory there
  for (Group& group : model.assembly.groups) group.weight_bytes = 6, group.predicted = {1, 1, 1};
  const auto world = std::make_shared<FakeWorld>(3);
  const auto fleet = open_fake(model.assembly, world);
  FakeRequest all(fleet), some(fleet);
  world->lost[2] = true;
  ASSERT_TRUE(all.start({1}).ok());
  ASSERT_TRUE(some.start({2}, {5}).ok());  // g needs nothing from device 2
  const Result<void> done = all.wait();
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::device_lost);
  ASSERT_TRUE(some.wait().ok());
  EXPECT_EQ(some.output(0), evaluated(model.assembly, {2})[5]);
  ASSERT_TRUE(all.start({1}).ok());
  ASSERT_TRUE(all.wait().ok());
  EXPECT_EQ(all.output(0), evaluated(model.assembly, {1})[4]);
  EXPECT_EQ(world->calls[1], 1);  // device 1 has room for one group only
}

TEST(Fleet, WithoutAnyOtherDeviceALossStays) {
  FakeModel model(1, 2);
  model.output(model.call({0}, 1));
  model.assembly.groups[0].support = {1};
  const auto world = std::make_shared<FakeWorld>(2);
  FakeRequest request(open_fake(model.assembly, world));
  world->lost[1] = true;
  ASSERT_TRUE(request.start({1}).ok());
  EXPECT_EQ(request.wait().error().code, ErrorCode::device_lost);
  const Result<void> again = request.start({1});
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::device_lost);
  EXPECT_EQ(again.error().message,
            "device 'fake:1' is lost, and no other device supports its group 'g0' and has room for it: the device is "
            "lost: a test took it");
}

TEST(Fleet, MissingInputsAreToldBeforeAnythingRuns) {
  FakeModel model(2, 1);
  model.output(model.call({0}));
  model.output(model.call({1}));
  const auto world = std::make_shared<FakeWorld>(1);
  const auto fleet = open_fake(model.assembly, world);
  FakeRequest request(fleet);
  const int64_t x = 3;
  ASSERT_TRUE(request.request.set_input("in0", {&x, DType::i64, {}, "cpu"}).ok());
  EXPECT_EQ(request.request.start().error().message, "input 1 'in1' is not set");
  const std::string_view first[] = {"v0"};
  ASSERT_TRUE(request.request.fetch(first).ok());  // v0 does not depend on in1
  EXPECT_TRUE(request.request.run().ok());
  EXPECT_EQ(request.request.set_input("in2", {&x, DType::i64, {}, "cpu"}).error().message,
            "the model has no input 'in2', only 'in0', 'in1'");
  EXPECT_EQ(world->calls[0], 1);
}

/// k requests over p parts, each on its own device, take (k + p - 1) times the time of a part, not k * p times.
TEST(Fleet, RequestsFlowLikeThroughAPipeline) {
  constexpr uint32_t kParts = 4;
  constexpr int kRequests = 16;
  constexpr int64_t kPartNs = 30'000'000;  // long compared with the time in which a busy machine wakes a thread
  FakeModel model(1, kParts);
  uint32_t value = 0;
  for (uint32_t i = 0; i < kParts; ++i) value = model.call({value}, i);
  model.output(value);
  const auto world = std::make_shared<FakeWorld>(kParts);
  for (auto& ns : world->sleep_ns) ns = kPartNs;
  const auto fleet = open_fake(model.assembly, world, {}, 2 * kParts);
  double best = 0;
  for (int attempt = 0; attempt < 20 && best < 0.9; ++attempt) {
    std::vector<std::unique_ptr<FakeRequest>> requests;
    const int64_t begin = now_ns();
    for (int i = 0; i < kRequests; ++i) {
      requests.push_back(std::make_unique<FakeRequest>(fleet));
      ASSERT_TRUE(requests.back()->start({i}).ok());
    }
    for (auto& request : requests) {
      ASSERT_TRUE(request->wait().ok());
      EXPECT_EQ(request->output(0), evaluated(model.assembly, request->values).back());
    }
    const double ideal = double(kRequests + kParts - 1) * kPartNs;
    best = std::max(best, ideal / double(now_ns() - begin));
  }
  EXPECT_GE(best, 0.9);
}

/// When a caller has waited for one request, all requests that began earlier have also ended, each with its own
/// results.
TEST(Fleet, RequestsEndInTheOrderInWhichTheyBegan) {
  constexpr int kRequests = 16;
  FakeModel model(1, 3);
  model.output(model.call({model.call({model.call({0}, 2)}, 0)}, 1));
  const auto world = std::make_shared<FakeWorld>(3);
  world->sleep_ns[0] = 300'000, world->sleep_ns[1] = 100'000, world->sleep_ns[2] = 200'000;
  const auto fleet = open_fake(model.assembly, world, {}, kRequests);
  for (int waited = kRequests - 1; waited >= 0; waited -= 3) {
    std::vector<std::unique_ptr<FakeRequest>> requests;
    for (int64_t i = 0; i < kRequests; ++i) {
      requests.push_back(std::make_unique<FakeRequest>(fleet));
      ASSERT_TRUE(requests.back()->start({i}).ok());
    }
    ASSERT_TRUE(requests[size_t(waited)]->wait().ok());
    for (int i = 0; i < waited; ++i) EXPECT_TRUE(requests[size_t(i)]->request.ready()) << i << " before " << waited;
    for (auto& request : requests) {
      ASSERT_TRUE(request->wait().ok());
      EXPECT_EQ(request->output(0), evaluated(model.assembly, request->values).back());
    }
  }
}

TEST(Fleet, NoMoreAreUnderWayThanMayBe) {
  FakeModel model(1, 1);
  model.output(model.call({0}));
  const auto world = std::make_shared<FakeWorld>(1);
  world->sleep_ns[0] = 20'000'000;
  const auto fleet = open_fake(model.assembly, world, {}, 2);
  FakeRequest a(fleet), b(fleet), c(fleet);
  const int64_t begin = now_ns();
  ASSERT_TRUE(a.start({1}).ok());
  ASSERT_TRUE(b.start({2}).ok());
  ASSERT_TRUE(c.start({3}).ok());  // waits for a's end
  EXPECT_GE(now_ns() - begin, 15'000'000);
  ASSERT_TRUE(a.wait().ok());
}

TEST(Fleet, TimesAreWhatGroupsTook) {
  FakeModel model(1, 2);
  model.output(model.call({model.call({0}, 0)}, 1));
  const auto world = std::make_shared<FakeWorld>(2);
  world->sleep_ns[0] = 3'000'000;
  world->sleep_ns[1] = 1'000'000;
  const auto fleet = open_fake(model.assembly, world);
  FakeRequest request(fleet);
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(request.start({i}).ok());
    ASSERT_TRUE(request.wait().ok());
  }
  const Times times = Program(fleet).times();
  ASSERT_EQ(times.groups.size(), 2U);
  EXPECT_EQ(times.groups[0].group, "g0");
  EXPECT_EQ(times.groups[1].device, "fake:1");
  EXPECT_FALSE(times.groups[0].crossed);
  EXPECT_TRUE(times.groups[1].crossed) << "its input is of the other device";
  EXPECT_EQ(times.groups[0].runs, 7);
  EXPECT_GE(times.groups[0].operation_us, 3000);
  EXPECT_GE(times.groups[1].operation_us, 1000);
  EXPECT_LT(times.groups[0].idle_us, times.run_us - 3000);
  EXPECT_GE(times.groups[1].idle_us, 3000);  // the group waited for the other request
  EXPECT_GE(times.run_us, 4000);
  EXPECT_LT(times.groups[0].begin_us, times.run_us - 4000);
  EXPECT_GE(times.groups[1].begin_us, 3000);
  const std::vector<PartTime> parts = request.request.times();
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].device, "fake:0");
  EXPECT_EQ(parts[1].group, "g1");
  EXPECT_TRUE(parts[1].crossed);
  EXPECT_GE(parts[0].end_us, parts[0].begin_us + 3000);
  EXPECT_GE(parts[1].begin_us, parts[0].end_us);
  Program(fleet).forget_times();
  EXPECT_TRUE(Program(fleet).times().groups.empty());
}

TEST(Fleet, ManyCallersAtOnce) {
  std::mt19937 random(3);
  const FakeModel model = random_model(random, 3);
  const auto fleet = open_fake(model.assembly, std::make_shared<FakeWorld>(3), {}, 4);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&, c] {
      FakeRequest request(fleet);
      for (int i = 0; i < 200; ++i) {
        const std::vector<int64_t> inputs(model.assembly.inputs.size(), c * 1000 + i);
        const bool ok = request.start(inputs).ok() && request.wait().ok();
        const std::vector<int64_t> expected = evaluated(model.assembly, inputs);
        for (size_t o = 0; o < model.assembly.outputs.size(); ++o)
          wrong += !ok || request.output(o) != expected[model.assembly.outputs[o]];
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace gart::fleet::test
