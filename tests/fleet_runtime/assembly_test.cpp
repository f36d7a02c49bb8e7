// Files with parts run on pools of this machine, and files with invalid assemblies are refused.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <deque>
#include <fstream>
#include <random>

#include "artifact_schema/verify.h"
#include "artifact_schema/verify_assembly.h"
#include "assembly_generated.h"
#include "gart/fleet.h"
#include "gart/fleet.hpp"
#include "runtime/cpu/cores.h"
#include "tests/fleet_runtime/diamond.h"
#include "tests/runtime/models.h"

namespace gart::fleet::test {
namespace {

using namespace gart::test;

LoadOptions anywhere() {
  LoadOptions options;
  options.devices = {{"left", "cpu"}, {"right", "cpu"}};
  options.threads = 1;
  return options;
}

TEST(FleetArtifact, PartsOnPoolsMakeTheModel) {
  const auto program = load(artifact(packed(diamond())), anywhere());
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->inputs()[0].text(), "x f32[n]");
  Request request = program->new_request().value();
  for (const size_t n : {size_t{3}, size_t{40}, size_t{1000}, size_t{3}, size_t{0}}) {
    const std::vector<float> x = ramp(n, 1), y = ramp(n, -7);
    ASSERT_TRUE(request.set_input("x", view(x)).ok());
    ASSERT_TRUE(request.set_input("y", view(y)).ok());
    const Result<void> done = request.run();
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(floats(request.output("out")), expected(x, y));
  }
  EXPECT_EQ(program->devices()[0].device, "cpu");
  EXPECT_EQ(program->placement()[1].device, "right");
}

TEST(FleetArtifact, AnyPlacementGivesTheSameBits) {
  const std::span<const uint8_t> file = artifact(packed(diamond()));
  const std::vector<float> x = ramp(33, 0.3F), y = ramp(33, 5.7F);
  for (int places = 0; places < 16; ++places) {
    LoadOptions options = anywhere();
    for (int g = 0; g < 4; ++g)
      options.placement.push_back({"g" + std::to_string(g), (places >> g & 1) != 0 ? "right" : "left"});
    const auto program = load(file, options);
    ASSERT_TRUE(program.ok());
    const NamedTensor inputs[] = {{"x", view(x)}, {"y", view(y)}};
    auto request = program->submit(inputs);
    ASSERT_TRUE(request.ok());
    ASSERT_TRUE(request->wait().ok());
    EXPECT_EQ(floats(request->output(size_t{0})), expected(x, y)) << places;
  }
}

/// A child of fork() has none of the lanes' threads. Its calls must fail with an error, and it must be able to exit. A
/// fleet that the child loads itself must work.
TEST(FleetArtifact, AChildOfForkIsToldToLoadTheFile) {
  const std::span<const uint8_t> file = artifact(packed(diamond()));
  auto program = std::make_unique<Result<Program>>(load(file, anywhere()));
  ASSERT_TRUE(program->ok());
  const std::vector<float> x = ramp(9), y = ramp(9, 4);
  const NamedTensor inputs[] = {{"x", view(x)}, {"y", view(y)}};
  ASSERT_TRUE((*program)->submit(inputs)->wait().ok());
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const auto refused = (*program)->submit(inputs);
    if (refused.ok() || refused.error().message.find("load the file again here") == std::string::npos) _exit(1);
    program.reset();
    const auto own = load(file, anywhere());
    if (!own.ok()) _exit(2);
    auto request = own->submit(inputs);
    _exit(request.ok() && request->wait().ok() && floats(request->output(size_t{0})) == expected(x, y) ? 0 : 3);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE((*program)->submit(inputs)->wait().ok());
}

TEST(FleetArtifact, BytesAtANullPointer) {
  const std::span<const uint8_t> nothing(static_cast<const uint8_t*>(nullptr), 100);
  EXPECT_EQ(load(nothing, anywhere()).error().message, "the artifact has 100 bytes at a null pointer");
}

TEST(FleetArtifact, ShapesThatDisagreeAreToldBeforeAnythingRuns) {
  const auto program = load(artifact(packed(diamond())), anywhere());
  const std::vector<float> x = ramp(3), y = ramp(4);
  const NamedTensor inputs[] = {{"x", view(x)}, {"y", view(y)}};
  EXPECT_EQ(program->submit(inputs).error().message, "input 'y' has shape [4]: axis 0 is 4, but must be n = 3");
}

TEST(FleetArtifact, OnlySomeDevicesMayBeUsed) {
  LoadOptions options = anywhere();
  options.only = {"right"};
  const std::span<const uint8_t> file = artifact(packed(diamond()));
  const auto program = load(file, options);
  ASSERT_TRUE(program.ok());
  for (const GroupPlace& place : program->placement()) EXPECT_EQ(place.device, "right");
  EXPECT_EQ(program->devices()[0].device, "");
  options.only = {"middle"};
  EXPECT_EQ(load(file, options).error().message, "the file has no device 'middle', only 'left', 'right'");
  fb::AssemblyT narrow = diamond();
  narrow.groups[0]->support = {0};
  options.only = {"right"};
  EXPECT_EQ(load(artifact(packed(narrow)), options).error().message,
            "group 'g0' runs on none of the requested devices, only on 'left'");
}

TEST(FleetArtifact, AnAbsentDeviceIsToldWithWhatIsHere) {
  fb::AssemblyT far = diamond();
  far.devices[1]->cores = {1000};
  const auto program = load(artifact(packed(far)), {});
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code, ErrorCode::unsupported);
  EXPECT_NE(
      program.error().message.find("device 'right' of the file is not available: device 'cpu:1000' names core 1000; "
                                   "this process may use " +
                                   cpu::Cores::allowed().text()),
      std::string::npos)
      << program.error().message;
  EXPECT_TRUE(program.error().message.ends_with(
      "; use only the other devices (LoadOptions.only, --devices left), or choose a substitute "
      "(LoadOptions.devices, --devices right=cpu), or run the whole model on the CPU (gart::load, --device cpu)"))
      << program.error().message;
  far.groups[3]->support = {1};
  EXPECT_EQ(load(artifact(packed(far)), {}).error().message.find("LoadOptions.only"), std::string::npos);
  far.groups[3]->support = {0, 1};
  far.devices[1]->cores = {};
  far.devices[1]->host = "hostB";
  EXPECT_NE(load(artifact(packed(far)), {}).error().message.find("is on host 'hostB'"), std::string::npos);
}

TEST(FleetArtifact, AFileWithoutPartsIsToldSo) {
  EXPECT_EQ(load(artifact({}), {}).error().message,
            "the model was not compiled for a fleet: compile it with --fleet, --cut or --keep");
}

TEST(FleetArtifact, PartsAreNoEntryPointsOfTheModel) {
  const auto program = gart::load(artifact(packed(diamond())), {.device = "cpu"});
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(program->entry_points().size(), 1U);
  EXPECT_FALSE(program->new_invocation("part").ok());
}

TEST(FleetArtifact, TheCApiDoesTheSame) {
  const std::span<const uint8_t> bytes = artifact(packed(diamond()));
  const std::string path = testing::TempDir() + "fleet_c_api.gart";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
  const char* devices[] = {"left", "cpu", "right", "cpu"};
  gart_fleet_options options = {};
  options.size = sizeof options;
  options.threads = 1;
  options.devices = devices;
  options.device_count = 2;
  gart_fleet* fleet = nullptr;
  ASSERT_EQ(gart_fleet_load(path.c_str(), &options, &fleet), GART_OK) << gart_fleet_last_error();
  EXPECT_EQ(gart_fleet_input_count(fleet), 2U);
  EXPECT_STREQ(gart_fleet_input_name(fleet, 1), "y");
  EXPECT_EQ(gart_fleet_input_name(fleet, 2), nullptr);
  gart_fleet_request* request = nullptr;
  ASSERT_EQ(gart_fleet_request_new(fleet, &request), GART_OK);
  const std::vector<float> x = ramp(9), y = ramp(9, 4);
  const gart_tensor tx = {x.data(), GART_F32, 1, {9}, nullptr}, ty = {y.data(), GART_F32, 1, {9}, "cpu"};
  ASSERT_EQ(gart_fleet_set_input(request, "x", &tx), GART_OK);
  EXPECT_EQ(gart_fleet_start(request), GART_INVALID_ARGUMENT);
  EXPECT_STREQ(gart_fleet_last_error(), "input 1 'y' is not set");
  ASSERT_EQ(gart_fleet_set_input(request, "y", &ty), GART_OK);
  const char* names[] = {"out", "a"};
  ASSERT_EQ(gart_fleet_fetch(request, names, 2), GART_OK);
  for (int run = 0; run < 3; ++run) {
    ASSERT_EQ(gart_fleet_start(request), GART_OK);
    ASSERT_EQ(gart_fleet_wait(request), GART_OK);
  }
  EXPECT_EQ(gart_fleet_ready(request), 1);
  EXPECT_EQ(gart_fleet_output_count(request), 2U);
  gart_tensor out = {};
  ASSERT_EQ(gart_fleet_get_output(request, 0, &out), GART_OK);
  EXPECT_EQ(std::vector<float>(static_cast<const float*>(out.data), static_cast<const float*>(out.data) + 9),
            expected(x, y));
  EXPECT_EQ(gart_fleet_get_output(request, 2, &out), GART_INVALID_ARGUMENT);
  gart_group_time times[8];
  EXPECT_EQ(gart_fleet_times(fleet, times, 8), 4U);
  EXPECT_STREQ(times[0].group, "g0");
  EXPECT_EQ(times[0].runs, 2);
  EXPECT_GE(times[0].begin_us, 0);
  EXPECT_GT(gart_fleet_run_us(fleet), 0);
  EXPECT_STREQ(gart_fleet_output_name(fleet, 0), "out");
  EXPECT_EQ(gart_fleet_output_name(fleet, 1), nullptr);
  EXPECT_NE(gart_fleet_value_name(fleet, 0), nullptr);
  gart_group_place places[8];
  ASSERT_EQ(gart_fleet_places(fleet, places, 8), 4U);
  EXPECT_STREQ(places[0].group, "g0");
  EXPECT_STREQ(places[0].device, times[0].device);
  gart_fleet_forget_times(fleet);
  EXPECT_EQ(gart_fleet_times(fleet, times, 8), 0U);
  gart_fleet_free(fleet);
  gart_fleet_request_free(request);
  std::remove(path.c_str());
}

struct Wrong {
  const char* name;
  void (*change)(fb::AssemblyT&);
  const char* message;
};

class WrongAssembly : public testing::TestWithParam<Wrong> {};

TEST_P(WrongAssembly, IsRefusedInOneSentence) {
  fb::AssemblyT assembly = diamond();
  GetParam().change(assembly);
  const auto program = load(artifact(packed(assembly)), anywhere());
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code, ErrorCode::invalid_artifact);
  EXPECT_EQ(program.error().message, std::string("the assembly: ") + GetParam().message);
}

using A = fb::AssemblyT;
INSTANTIATE_TEST_SUITE_P(
    FleetArtifact, WrongAssembly,
    testing::Values(
        Wrong{"Entry", [](A& a) { a.calls[1]->entry = 2; }, "call 1: its entry is 2, but there are 2 entry points"},
        Wrong{"EntryOfTheModel", [](A& a) { a.calls[1]->entry = 0; }, "call 1: entry point 0 is not a part"},
        Wrong{"Group", [](A& a) { a.calls[3]->group = 4; }, "call 3: its group is 4, but there are 4 groups"},
        Wrong{"Input", [](A& a) { a.calls[0]->inputs[1] = 6; }, "call 0: input 1 is 6, but there are 6 values"},
        Wrong{"FewInputs", [](A& a) { a.calls[0]->inputs.pop_back(); },
              "call 0: it gives 1 inputs and takes 1 outputs; its part has 2 and 1"},
        Wrong{"Cycle", [](A& a) { a.calls[1]->inputs[0] = 5; }, "call 1: input 0 is made by call 3"},
        Wrong{"ReadsItself", [](A& a) { a.calls[2]->inputs[1] = 4; }, "call 2: input 1 is made by call 2"},
        Wrong{"MadeTwice", [](A& a) { a.calls[1]->outputs[0] = 2; }, "call 1: value 2 is made twice"},
        Wrong{"MakesAnInput", [](A& a) { a.calls[1]->outputs[0] = 1; }, "call 1: value 1 is made twice"},
        Wrong{"NotMade", [](A& a) { a.values.push_back(value("more", -1, {})); }, "value 6: no call makes it"},
        Wrong{"InputTwice", [](A& a) { a.values[1]->input = 0; }, "value 1: input 0 is also another value"},
        Wrong{"InputBeyond", [](A& a) { a.values[1]->input = 2; }, "value 1: its input is 2, but there are 2 inputs"},
        Wrong{"NegativeInput", [](A& a) { a.values[1]->input = -2; },
              "value 1: its input is 4294967294, but there are 2 inputs"},
        Wrong{"OutputTwice", [](A& a) { a.values[4]->outputs = {0}; }, "value 5: output 0 is also another value"},
        Wrong{"NoOutput", [](A& a) { a.values[5]->outputs = {}; }, "no value is the model's output 0"},
        Wrong{"NoInfo", [](A& a) { a.values[3]->info = nullptr; }, "value 3: it is not described"},
        Wrong{"Type", [](A& a) { a.values[3]->info->dtype = fb::DType::f64; },
              "call 1: output 0: its type is not that of the part's output"},
        Wrong{"UnknownType", [](A& a) { a.values[3]->info->dtype = fb::DType(99); }, "value 3: its type is unknown"},
        Wrong{"Rank", [](A& a) { a.values[3]->info->dims = {0, 0}; },
              "call 1: output 0: its rank is 2, that of the part's output is 1"},
        Wrong{"Dim", [](A& a) { a.values[3]->info->dims = {1}; }, "value 3: dim 0 is 1, but there are 1 slots"},
        Wrong{"ManyDims", [](A& a) { a.values[3]->info->dims.resize(17); }, "value 3: its rank is 17, the limit is 16"},
        Wrong{"SymbolOfNothing", [](A& a) { a.symbols[0]->value = 6; },
              "symbol 0: its value is 6, but there are 6 values"},
        Wrong{"SymbolAxis", [](A& a) { a.symbols[0]->axis = 1; }, "symbol 0: its axis is 1, but there are 1 axes"},
        Wrong{"NamelessSymbol", [](A& a) { a.symbols[0]->name = ""; }, "symbol 0: it has no name"},
        Wrong{"NoSupport", [](A& a) { a.groups[2]->support = {}; },
              "group 2: it is placed on device 0, which does not support it"},
        Wrong{"NotSupported", [](A& a) { a.groups[2]->support = {1}; },
              "group 2: it is placed on device 0, which does not support it"},
        Wrong{"SupportBeyond", [](A& a) { a.groups[2]->support = {0, 2}; },
              "group 2: support 1 is 2, but there are 2 devices"},
        Wrong{"SameGroup", [](A& a) { a.groups[2]->name = "g1"; }, "group 2: its name occurs twice"},
        Wrong{"Prediction", [](A& a) { a.groups[0]->predicted = {1}; }, "group 0: it has 1 predictions for 2 devices"},
        Wrong{"Crossing", [](A& a) { a.groups[0]->crossing = {1, 2, 3}; },
              "group 0: it has 3 transfer times for 2 devices"},
        Wrong{"BadPrediction", [](A& a) { a.groups[0]->predicted = {1, -1}; },
              "group 0: a prediction is negative or not a number"},
        Wrong{"LongPrediction", [](A& a) { a.groups[0]->predicted = {1, 1e300}; },
              "group 0: a prediction is longer than 1000000000000000 microseconds, or not a number"},
        Wrong{"Rate", [](A& a) { a.devices[1]->gflops = 5e-324; },
              "device 1: its rate is neither 0 nor from 0.000001 to 1000000000"},
        Wrong{"Bandwidth", [](A& a) { a.devices[1]->gbytes_per_s = 1e308; },
              "device 1: its bandwidth is neither 0 nor from 0.000001 to 1000000000"},
        Wrong{"Latency",
              [](A& a) {
                a.links.push_back(std::make_unique<fb::FleetLinkT>());
                a.links[0]->us = 1e308;
              },
              "link 0: its latency is longer than 1000000000000000 microseconds, or not a number"},
        Wrong{"NoUtf8", [](A& a) { a.groups[2]->name = "g\xc3"; }, "group 2: its name is not UTF-8"},
        Wrong{"Surrogate", [](A& a) { a.devices[0]->name = "\xed\xa0\x80"; }, "device 0: its name is not UTF-8"},
        Wrong{"NoCall", [](A& a) { a.calls[3]->group = 2; }, "group 3: it has no call"},
        Wrong{"Circle", [](A& a) { a.calls[3]->group = 0, a.groups.pop_back(); },
              "group 0: it and others wait for each other's values"},
        Wrong{"CircleOfExtents",
              [](A& a) {  // a second call of group 0 needs the extent of a value of group 2
                a.symbols[0]->value = 5, a.calls[1]->group = 0, a.calls[2]->group = 1, a.calls[3]->group = 0;
                a.groups.resize(2);
              },
              "group 0: it and others wait for each other's values"},
        Wrong{"Extent",
              [](A& a) {
                a.program.emplace_back(fb::ExprOp::constant, 0, 0, int64_t{1} << 47), a.values[2]->info->dims = {1};
              },
              "value 2: axis 0 is 140737488355328; 0 to 70368744177664 are possible"},
        Wrong{"Elements",
              [](A& a) {
                a.program.emplace_back(fb::ExprOp::constant, 0, 0, int64_t{1} << 40);
                a.values[2]->info->dims = {1, 1};
              },
              "value 2: it has more than 70368744177664 elements"},
        Wrong{"Peak", [](A& a) { a.groups[0]->peak_bytes = ~uint64_t{0}; }, "group 0: its bytes exceed the limit"},
        Wrong{"SameDevice", [](A& a) { a.devices[1]->name = "left"; }, "device 1: its name occurs twice"},
        Wrong{"Core", [](A& a) { a.devices[1]->cores = {1024}; },
              "device 1: core 0 is 1024, but there are 1024 possible"},
        Wrong{"Link",
              [](A& a) {
                a.links.push_back(std::make_unique<fb::FleetLinkT>());
                a.links[0]->to = 2;
              },
              "link 0: to is 2, but there are 2 devices"},
        Wrong{"Constraint",
              [](A& a) {
                a.constraints.push_back(std::make_unique<fb::ConstraintT>());
                a.constraints[0]->b = 1;
              },
              "constraint 0: b is 1, but there are 1 slots"},
        Wrong{"Program", [](A& a) { a.program.emplace_back(fb::ExprOp::add, 0, 1, 0); },
              "instruction 0 reads slot 1, but may only read slots below 1"}),
    [](const auto& test) { return test.param.name; });

/// For any bytes, the check must end, and a file that passes it must either run or fail with an error.
TEST(FleetArtifact, DamagedBytesAreHarmless) {
  std::mt19937 random(5);
  const std::vector<uint8_t> sound = packed(diamond());
  const std::vector<float> x = ramp(5), y = ramp(5);
  const NamedTensor inputs[] = {{"x", view(x)}, {"y", view(y)}};
  ArtifactBuilder builder = add_and_double();
  auto part = std::make_unique<fb::EntryPointT>(*builder.content.manifest.entry_points[0]);
  part->name = "part";
  part->internal = true;
  builder.content.manifest.entry_points.push_back(std::move(part));
  int taken = 0;
  for (int round = 0; round < 3000; ++round) {
    builder.content.assembly = sound;
    for (uint32_t i = 0; i < 1 + uint32_t(round) % 3; ++i) {
      uint8_t& byte = builder.content.assembly[random() % sound.size()];
      byte = round % 2 == 0 ? uint8_t(random()) : uint8_t(byte ^ (1U << random() % 8));
    }
    const std::vector<uint8_t> bytes = builder.write({.raw_alignment = 64});
    std::vector<uint64_t> aligned((bytes.size() + 7) / 8);
    std::memcpy(aligned.data(), bytes.data(), bytes.size());
    ArtifactView found;
    const std::span<const uint8_t> file(reinterpret_cast<const uint8_t*>(aligned.data()), bytes.size());
    ASSERT_TRUE(read_artifact(file, found).ok());
    const fb::Assembly* assembly = nullptr;
    if (!verify_assembly(found, assembly).ok() || round % 10 != 0) continue;
    ++taken;
    if (auto program = load(file, anywhere()); program.ok())
      if (auto request = program->submit(inputs); request.ok()) static_cast<void>(request->wait().ok());
  }
  EXPECT_GT(taken, 0);
}

}  // namespace
}  // namespace gart::fleet::test
