#include "tools/gcc-graph/io/npz.h"

#include <zip.h>

#include <algorithm>
#include <memory>

#include "tools/gcc-graph/io/npy.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

namespace {

using ZipMember = std::unique_ptr<zip_file_t, int (*)(zip_file_t*)>;

/// Reads at most `size` bytes. The buffer grows with the data that is read, because the size in an archive may be
/// false.
void read_up_to(const ZipMember& file, size_t size, const std::string& where, std::vector<uint8_t>& data) {
  constexpr size_t kPiece = size_t{8} << 20;
  while (data.size() < size) {
    const size_t before = data.size(), piece = std::min(size - before, std::max(kPiece, before));
    try {
      data.resize(before + piece);
    } catch (const std::exception&) {
      fail(where, ": it has ", size, " bytes, more than the free memory");
    }
    for (size_t at = before; at < data.size();) {
      const zip_int64_t got = zip_fread(file.get(), data.data() + at, data.size() - at);
      if (got <= 0) fail(where, ": cannot be read");
      at += static_cast<size_t>(got);
    }
  }
}

HostTensor read_member(zip_t* zip, zip_uint64_t index, const std::string& name, const std::string& where,
                       const ArrayCheck& check) {
  zip_stat_t stat;
  const ZipMember file(zip_fopen_index(zip, index, 0), zip_fclose);
  if (!file || zip_stat_index(zip, index, 0, &stat) != 0) fail(where, ": ", zip_strerror(zip));
  std::vector<uint8_t> data;
  read_up_to(file, std::min<uint64_t>(stat.size, kMostNpyHeader), where, data);
  const NpyHeader header = read_npy_header(data, where);
  check_npy_size(header, stat.size, where);
  if (check) check(name, header.dtype, header.shape);
  read_up_to(file, stat.size, where, data);
  return npy_tensor(header, data);
}

}  // namespace

NamedTensors read_npz(const std::string& path, const ArrayCheck& check) {
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
    const auto index = static_cast<zip_uint64_t>(i);
    std::string name = zip_get_name(zip.get(), index, 0);
    const std::string where = path + ", array '" + name + "'";
    if (name.size() > 4 && name.ends_with(".npy")) name.resize(name.size() - 4);
    out.emplace(name, read_member(zip.get(), index, name, where, check));
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
