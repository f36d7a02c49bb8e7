// Invalid tensor maps and clusters: the verifier rejects each one, and the message says where and what.
#include <gtest/gtest.h>

#include "tests/artifact/verdict.h"

namespace gart {
namespace {

using test::ArtifactBuilder;
using test::Nonsense;
using test::verdict;
using test::with_kernel;

/// A kernel for a GPU, with a tensor map of operand 0.
ArtifactBuilder with_map() {
  ArtifactBuilder b = with_kernel();
  b.content.manifest.targets[0]->kind = fb::TargetKind::cuda_sm;
  fb::KernelT& kernel = *b.plan().kernels[0];
  kernel.offset = 0;
  kernel.symbol = "k";
  kernel.threads = 32;
  kernel.shared = 16384;
  kernel.maps = 1;
  fb::StepT& step = *b.plan().sequences[0]->steps[0];
  step.params = {0, 0, 0, 0, 0};
  step.maps.push_back(std::make_unique<fb::TensorMapT>());
  step.maps[0]->dtype = fb::DType::f16;
  step.maps[0]->swizzle = fb::Swizzle::bytes128;
  step.maps[0]->box = {64, 128};
  return b;
}

fb::StepT& map_step(ArtifactBuilder& b) { return *b.plan().sequences[0]->steps[0]; }
fb::TensorMapT& map_of(ArtifactBuilder& b) { return *map_step(b).maps[0]; }

const Nonsense kMapNonsense[] = {
    {"it gives 1 tensor maps to its kernel, which takes another number",
     [](auto& b) { b.plan().kernels[0]->maps = 2; }},
    {"it gives 0 tensor maps to its kernel, which takes another number", [](auto& b) { map_step(b).maps.clear(); }},
    {"it gives 2 operands and 4 params to kernel 0, which takes 2 and 5",
     [](auto& b) { map_step(b).params.pop_back(); }},
    {"it gives 2 operands and 5 params to kernel 0, which takes 2 and 7", [](auto& b) { map_of(b).box = {64, 2, 2}; }},
    {"param 4 is 2, but there are 2 slots", [](auto& b) { map_step(b).params[4] = 2; }},
    {"a tensor map: its operand is 2, which does not exist", [](auto& b) { map_of(b).operand = 2; }},
    {"a tensor map: its dtype is 13, which tensor maps lack", [](auto& b) { map_of(b).dtype = fb::DType::boolean; }},
    {"a tensor map: its swizzle is 4, which is not known", [](auto& b) { map_of(b).swizzle = fb::Swizzle(4); }},
    {"a tensor map: its tensor has 1 dimensions, not 2 to 5", [](auto& b) { map_of(b).box = {64}; }},
    {"a tensor map: its tensor has 6 dimensions, not 2 to 5", [](auto& b) { map_of(b).box = {64, 1, 1, 1, 1, 1}; }},
    {"a tensor map: an extent of its box is 0, not 1 to 256", [](auto& b) { map_of(b).box[1] = 0; }},
    {"a tensor map: an extent of its box is 257, not 1 to 256", [](auto& b) { map_of(b).box[1] = 257; }},
    {"a tensor map: its box has 32768 bytes, more than the kernel's shared memory",
     [](auto& b) { map_of(b).box[1] = 256; }},
    {"a tensor map: lines of its box have 8 bytes: not a multiple of 16, or too many",
     [](auto& b) { map_of(b).box[0] = 4; }},
    {"a tensor map: lines of its box have 128 bytes: not a multiple of 16, or too many to swizzle",
     [](auto& b) { map_of(b).swizzle = fb::Swizzle::bytes64; }},
    {"it has tensor maps, but is not a launch of a GPU",
     [](auto& b) { map_step(b).kind = fb::StepKind::fill, map_step(b).operands = {1}, map_step(b).params.clear(); }},
    {"it has tensor maps, but is not a launch of a GPU",
     [](auto& b) { b.content.manifest.targets[0]->kind = fb::TargetKind::cpu; }},
};

/// The same kernel with a tensor map of images: 64 channels of 128 pixels, and windows of 3 columns with a stride of 2.
ArtifactBuilder with_image_map() {
  ArtifactBuilder b = with_map();
  fb::TensorMapT& map = map_of(b);
  map_step(b).params.resize(9, 0);
  map.kind = fb::MapKind::im2col;
  map.box = {64, 1, 1, 1};
  map.steps = {1, 2, 2, 1};
  map.lower = {-1, -128};
  map.upper = {-1, 127};
  map.pixels = 128;
  return b;
}

const Nonsense kImageMapNonsense[] = {
    {"a tensor map: its kind is 2, which is not known", [](auto& b) { map_of(b).kind = fb::MapKind(2); }},
    {"a tensor map: its boxes have 128 pixels or it has corners, but it is not of images",
     [](auto& b) { map_of(b).kind = fb::MapKind::tiled; }},
    {"a tensor map: its images have 2 dimensions, not 3 to 5",
     [](auto& b) { map_of(b).box = {64, 1}, map_of(b).steps = {}, map_step(b).params.resize(5); }},
    {"a tensor map: its boxes have 0 pixels, not 1 to 1024", [](auto& b) { map_of(b).pixels = 0; }},
    {"a tensor map: its boxes have 1025 pixels, not 1 to 1024", [](auto& b) { map_of(b).pixels = 1025; }},
    {"a tensor map: its box has 131072 bytes, more than the kernel's shared memory",
     [](auto& b) { map_of(b).pixels = 1024; }},
    {"a tensor map: it has 1 numbers for a corner, not one per spatial dimension",
     [](auto& b) { map_of(b).upper = {0}; }},
    {"a tensor map: it has 3 numbers for a corner, not one per spatial dimension",
     [](auto& b) { map_of(b).lower = {0, 0, 0}; }},
    {"a tensor map: a corner is -129, not -128 to 127 as for 4 dimensions", [](auto& b) { map_of(b).lower[0] = -129; }},
    {"a tensor map: a corner is 128, not -128 to 127 as for 4 dimensions", [](auto& b) { map_of(b).upper[1] = 128; }},
    {"a tensor map: a corner is -2147483648, not -128 to 127 as for 4 dimensions",
     [](auto& b) { map_of(b).upper[1] = INT32_MIN; }},
    {"a tensor map: its pixels have an extent of 2 beside channels", [](auto& b) { map_of(b).box[2] = 2; }},
    {"a tensor map: its images are 2 apart, not 1", [](auto& b) { map_of(b).steps[3] = 2; }},
    {"a tensor map: it has 3 steps, not one per dimension", [](auto& b) { map_of(b).steps = {1, 2, 2}; }},
    {"a tensor map: a step is 2, not 1 to 8, or 1 in the contiguous dimension",
     [](auto& b) { map_of(b).steps[0] = 2; }},
    {"a tensor map: a step is 9, not 1 to 8, or 1 in the contiguous dimension",
     [](auto& b) { map_of(b).steps[1] = 9; }},
    {"a tensor map: a step is 0, not 1 to 8, or 1 in the contiguous dimension",
     [](auto& b) { map_of(b).steps[2] = 0; }},
    {"its clusters have 9 blocks, the limit is 8", [](auto& b) { b.plan().kernels[0]->cluster = 9; }},
};

TEST(Verify, TensorMapsOfImagesAreSuchAsTheGpuTakes) {
  for (const Nonsense& nonsense : kImageMapNonsense) {
    ArtifactBuilder builder = with_image_map();
    ASSERT_EQ(verdict(builder), "");
    nonsense.commit(builder);
    const std::string message = verdict(builder);
    EXPECT_NE(message.find(nonsense.message), std::string::npos) << message << " instead of " << nonsense.message;
  }
}

TEST(Verify, TensorMapsAreSuchAsTheGpuTakes) {
  for (const Nonsense& nonsense : kMapNonsense) {
    ArtifactBuilder builder = with_map();
    ASSERT_EQ(verdict(builder), "");
    nonsense.commit(builder);
    const std::string message = verdict(builder);
    EXPECT_NE(message.find(nonsense.message), std::string::npos)
        << "got '" << message << "', wanted '" << nonsense.message << "'";
  }
}

}  // namespace
}  // namespace gart
