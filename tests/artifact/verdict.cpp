#include "tests/artifact/verdict.h"

#include "artifact_schema/reader.h"
#include "artifact_schema/verify.h"

namespace gart::test {

std::string verdict(ArtifactBuilder& builder) {
  const std::vector<uint8_t> bytes = builder.write({.raw_alignment = 64});
  ArtifactView view;
  Status status = read_artifact(bytes, view);
  if (status.ok()) status = verify_artifact(view);
  return status.message;
}

ArtifactBuilder with_kernel() {
  static const KernelBlob blob{std::vector<uint8_t>(100, 0xc3), {{"k", 10}}};
  ArtifactBuilder b(&blob);
  const uint32_t size = b.constant(64), zero = b.constant(0);
  b.input("x", fb::DType::u8, {size});
  b.output("y", fb::DType::u8, {size});
  const uint32_t x = b.buffer(fb::BufferKind::input, 0, size), y = b.buffer(fb::BufferKind::output, 0, size);
  b.launch(b.kernel("k", 2, 1, zero), {x, y}, {size}, zero, {1});
  b.close_sequence();
  return b;
}

}  // namespace gart::test
