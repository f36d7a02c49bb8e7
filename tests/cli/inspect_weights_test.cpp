// The verifier does not check the file's data about weights stored twice, so `inspect` must accept any contents.
#include "tools/gcc-graph/inspect/inspect_weights.h"

#include <gtest/gtest.h>

namespace gcg::tools {
namespace {

using Json = nlohmann::ordered_json;

Json shown(const gart::fb::ManifestT& manifest) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(gart::fb::Manifest::Pack(builder, &manifest));
  const Json json = stored_twice_json(*flatbuffers::GetRoot<gart::fb::Manifest>(builder.GetBufferPointer()));
  return Json::parse(json.dump(2, ' ', false, Json::error_handler_t::replace));
}

std::string printed(const Json& report) {
  testing::internal::CaptureStdout();
  print_stored_twice(report);
  return testing::internal::GetCapturedStdout();
}

TEST(StoredTwice, OfFilesThatDoNotSayNothingIsSaid) {
  gart::fb::ManifestT manifest;
  EXPECT_TRUE(shown(manifest).is_null());
  manifest.stored_twice_bytes = INT64_MIN;
  EXPECT_TRUE(shown(manifest).is_null());
  EXPECT_EQ(printed(Json::object()), "\n");
}

TEST(StoredTwice, OnceIsSaidOfNoByteTwice) {
  gart::fb::ManifestT manifest;
  manifest.stored_twice_bytes = 0;
  EXPECT_EQ(printed({{"stored_twice", shown(manifest)}}), ", stored once\n");
}

TEST(StoredTwice, TheLinesAddUp) {
  gart::fb::ManifestT manifest;
  manifest.stored_twice_bytes = 100;
  manifest.stored_twice.push_back(std::make_unique<gart::fb::StoredTwiceT>());
  manifest.stored_twice.back()->name = "w";
  manifest.stored_twice.back()->bytes = 60;
  EXPECT_EQ(printed({{"stored_twice", shown(manifest)}}),
            ", 100 of them stored twice, in another order or type\n"
            "  twice 60 bytes of 'w'\n  twice 40 bytes of other weights\n");
}

TEST(StoredTwice, AnyContentCanBeShown) {
  gart::fb::ManifestT manifest;
  manifest.stored_twice_bytes = INT64_MAX;
  for (int i = 0; i < 100; ++i) {
    manifest.stored_twice.push_back(std::make_unique<gart::fb::StoredTwiceT>());
    manifest.stored_twice.back()->bytes = UINT64_MAX;
    manifest.stored_twice.back()->name =
        i % 2 ? std::string(100000, '\xff') : std::string();  // an empty name is not stored
  }
  const Json report = {{"stored_twice", shown(manifest)}};
  EXPECT_EQ(report["stored_twice"]["bytes"], INT64_MAX);
  EXPECT_EQ(report["stored_twice"]["most"].size(), 8u);
  EXPECT_LT(printed(report).size(), 10000u);
}

}  // namespace
}  // namespace gcg::tools
