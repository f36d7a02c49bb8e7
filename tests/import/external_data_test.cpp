// External files: only whole files beneath the model's folder.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/import/text_model.h"

namespace gcg::test {
namespace {

namespace fs = std::filesystem;

class ExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("external." + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "model/weights");
    const std::vector<float> data = {0, 1, 2, 3, 4, 5, 6, 7};
    for (const char* name : {"model/w.bin", "model/weights/w.bin", "outside.bin"})
      std::ofstream(folder_ / name, std::ios::binary).write(reinterpret_cast<const char*>(data.data()), 32);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static onnx::ModelProto model(const std::string& location, const std::string& rest = "") {
    return graph_model(
        "initializer { name: 'w' dims: 2 data_type: 1 data_location: EXTERNAL external_data { key: 'location' value: "
        "'" +
        location + "' } " + rest + " } " + node("Identity", "w", "y") + "output { name: 'y' }");
  }
  static std::string bytes(const char* key, const std::string& value) {
    return std::string("external_data { key: '") + key + "' value: '" + value + "' } ";
  }
  std::string error(const std::string& location, const std::string& rest = "") {
    return error_of(model(location, rest), (folder_ / "model").string());
  }
  double second(const std::string& location, const std::string& rest = "") {
    return value_called(import_model(model(location, rest), (folder_ / "model").string()).graph, "w")
        .constant->at_double(1);
  }

  fs::path folder_;
};

const std::string kWhere = "the external data of tensor 'w' lies at ";

TEST_F(ExternalData, IsReadAtItsOffset) {
  EXPECT_EQ(second("w.bin"), 1);
  EXPECT_EQ(second("weights/w.bin", bytes("offset", "8") + bytes("length", "8")), 3);
  EXPECT_EQ(second("./w.bin", bytes("offset", "24")), 7);
  const float four = 4;
  std::ofstream file(folder_ / "model/odd.bin", std::ios::binary);
  file.write("abc", 3).write(reinterpret_cast<const char*>(&four), 4).write(reinterpret_cast<const char*>(&four), 4);
  file.close();
  EXPECT_EQ(second("odd.bin", bytes("offset", "3")), 4) << "unaligned";
}

TEST_F(ExternalData, OfAModelFileLiesBesideIt) {
  std::ofstream(folder_ / "model/m.onnx", std::ios::binary) << model("w.bin").SerializeAsString();
  EXPECT_EQ(value_called(import_onnx((folder_ / "model/m.onnx").string()).graph, "w").constant->at_double(1), 1);
  EXPECT_EQ(error_of(model("w.bin")), kWhere + "w.bin, but the model comes from memory and has no folder");
}

TEST_F(ExternalData, OutsideTheFolderIsRefused) {
  EXPECT_EQ(error("/etc/passwd"),
            kWhere.substr(0, kWhere.size() - 3) +
                "at the absolute path /etc/passwd; only files beneath the model's folder are read");
  EXPECT_EQ(error("../outside.bin"), kWhere + "../outside.bin, which leaves the model's folder");
  EXPECT_EQ(error("weights/../../outside.bin"), kWhere + "weights/../../outside.bin, which leaves the model's folder");
  EXPECT_EQ(error(""), "the external data of tensor 'w' names no file");
  EXPECT_EQ(error("."), kWhere + "., which is not a file name");
}

TEST_F(ExternalData, LinksAndSpecialFilesAreRefused) {
  fs::create_symlink("../outside.bin", folder_ / "model/link.bin");
  fs::create_directory_symlink("weights", folder_ / "model/folder_link");
  fs::create_hard_link(folder_ / "outside.bin", folder_ / "model/hard.bin");
  ASSERT_EQ(::mkfifo((folder_ / "model/fifo").c_str(), 0600), 0);
  EXPECT_EQ(error("link.bin"), kWhere + "link.bin, where 'link.bin' is a symbolic link");
  EXPECT_EQ(error("folder_link/w.bin"), kWhere + "folder_link/w.bin, where 'folder_link' is a symbolic link");
  EXPECT_EQ(error("hard.bin"), kWhere + "hard.bin, which has 2 hard links; only 1 is allowed");
  EXPECT_EQ(error("fifo"), kWhere + "fifo, which is not a regular file");
  EXPECT_EQ(error("weights"), kWhere + "weights, which is not a regular file");
  EXPECT_EQ(error("missing.bin"), kWhere + "missing.bin, which cannot be read: No such file or directory");
}

TEST_F(ExternalData, OffsetsAndLengthsAreChecked) {
  EXPECT_EQ(error("w.bin", bytes("offset", "28")),
            "tensor 'w' has external data at bytes 28 to 28 + 8 of w.bin, which has only 32 bytes");
  EXPECT_EQ(error("w.bin", bytes("offset", "9223372036854775807")),
            "tensor 'w' has external data at bytes 9223372036854775807 to 9223372036854775807 + 8 of w.bin, which has "
            "only 32 bytes");
  EXPECT_EQ(error("w.bin", bytes("length", "4")),
            "tensor 'w' has external data of 4 bytes, but its shape and type need 8");
  for (const char* number : {"-1", "x", "", "99999999999999999999", "1.5"})
    EXPECT_EQ(error("w.bin", bytes("offset", number)),
              std::string("tensor 'w' has external data with offset '") + number + "', which is not a count of bytes");
}

}  // namespace
}  // namespace gcg::test
