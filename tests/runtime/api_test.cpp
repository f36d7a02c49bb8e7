// Wrong calls of the API, and their error messages.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "artifact_schema/cpu_features.h"
#include "runtime/features.h"
#include "tests/runtime/models.h"

namespace gart {
namespace {

using test::ramp;
using test::view;

template <class T>
void expect_error(const Result<T>& result, ErrorCode code, const std::string& message) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, message);
  EXPECT_EQ(result.error().code, code);
}

class Api : public testing::Test {
 protected:
  test::ArtifactBuilder builder = test::add_and_double();
  Result<Program> program = test::load_model(builder, {.threads = 1});
  Result<Invocation> invocation = program->new_invocation();
  std::vector<float> x = ramp(4), y = ramp(4);
};

TEST_F(Api, DescribesInputsAndOutputs) {
  ASSERT_EQ(program->inputs().size(), 2u);
  EXPECT_EQ(program->inputs()[0].text(), "x f32[n]");
  EXPECT_EQ(program->outputs()[0].text(), "out f32[n]");
  EXPECT_EQ(program->entry_points(), std::vector<std::string>{"main"});
  EXPECT_TRUE(program->inputs("other").empty());
  EXPECT_EQ(program->threads(), 1);
}

TEST_F(Api, InputsAreChecked) {
  const ErrorCode bad = ErrorCode::invalid_argument;
  const Shape four{4};
  expect_error(invocation->set_input(2, view(x)), bad, "there is no input 2: the model has 2");
  expect_error(invocation->set_input("z", view(x)), bad, "the model has no input 'z', only 'x', 'y'");
  expect_error(invocation->set_input(0, {x.data(), DType::i32, four}), bad, "input 'x' must be f32, but is i32");
  expect_error(invocation->set_input(0, {x.data(), DType::f32, Shape{2, 2}}), bad,
               "input 'x' has rank 2, but must be x f32[n]");
  expect_error(invocation->set_input(0, {nullptr, DType::f32, four}), bad,
               "input 'x' has 4 elements, but its data pointer is null");
  expect_error(invocation->set_input(0, {x.data(), DType::f32, Shape{-4}}), bad,
               "input 'x' has the impossible shape [-4]");
  expect_error(invocation->set_input(0, {x.data(), DType::f32, four, "cuda:0"}), bad,
               "input 'x' is on device 'cuda:0', but this program runs on 'cpu'");
  expect_error(invocation->set_input(0, {x.data(), DType::f32, Shape(std::vector<int64_t>(40, 1))}), bad,
               "input 'x' has rank 40, but must be x f32[n]");
  expect_error(invocation->run(), bad, "input 0 'x' is not set");
  ASSERT_TRUE(invocation->set_input(0, view(x)));
  expect_error(invocation->run(), bad, "input 1 'y' is not set");
  EXPECT_EQ(invocation->output(0).data, nullptr);
}

TEST_F(Api, ExtentsMustAgree) {
  const std::vector<float> longer = ramp(5);
  expect_error(program->run(std::vector<TensorView>{view(x), view(longer)}), ErrorCode::invalid_argument,
               "input 'y' has shape [5]: axis 0 is 5, but must be 'n' = 4 (axis 0 of input 'x')");
}

TEST_F(Api, ConstraintsNameBothInputs) {
  test::ArtifactBuilder small = test::small_artifact();
  Result<Program> model = test::load_model(small, {.threads = 1});
  const std::vector<float> data(160);
  const bool flag = true;
  const TensorView x5{data.data(), DType::f32, Shape{5, 16}}, y6{data.data(), DType::f32, Shape{6, 16}};
  expect_error(model->run(std::vector<TensorView>{x5, y6, {&flag, DType::boolean, Shape{}}}),
               ErrorCode::invalid_argument,
               "the inputs' extents disagree: 'rows' = 5 (axis 0 of input 'x') must equal 'also_rows' = 6 (axis 0 of "
               "input 'y'): "
               "node 'Add_0' adds them");
  const TensorView narrow{data.data(), DType::f32, Shape{5, 15}};
  expect_error(model->run(std::vector<TensorView>{narrow, y6, {&flag, DType::boolean, Shape{}}}),
               ErrorCode::invalid_argument, "input 'x' has shape [5,15]: axis 1 is 15, but must be 16");
}

TEST_F(Api, RunChecksItsInputs) {
  const ErrorCode bad = ErrorCode::invalid_argument;
  expect_error(program->run(std::vector<TensorView>{view(x)}), bad, "1 inputs were given, the model has 2");
  expect_error(program->run(std::vector<NamedTensor>{{"x", view(x)}}), bad, "input 1 'y' is not set");
  expect_error(program->run(std::vector<NamedTensor>{{"x", view(x)}, {"x", view(x)}}), bad, "input 'x' is given twice");
  expect_error(program->run(std::vector<NamedTensor>{{"q", view(x)}}), bad,
               "the model has no input 'q', only 'x', 'y'");
  expect_error(program->run(std::vector<NamedTensor>{}, "other"), bad, "the model has no entry point 'other'");
  expect_error(program->new_invocation("other"), bad, "the model has no entry point 'other'");
}

TEST_F(Api, InputsMayBeListed) {
  const std::vector<float> expected = test::floats(program->run(std::vector<TensorView>{view(x), view(y)})->at(0));
  EXPECT_EQ(test::floats(program->run({view(x), view(y)})->at(0)), expected);
  EXPECT_EQ(test::floats(program->run({{"y", view(y)}, {"x", view(x)}})->at(0)), expected);
  const Tensor own = Tensor::copy_of(view(x)).value();
  EXPECT_TRUE(program->run({own, own}));
}

TEST_F(Api, OutputBuffersAreChecked) {
  const ErrorCode bad = ErrorCode::invalid_argument;
  std::vector<float> out(8, -1.0f);
  expect_error(invocation->set_output(1, {out.data(), 16, DType::f32}), bad, "there is no output 1: the model has 1");
  expect_error(invocation->set_output("y", {out.data(), 16, DType::f32}), bad,
               "the model has no output 'y', only 'out'");
  expect_error(invocation->set_output(0, {out.data(), 16, DType::f64}), bad, "output 'out' must be f32, but is f64");
  expect_error(invocation->set_output(0, {nullptr, 16, DType::f32}), bad,
               "output 'out': the buffer has 16 bytes, but its data pointer is null");
  expect_error(invocation->set_output(0, {out.data(), 16, DType::f32, "cuda:0"}), bad,
               "output 'out' is on device 'cuda:0', but this program runs on 'cpu'");
  ASSERT_TRUE(invocation->set_output(0, {out.data(), 15, DType::f32}));
  ASSERT_TRUE(invocation->set_input(0, view(x)));
  ASSERT_TRUE(invocation->set_input(1, view(y)));
  expect_error(invocation->run(), bad, "output 'out' needs 16 bytes, but its buffer has 15");
  EXPECT_EQ(out, std::vector<float>(8, -1.0f));
  ASSERT_TRUE(invocation->set_output(0, {}));  // from here on, the output is in the invocation's own memory
  ASSERT_TRUE(invocation->run());
  EXPECT_EQ(out, std::vector<float>(8, -1.0f));
}

TEST(ApiLoad, OptionsAreChecked) {
  test::ArtifactBuilder b = test::add_and_double();
  const auto load_with = [&](const LoadOptions& options) { return test::load_model(b, options); };
  expect_error(load_with({.device = "tpu"}), ErrorCode::unsupported,
               "this runtime has no device 'tpu', only 'cpu', 'cpu:0-1' (these cores), 'cuda' and 'cuda:1'");
  const std::string only_cpu = "the model has no code for GPUs, only for " + b.content.manifest.targets[0]->name;
  for (const char* device : {"cuda", "cuda:0"})
    expect_error(load_with({.device = device}), ErrorCode::unsupported, only_cpu);
  expect_error(load_with({.threads = -1}), ErrorCode::invalid_argument, "threads is -1; 0 to 1024 are possible");
  expect_error(load_with({.threads = 2000}), ErrorCode::invalid_argument, "threads is 2000; 0 to 1024 are possible");
  const std::string name = b.content.manifest.targets[0]->name;
  expect_error(load_with({.target = "x86-64-v9"}), ErrorCode::unsupported,
               "the model has no CPU code for target 'x86-64-v9', only for: " + name);
}

/// Two targets with one plan each; the plans compute different results.
TEST(ApiLoad, TheBestTargetIsChosenUnlessOneIsAskedFor) {
  test::ArtifactBuilder b = test::add_and_double();
  b.copy_plan().target = 1;
  auto better = std::make_unique<fb::TargetT>(*b.content.manifest.targets[0]);
  const uint64_t own = b.content.manifest.targets[0]->features;
  b.content.manifest.targets[0]->name = "base";
  b.content.manifest.targets[0]->features = 0;
  better->name = "better";
  b.content.manifest.targets.push_back(std::move(better));
  b.content.code.push_back(b.content.code[0]);
  EXPECT_EQ(test::load_model(b)->target(), "better");
  EXPECT_EQ(test::load_model(b, {.target = "base"})->target(), "base");
  b.content.manifest.targets[1]->features = own ^ (kCpuX86_64 | kCpuAarch64);  // another architecture's
  EXPECT_EQ(test::load_model(b)->target(), "base");
  EXPECT_NE(test::load_model(b, {.target = "better"}).error().message.find("which this CPU lacks"), std::string::npos);
  b.content.manifest.targets[0]->features = own ^ (kCpuX86_64 | kCpuAarch64);
  EXPECT_NE(test::load_model(b).error().message.find("the model has code for base, better; this CPU offers"),
            std::string::npos);
}

/// On a CPU without tiles, or if the system does not permit them, the next best code runs. A message says why the code
/// for tiles cannot run.
TEST(ApiLoad, CodeForTilesIsTakenWhereTheyMayBeUsed) {
  test::ArtifactBuilder b = test::add_and_double();
  b.copy_plan().target = 1;
  auto tiles = std::make_unique<fb::TargetT>(*b.content.manifest.targets[0]);
  b.content.manifest.targets[0]->name = "base";
  b.content.manifest.targets[0]->features = 0;
  tiles->name = "tiles";
  tiles->features = kFeaturesX86_64v4Amx;
  b.content.manifest.targets.push_back(std::move(tiles));
  b.content.code.push_back(b.content.code[0]);
  const bool has = (kFeaturesX86_64v4Amx & ~cpu_features()) == 0, may = has && may_use_tiles();
  EXPECT_EQ(test::load_model(b)->target(), may ? "tiles" : "base");
  const Result<Program> asked = test::load_model(b, {.target = "tiles"});
  ASSERT_EQ(bool(asked), may);
  if (may) return;
  EXPECT_NE(asked.error().message.find("target 'tiles' needs "), std::string::npos) << asked.error().message;
  EXPECT_NE(asked.error().message.find(has ? "AMX, which the system does not let" : "AMX, which this CPU lacks"),
            std::string::npos)
      << asked.error().message;
}

/// An artifact with code for two targets, which require these features.
test::ArtifactBuilder with_targets(uint64_t base, uint64_t other) {
  test::ArtifactBuilder b = test::add_and_double();
  b.copy_plan().target = 1;
  auto second = std::make_unique<fb::TargetT>(*b.content.manifest.targets[0]);
  b.content.manifest.targets[0]->name = "base";
  b.content.manifest.targets[0]->features = base;
  second->name = "other";
  second->features = other;
  b.content.manifest.targets.push_back(std::move(second));
  b.content.code.push_back(b.content.code[0]);
  return b;
}

TEST(ApiLoad, PairsOfBf16AreTakenWhereTheyAreFast) {
  if ((kFeaturesX86_64v4Bf16 & ~cpu_features()) != 0) GTEST_SKIP() << "this CPU has no AVX512-BF16";
  test::ArtifactBuilder b = with_targets(kFeaturesX86_64v4, kFeaturesX86_64v4Bf16);
  EXPECT_EQ(test::load_model(b)->target(), multiplies_pairs_slowly() ? "base" : "other");
  EXPECT_EQ(test::load_model(b, {.target = "other"})->target(), "other");
}

/// Linux denies tiles to a process if one of its signal stacks is too small for them.
[[noreturn]] void load_with_a_small_signal_stack() {
  static char memory[8192];
  const stack_t stack{.ss_sp = memory, .ss_flags = 0, .ss_size = sizeof memory};
  const bool refused = sigaltstack(&stack, nullptr) == 0 && !may_use_tiles();
  test::ArtifactBuilder b = with_targets(kFeaturesX86_64v4, kFeaturesX86_64v4Amx);
  const Result<Program> asked = test::load_model(b, {.target = "other"});
  const bool says_so = !asked && asked.error().message.find("AMX, which the system does not let") != std::string::npos;
  std::_Exit(refused && says_so && test::load_model(b)->target() == "base" ? 0 : 1);
}

TEST(ApiLoadDeathTest, TilesThatTheSystemKeepsBackAreNotUsed) {
  if ((kFeaturesX86_64v4Amx & ~cpu_features()) != 0) GTEST_SKIP() << "this CPU has no tiles";
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // runs the child as a new process, which has not requested tiles yet
  EXPECT_EXIT(load_with_a_small_signal_stack(), testing::ExitedWithCode(0), "");
}

TEST(ApiLoad, ShapesWithoutAPlan) {
  test::ArtifactBuilder b = test::with_static_plan(8);
  std::swap(b.entry().plans[0], b.entry().plans[1]);
  b.entry().plans.pop_back();
  Result<Program> program = test::load_model(b, {.threads = 1});
  const std::vector<float> x = ramp(9);
  expect_error(program->run(std::vector<TensorView>{view(x), view(x)}), ErrorCode::unsupported,
               "the model was compiled for n=8, not for n=9");
}

class ApiFile : public testing::Test {
 protected:
  ~ApiFile() override { std::remove(path.c_str()); }
  void write(std::span<const uint8_t> bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
  }
  std::string path = testing::TempDir() + "gart_api_test_" + std::to_string(getpid()) + ".gart";
};

TEST_F(ApiFile, LoadsAndRunsFromAPath) {
  write(test::add_and_double().write());
  auto model = load(path);
  ASSERT_TRUE(model) << model.error().message;
  const std::vector<float> x = ramp(30);
  auto out = model->run(std::vector<TensorView>{view(x), view(x)});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->at(0).elements<float>()[29], 4 * 29.0f);
}

TEST_F(ApiFile, CodeThatCannotBeMappedIsCopied) {
  write(test::add_and_double().write({.raw_alignment = 64}));
  auto model = load(path);
  ASSERT_TRUE(model) << model.error().message;
  const std::vector<float> x = ramp(30);
  EXPECT_EQ(model->run(std::vector<TensorView>{view(x), view(x)})->at(0).elements<float>()[29], 4 * 29.0f);
}

TEST_F(ApiFile, UnreadableFiles) {
  expect_error(load("/nonexistent/model.gart"), ErrorCode::io,
               "cannot open '/nonexistent/model.gart': No such file or directory");
  expect_error(load(testing::TempDir()), ErrorCode::io, "'" + testing::TempDir() + "' is not a regular file");
  write({});
  expect_error(load(path), ErrorCode::invalid_artifact, "'" + path + "' is empty");
  write(std::vector<uint8_t>(1000, 'x'));
  expect_error(load(path), ErrorCode::invalid_artifact,
               "cannot load '" + path + "': this is not a .gart file: it does not begin with the magic bytes");
}

TEST(ApiLoad, MemoryOfAnyAlignment) {
  const std::vector<uint8_t> bytes = test::add_and_double().write();
  for (size_t shift = 0; shift < 9; ++shift) {
    std::vector<uint8_t> moved(bytes.size() + shift);
    std::copy(bytes.begin(), bytes.end(), moved.begin() + std::ptrdiff_t(shift));
    auto model = load(std::span<const uint8_t>(moved).subspan(shift));
    ASSERT_TRUE(model) << model.error().message;
  }
  EXPECT_FALSE(load(std::span<const uint8_t>()));
}

TEST(ApiLoad, DamageIsFoundUnlessVerificationIsOff) {
  test::ArtifactBuilder builder = test::doubling_loop();
  std::vector<uint8_t> bytes = builder.write();
  bytes[bytes.size() - 1] ^= 1;  // in the weights
  EXPECT_NE(load(bytes).error().message.find("weights"), std::string::npos);
  EXPECT_TRUE(load(bytes, {.verify = false}));
}

TEST(ApiTensor, AllocatesAndCopies) {
  const std::vector<float> values = ramp(6);
  Result<Tensor> tensor = Tensor::copy_of({values.data(), DType::f32, Shape{2, 3}});
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->bytes(), 24u);
  EXPECT_EQ(tensor->elements<float>()[5], 5.0f);
  EXPECT_EQ(tensor->shape().text(), "[2,3]");
  expect_error(Tensor::allocate(DType::f32, Shape{-1}), ErrorCode::invalid_argument, "there is no tensor f32[-1]");
  expect_error(Tensor::allocate(DType::f32, Shape{INT64_MAX, 2}), ErrorCode::invalid_argument,
               "there is no tensor f32[9223372036854775807,2]");
  expect_error(Tensor::allocate(DType::undefined, Shape{}), ErrorCode::invalid_argument,
               "there is no tensor undefined[]");
  expect_error(Tensor::copy_of({nullptr, DType::f32, Shape{1}}), ErrorCode::invalid_argument,
               "the data pointer is null");
  EXPECT_TRUE(Tensor::allocate(DType::f32, Shape{0, INT64_MAX}));
}

}  // namespace
}  // namespace gart
