// Artifacts with signatures: only bytes that a trusted key has signed are loaded. OpenSSL's program made the keys and
// the signature of tests/artifact/golden/2.0.gart.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gart/fleet.hpp"
#include "tests/runtime/models.h"

namespace gart {
namespace {

constexpr std::string_view kOurs =
    "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEASP/t1nMUorOnXB5hucRAub57KHNwYohYR9vRnWASKKQ=\n"
    "-----END PUBLIC KEY-----\n";
constexpr std::string_view kOther =
    "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAxWKHurVHXRoZmscefunxQrDyQ9VkXvWi/tfyw/nq9Gw=\n"
    "-----END PUBLIC KEY-----\n";
/// By kOurs: of the golden artifact, and of its first 1000 bytes.
constexpr char kSignature[] =
    "6cb216d6c5eb640d59de06183c5ef6751893ec0d2bb477cd500730463cab515e"
    "50a6839678db31dab4ea6db4639918effb7190858d41e212f87d4565e9ff5b0b";
constexpr char kSignatureOfOther[] =
    "fb6e211f1eed5daf2586eff3d773c0c1eab224f3b7ba53c867a8bdeb9981f7be"
    "cd2dce5b363b91c68416871f02b61c425568bd15ed31e688c1d44917cdd99807";

using Bytes = std::vector<uint8_t>;

Bytes from_hex(std::string_view text) {
  Bytes bytes;
  for (size_t i = 0; i < text.size(); i += 2)
    bytes.push_back(uint8_t(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  return bytes;
}

Bytes read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::filesystem::path& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
}

class Trust : public testing::Test {
 protected:
  Trust() {
    std::filesystem::create_directories(folder);
    write(path, artifact);
  }
  ~Trust() override { std::filesystem::remove_all(folder); }

  LoadOptions trusting(const std::vector<std::string_view>& keys, const Bytes& by = {}) const {
    return {.device = "cpu", .threads = 1, .trusted_keys = keys, .signature = by};
  }
  /// Loads from memory.
  Result<Program> loaded(const Bytes& bytes, const Bytes& by) const {
    return load(std::span<const uint8_t>(bytes), trusting(ours, by));
  }
  std::string message(const Result<Program>& result) const {
    return result.ok() ? "it was loaded" : result.error().message;
  }

  const std::vector<std::string_view> ours = {kOurs}, other = {kOther}, both = {kOther, kOurs};
  const Bytes artifact = read(std::filesystem::path(GCC_GRAPH_SOURCE_DIR) / "tests/artifact/golden/2.0.gart");
  const Bytes signature = from_hex(kSignature);
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("gart-trust-" + std::to_string(getpid()));
  const std::filesystem::path path = folder / "m.gart", beside = folder / "m.gart.sig";
};

TEST_F(Trust, ASignedArtifactIsLoaded) {
  EXPECT_TRUE(loaded(artifact, signature).ok());
  EXPECT_TRUE(load(path.string(), trusting(ours, signature)).ok());
  write(beside, signature);
  EXPECT_TRUE(load(path.string(), trusting(ours)).ok());
  EXPECT_TRUE(load(path.string(), trusting(both)).ok()) << "one of two keys is enough";
}

TEST_F(Trust, AnotherKeyIsRefused) {
  write(beside, signature);
  const Result<Program> refused = load(path.string(), trusting(other));
  EXPECT_EQ(message(refused), "cannot load '" + path.string() + "': it does not have a signature by a trusted key");
  EXPECT_EQ(refused.error().code, ErrorCode::untrusted);
}

TEST_F(Trust, AMissingSignatureIsRefused) {
  EXPECT_EQ(message(load(path.string(), trusting(ours))),
            "cannot load '" + path.string() + "': cannot open '" + beside.string() + "': No such file or directory");
  EXPECT_EQ(message(loaded(artifact, {})), "it does not have a signature by a trusted key");
}

TEST_F(Trust, ASignatureOfOtherBytesIsRefused) {
  EXPECT_FALSE(loaded(artifact, from_hex(kSignatureOfOther)).ok());
  const Bytes start(artifact.begin(), artifact.begin() + 1000);
  EXPECT_EQ(loaded(start, from_hex(kSignatureOfOther)).error().code, ErrorCode::invalid_artifact)
      << "signed, but not an artifact";
}

TEST_F(Trust, EachChangedByteIsFound) {
  Bytes changed = artifact;
  for (size_t i = 0; i < changed.size(); ++i) {
    changed[i] ^= uint8_t(1 << i % 8);
    const Result<Program> refused = loaded(changed, signature);
    ASSERT_FALSE(refused.ok()) << "byte " << i;
    ASSERT_EQ(refused.error().code, ErrorCode::untrusted) << "byte " << i;
    changed[i] = artifact[i];
  }
}

TEST_F(Trust, EachChangedBitOfTheSignatureIsFound) {
  Bytes changed = signature;
  for (size_t bit = 0; bit < 8 * changed.size(); ++bit) {
    changed[bit / 8] ^= uint8_t(1 << bit % 8);
    ASSERT_EQ(message(loaded(artifact, changed)), "it does not have a signature by a trusted key") << bit;
    changed[bit / 8] = signature[bit / 8];
  }
}

TEST_F(Trust, OtherLengthsAreRefused) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{64}, artifact.size() - 1, artifact.size() + 1}) {
    Bytes cut = artifact;
    cut.resize(size);
    EXPECT_EQ(message(loaded(cut, signature)), "it does not have a signature by a trusted key") << size;
  }
  for (const size_t size : {1u, 32u, 63u, 65u, 4096u}) {
    Bytes cut = signature;
    cut.resize(size);
    EXPECT_FALSE(loaded(artifact, cut).ok()) << size;
    write(beside, cut);
    EXPECT_FALSE(load(path.string(), trusting(ours)).ok()) << size;
  }
  write(beside, {});
  EXPECT_EQ(message(load(path.string(), trusting(ours))),
            "cannot load '" + path.string() + "': '" + beside.string() + "' is empty");
}

TEST_F(Trust, OnlyPublicKeysOfEd25519AreKeys) {
  const std::string whole(kOurs);
  const std::string cut = whole.substr(0, 80);
  std::string damaged = whole, padded = whole;
  damaged[50] = '*';
  padded[whole.find('=')] = 'A';
  const std::string private_key =
      "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIEd3MFwg8jT0uGvVn9pZlXf2sYpT7gGTTQXcLbXGz5d1\n"
      "-----END PRIVATE KEY-----\n";
  for (const std::string& key : {std::string(), std::string("key"), cut, damaged, padded, private_key}) {
    const std::vector<std::string_view> keys = {kOurs, key};
    const Result<Program> refused = load(std::span<const uint8_t>(artifact), trusting(keys, signature));
    EXPECT_EQ(message(refused), "trusted key 2 is not the text of a PEM file with a public key of Ed25519") << key;
  }
}

/// The outputs of two entry points of the golden artifact: one computes, and one reads weights.
std::vector<std::vector<float>> outputs_of(const Program& program) {
  const std::vector<float> x = test::ramp(48), y = test::ramp(48, 1);
  const uint8_t flag = 1;
  std::vector<std::vector<float>> values;
  const auto add = [&](const Result<std::vector<Tensor>>& out) {
    EXPECT_TRUE(out.ok()) << out.error().message;
    if (out.ok()) values.push_back(test::floats(out->at(0)));
  };
  add(program.run(std::vector<NamedTensor>{{"x", {x.data(), DType::f32, Shape{3, 16}}},
                                           {"y", {y.data(), DType::f32, Shape{3, 16}}},
                                           {"flag", {&flag, DType::boolean, Shape{}}}}));
  add(program.run(std::vector<NamedTensor>(), "read"));
  return values;
}

TEST_F(Trust, TheBytesThatWereCheckedAreUsed) {
  const Program program = load(path.string(), trusting(ours, signature)).value();
  const auto before = outputs_of(program);
  ASSERT_EQ(before.size(), 2u);
  write(path, Bytes(artifact.size(), 0xcc));  // in place: a mapping would show these bytes
  EXPECT_EQ(outputs_of(program), before);
  EXPECT_FALSE(load(path.string(), trusting(ours, signature)).ok());
  Bytes mine = artifact;
  const Program from_memory = load(std::span<const uint8_t>(mine), trusting(ours, signature)).value();
  std::fill(mine.begin(), mine.end(), uint8_t{0xcc});
  EXPECT_EQ(outputs_of(from_memory), before);
}

TEST_F(Trust, FleetsCheckSignatures) {
  const auto trusting_fleet = [](const std::vector<std::string_view>& keys, const Bytes& by) {
    return fleet::LoadOptions{.trusted_keys = keys, .signature = by};
  };
  EXPECT_EQ(fleet::load(path.string(), trusting_fleet(other, signature)).error().code, ErrorCode::untrusted);
  const std::span<const uint8_t> bytes(artifact);
  EXPECT_EQ(fleet::load(bytes, trusting_fleet(other, signature)).error().code, ErrorCode::untrusted);
  // The signature is right, so the next check finds that this file has no parts.
  EXPECT_EQ(fleet::load(path.string(), trusting_fleet(ours, signature)).error().code, ErrorCode::unsupported);
  EXPECT_EQ(fleet::load(bytes, trusting_fleet(ours, signature)).error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace gart
