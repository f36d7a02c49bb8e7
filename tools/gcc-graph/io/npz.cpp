#include "tools/gcc-graph/io/npz.h"

#include <zip.h>

#include <memory>

#include "tools/gcc-graph/io/npy.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

NamedTensors read_npz(const std::string& path) {
  int code = 0;
  std::unique_ptr<zip_t, int (*)(zip_t*)> zip(zip_open(path.c_str(), ZIP_RDONLY, &code), zip_close);
  if (!zip) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string text = zip_error_strerror(&error);
    zip_error_fini(&error);
    fail("cannot read ", path, ": ", text);
  }
  NamedTensors out;
  for (zip_int64_t i = 0; i < zip_get_num_entries(zip.get(), 0); ++i) {
    std::string name = zip_get_name(zip.get(), static_cast<zip_uint64_t>(i), 0);
    const std::string where = path + ", array '" + name + "'";
    zip_stat_t stat;
    std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(zip_fopen_index(zip.get(), static_cast<zip_uint64_t>(i), 0),
                                                           zip_fclose);
    if (!file || zip_stat_index(zip.get(), static_cast<zip_uint64_t>(i), 0, &stat) != 0)
      fail(where, ": ", zip_strerror(zip.get()));
    std::vector<uint8_t> data(stat.size);
    if (zip_fread(file.get(), data.data(), data.size()) != static_cast<zip_int64_t>(data.size()))
      fail(where, ": cannot be read");
    if (name.size() > 4 && name.ends_with(".npy")) name.resize(name.size() - 4);
    out.emplace(name, parse_npy(data, where));
  }
  return out;
}

void write_npz(const std::string& path, const std::map<std::string, gart::TensorView>& tensors) {
  int code = 0;
  zip_t* zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (zip == nullptr) fail("cannot write ", path);
  std::vector<std::string> contents;
  contents.reserve(tensors.size());
  for (const auto& [name, t] : tensors) {
    std::string& content = contents.emplace_back(npy_header(t));
    content.append(static_cast<const char*>(t.data), static_cast<size_t>(t.shape.elements()) * gart::size_of(t.dtype));
    zip_source_t* source = zip_source_buffer(zip, content.data(), content.size(), 0);
    const zip_int64_t index =
        source ? zip_file_add(zip, (name + ".npy").c_str(), source, ZIP_FL_OVERWRITE | ZIP_FL_ENC_UTF_8) : -1;
    if (index < 0) {
      zip_discard(zip);
      fail("cannot write array '", name, "' to ", path);
    }
    zip_set_file_compression(zip, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);
  }
  if (zip_close(zip) != 0) {
    const std::string text = zip_strerror(zip);
    zip_discard(zip);
    fail("cannot write ", path, ": ", text);
  }
}

}  // namespace gcg::tools
