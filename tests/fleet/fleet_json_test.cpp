// The JSON form of fleets: reading, writing, and the message for each fault.
#include <gtest/gtest.h>

#include "compiler/fleet/fleet.h"
#include "compiler/support/error.h"

namespace gcg {
namespace {

constexpr const char* kFull = R"({
  "devices": [
    {"name": "acc:0", "kind": "cpu", "cores": [0, 2], "ordinal": 0, "target": "x86-64-v3", "host": "hostB",
     "memory_bytes": 4294967296, "supports": ["Conv", "f16"], "denies": ["Soft*"], "uses": ["infer"],
     "gflops": 12.5, "gbytes_per_s": 8},
    {"name": "cuda:1", "kind": "cuda", "ordinal": 1}],
  "links": [{"from": "acc:0", "to": "cuda:1", "gbytes_per_s": 6.5, "us": 10}]
})";

void expect_full(const Fleet& fleet) {
  ASSERT_EQ(fleet.devices.size(), 2U);
  const FleetDevice& acc = fleet.devices[0];
  EXPECT_EQ(acc.name, "acc:0");
  EXPECT_EQ(acc.kind, DeviceClass::cpu);
  EXPECT_EQ(acc.cores, (std::vector<int>{0, 2}));
  EXPECT_EQ(acc.target, "x86-64-v3");
  EXPECT_EQ(acc.host, "hostB");
  EXPECT_EQ(acc.memory_bytes, int64_t{1} << 32);
  EXPECT_EQ(acc.supports, (std::vector<std::string>{"Conv", "f16"}));
  EXPECT_EQ(acc.denies, std::vector<std::string>{"Soft*"});
  EXPECT_TRUE(acc.infers);
  EXPECT_FALSE(acc.trains);
  EXPECT_EQ(acc.gflops, 12.5);
  EXPECT_EQ(acc.gbytes_per_s, 8);
  EXPECT_EQ(fleet.devices[1].ordinal, 1);
  EXPECT_EQ(fleet.devices[1].kind, DeviceClass::cuda);
  EXPECT_TRUE(fleet.devices[1].trains);
  ASSERT_EQ(fleet.links.size(), 1U);
  EXPECT_EQ(fleet.links[0].from, 0);
  EXPECT_EQ(fleet.links[0].to, 1);
  EXPECT_EQ(fleet.links[0].gbytes_per_s, 6.5);
  EXPECT_EQ(fleet.links[0].us, 10);
  EXPECT_EQ(fleet.find("cuda:1"), 1);
  EXPECT_EQ(fleet.find("cuda"), -1);
}

TEST(FleetJson, EveryFieldBothWays) {
  const Fleet fleet = parse_fleet(kFull, "F.json");
  expect_full(fleet);
  const std::string text = print_fleet(fleet);
  expect_full(parse_fleet(text, "again"));
  EXPECT_EQ(print_fleet(parse_fleet(text, "again")), text);
}

TEST(FleetJson, NameAndKindSuffice) {
  const Fleet fleet = parse_fleet(R"({"devices": [{"name": "p", "kind": "cpu"}]})", "F.json");
  ASSERT_EQ(fleet.devices.size(), 1U);
  EXPECT_TRUE(fleet.devices[0].cores.empty());
  EXPECT_TRUE(fleet.devices[0].infers && fleet.devices[0].trains);
  EXPECT_EQ(print_fleet(fleet),
            "{\n  \"devices\": [\n    {\n      \"name\": \"p\",\n      \"kind\": \"cpu\"\n    }\n  ]\n}\n");
}

struct Wrong {
  const char* name;
  std::string text, message;
};

/// A fleet of one pool with an additional field.
std::string with(const std::string& field) { return R"({"devices": [{"name": "a", "kind": "cpu", )" + field + "}]}"; }
std::string gpu_with(const std::string& field) {
  return R"({"devices": [{"name": "a", "kind": "cuda", )" + field + "}]}";
}
std::string linked(const std::string& links) {
  return R"({"devices": [{"name": "a", "kind": "cpu"}, {"name": "b", "kind": "cpu"}], "links": [)" + links + "]}";
}

std::string list_of_zeros(int count) {
  std::string list = "[0";
  for (int i = 1; i < count; ++i) list += ",0";
  return list + "]";
}

class WrongFleet : public testing::TestWithParam<Wrong> {};

TEST_P(WrongFleet, IsRefusedInOneSentenceThatNamesTheField) {
  try {
    parse_fleet(GetParam().text, "F.json");
    FAIL() << "it was taken";
  } catch (const CompileError& error) {
    EXPECT_EQ(std::string(error.what()), "F.json: " + GetParam().message);
  }
}

INSTANTIATE_TEST_SUITE_P(
    FleetJson, WrongFleet,
    testing::Values(
        Wrong{"Empty", "", "line 1, column 1: this is not JSON"},
        Wrong{"Cut", "{\n \"devices\": [", "line 2, column 14: this is not JSON"},
        Wrong{"NoObject", "[]", "expected an object, not []"}, Wrong{"NoDevices", "{}", "it has no field 'devices'"},
        Wrong{"ZeroDevices", R"({"devices": []})", "devices: expected a list of devices, not []"},
        Wrong{"DevicesAsObject", R"({"devices": {"a": 1}})", "devices: expected a list of devices, not {\"a\":1}"},
        Wrong{"UnknownTop", R"({"devices": [], "nodes": 1})", "nodes: there is no such field, only devices, links"},
        Wrong{"DeviceAsNumber", R"({"devices": [3]})", "devices[0]: expected an object, not 3"},
        Wrong{"NoKind", R"({"devices": [{"name": "a"}]})", "devices[0]: it has no field 'kind'"},
        Wrong{"NoName", R"({"devices": [{"kind": "cpu"}]})", "devices[0]: it has no field 'name'"},
        Wrong{"EmptyName", R"({"devices": [{"name": "", "kind": "cpu"}]})", "devices[0].name: it is empty"},
        Wrong{"Kind", R"({"devices": [{"name": "a", "kind": "tpu"}]})",
              "devices[0].kind: 'tpu' is not a kind of device; expected cpu or cuda"},
        Wrong{"SameName", R"({"devices": [{"name": "a", "kind": "cpu"}, {"name": "a", "kind": "cuda"}]})",
              "devices[1].name: another device is named 'a'"},
        Wrong{"SameField", with(R"("gflops": 1, "gflops": 2)"), "an object has the field 'gflops' twice"},
        Wrong{"UnknownField", with(R"("colour": 1)"),
              "devices[0].colour: there is no such field, only name, kind, cores, ordinal, target, host, memory_bytes, "
              "supports, denies, uses, gflops, gbytes_per_s"},
        Wrong{"NegativeCore", with(R"("cores": [0, -1])"),
              "devices[0].cores[1]: expected an integer from 0 to 1023, not -1"},
        Wrong{"NoSuchCore", with(R"("cores": [1024])"),
              "devices[0].cores[0]: expected an integer from 0 to 1023, not 1024"},
        Wrong{"SameCore", with(R"("cores": [3, 1, 3])"), "devices[0].cores[2]: 3 is listed twice"},
        Wrong{"CoresAsNumber", with(R"("cores": 3)"), "devices[0].cores: expected a list, not 3"},
        Wrong{"CoresOfGpu", gpu_with(R"("cores": [0])"), "devices[0].cores: only a CPU pool has cores"},
        Wrong{"OrdinalOfPool", with(R"("ordinal": 1)"), "devices[0].ordinal: only a GPU has an ordinal"},
        Wrong{"Bytes", with(R"("memory_bytes": -1)"),
              "devices[0].memory_bytes: expected an integer from 0 to 9223372036854775807, not -1"},
        Wrong{"HalfBytes", with(R"("memory_bytes": 0.5)"),
              "devices[0].memory_bytes: expected an integer from 0 to 9223372036854775807, not 0.5"},
        Wrong{"GreatBytes", with(R"("memory_bytes": 18446744073709551615)"),
              "devices[0].memory_bytes: expected an integer from 0 to 9223372036854775807, not "
              "18446744073709551615"},
        Wrong{"Rate", with(R"("gflops": -2)"),
              "devices[0].gflops: the rate is -2; a rate is 0 (not known), or from 1e-06 to 1e+09"},
        Wrong{"RateAsText", with(R"("gbytes_per_s": "8")"), "devices[0].gbytes_per_s: expected a number, not \"8\""},
        Wrong{"VeryGreatRate", with(R"("gflops": 1e308)"),
              "devices[0].gflops: the rate is 1e+308; a rate is 0 (not known), or from 1e-06 to 1e+09"},
        Wrong{"VerySmallRate", with(R"("gflops": 5e-324)"),
              "devices[0].gflops: the rate is 4.94066e-324; a rate is 0 (not known), or from 1e-06 to 1e+09"},
        Wrong{"Deep", R"({"devices":)" + std::string(200'000, '[') + std::string(200'000, ']') + "}",
              "lists and objects are nested more than 64 deep"},
        Wrong{"DeepName",
              R"({"devices":[{"name":)" + std::string(200'000, '[') + std::string(200'000, ']') + R"(,"kind":"cpu"}]})",
              "lists and objects are nested more than 64 deep"},
        Wrong{"NoUtf8", with("\"host\": \"a\xc3\""), "line 1, column 54: this is not JSON"},
        Wrong{"LongList", with(R"("cores": {"a": )" + list_of_zeros(100'000) + "}"),
              R"(devices[0].cores: expected a list, not {"a":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0...)"},
        Wrong{"GreatRate", with(R"("gflops": 1e999)"), "a number is too large"},
        Wrong{"Uses", with(R"("uses": ["infer", "serve"])"),
              "devices[0].uses[1]: 'serve' is not a use; expected infer or train"},
        Wrong{"NoUse", with(R"("uses": [])"), "devices[0].uses: it is empty; expected infer or train"},
        Wrong{"EmptyPattern", with(R"("denies": ["Conv", ""])"), "devices[0].denies[1]: it is empty"},
        Wrong{"TargetOfOtherKind", with(R"("target": "sm_90a")"),
              "devices[0].target: a device of this kind does not run code for sm_90a"},
        Wrong{"Control", with(R"("host": "a\u0000b")"), "devices[0].host: it has a control character"},
        Wrong{"LinkToNowhere", linked(R"({"from": "a", "to": "c"})"), "links[0].to: there is no device 'c'"},
        Wrong{"LinkFromNowhere", linked(R"({"to": "a"})"), "links[0]: it has no field 'from'"},
        Wrong{"LinkToItself", linked(R"({"from": "a", "to": "a"})"), "links[0].to: a link must join two devices"},
        Wrong{"SameLink", linked(R"({"from": "a", "to": "b"}, {"from": "b", "to": "a"}, {"from": "a", "to": "b"})"),
              "links[2]: this link is listed twice"},
        Wrong{"LinkRate", linked(R"({"from": "a", "to": "b", "us": -1})"),
              "links[0].us: the time is -1; a time is from 0 to 1e+15 microseconds"},
        Wrong{"LongLatency", linked(R"({"from": "a", "to": "b", "us": 1e308})"),
              "links[0].us: the time is 1e+308; a time is from 0 to 1e+15 microseconds"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gcg
