#include "runtime/safetensors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/errors.h"

namespace gart {
namespace {

struct StoredType {
  DType dtype;
  char name[8];
};
constexpr StoredType kTypes[] = {
    {DType::f32, "F32"},      {DType::f64, "F64"},          {DType::f16, "F16"},       {DType::bf16, "BF16"},
    {DType::i8, "I8"},        {DType::i16, "I16"},          {DType::i32, "I32"},       {DType::i64, "I64"},
    {DType::u8, "U8"},        {DType::u16, "U16"},          {DType::u32, "U32"},       {DType::u64, "U64"},
    {DType::boolean, "BOOL"}, {DType::f8e4m3fn, "F8_E4M3"}, {DType::f8e5m2, "F8_E5M2"}};
constexpr size_t kMostHeader = 100'000'000;  // the limit of the reference implementation

std::string quoted(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20) {
      fail(ErrorCode::unsupported, "a safetensors file cannot hold a name with the control character ", int{c});
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

/// Writes all bytes, or returns false with errno set.
bool write_all(int file, const void* data, size_t bytes) {
  const auto* at = static_cast<const uint8_t*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(file, at, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    at += written;
    bytes -= static_cast<size_t>(written);
  }
  return true;
}

/// Reads the JSON that the format allows: objects of strings, and per tensor a type, extents and offsets.
class Header {
 public:
  Header(std::string_view text, std::span<const uint8_t> data) : text_(text), data_(data) {}

  std::vector<StoredTensor> read() {
    std::vector<StoredTensor> out;
    expect('{');
    if (take('}')) return ended(std::move(out));
    do {
      std::string name = string();
      expect(':');
      if (name == "__metadata__") {
        skip_metadata();
      } else {
        for (const StoredTensor& other : out) {
          if (other.name == name) wrong(gart::text("tensor '", name, "' occurs twice"));
        }
        out.push_back(tensor(std::move(name)));
      }
    } while (take(','));
    expect('}');
    return ended(std::move(out));
  }

 private:
  [[noreturn]] void wrong(const std::string& why) const {
    fail(ErrorCode::invalid_argument, "its safetensors header is wrong at byte ", at_, ": ", why);
  }

  std::vector<StoredTensor> ended(std::vector<StoredTensor> out) {
    skip_space();
    if (at_ != text_.size()) wrong("there is more after the end");
    return out;
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) wrong(gart::text("expected '", std::string(1, c), "'"));
  }

  std::string string() {
    expect('"');
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      char c = text_[at_++];
      if (c == '\\') {
        if (at_ == text_.size()) break;
        c = text_[at_++];
        if (std::string_view("\"\\/").find(c) == std::string_view::npos) {
          wrong("this escape is not supported");
        }
      }
      out += c;
    }
    if (at_ == text_.size()) wrong("a string does not end");
    ++at_;
    return out;
  }

  int64_t number() {
    skip_space();
    int64_t value = 0;
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text_[at_] - '0', &value))
        wrong("the number is too large");
      ++at_;
    }
    if (at_ == begin) wrong("expected a number");
    return value;
  }

  std::vector<int64_t> numbers() {
    std::vector<int64_t> out;
    expect('[');
    if (take(']')) return out;
    do out.push_back(number());
    while (take(','));
    expect(']');
    return out;
  }

  void skip_metadata() {
    expect('{');
    if (take('}')) return;
    do {
      string();
      expect(':');
      string();
    } while (take(','));
    expect('}');
  }

  StoredTensor tensor(std::string name) {
    StoredTensor out;
    out.name = std::move(name);
    std::vector<int64_t> offsets;
    bool has_shape = false;
    expect('{');
    do {
      const std::string key = string();
      expect(':');
      if (key == "dtype") {
        const std::string type = string();
        for (const StoredType& t : kTypes) {
          if (type == t.name) out.dtype = t.dtype;
        }
        if (out.dtype == DType::undefined) wrong(gart::text("tensor '", out.name, "' has the unknown type ", type));
      } else if (key == "shape") {
        const std::vector<int64_t> extents = numbers();
        if (extents.size() > kMaxRank) wrong(gart::text("tensor '", out.name, "' has rank ", extents.size()));
        out.shape = Shape(extents);
        has_shape = true;
      } else if (key == "data_offsets") {
        offsets = numbers();
      } else {
        wrong(gart::text("tensor '", out.name, "' has the unknown field '", key, "'"));
      }
    } while (take(','));
    expect('}');
    const int64_t elements = out.shape.elements(), end = static_cast<int64_t>(data_.size());
    int64_t bytes = 0;
    if (!has_shape || out.dtype == DType::undefined || elements < 0 || offsets.size() != 2 || offsets[0] > offsets[1] ||
        offsets[1] > end || __builtin_mul_overflow(elements, int64_t(size_of(out.dtype)), &bytes) ||
        offsets[1] - offsets[0] != bytes)
      wrong(gart::text("tensor '", out.name, "' of ", name_of(out.dtype), out.shape.text(),
                       " does not fit its offsets in ", end, " bytes"));
    out.bytes = data_.subspan(static_cast<size_t>(offsets[0]), static_cast<size_t>(bytes));
    return out;
  }

  std::string_view text_;
  std::span<const uint8_t> data_;
  size_t at_ = 0;
};

}  // namespace

void write_safetensors(const std::string& path, std::span<const Tensor> tensors) {
  std::string header = "{";
  size_t offset = 0;
  for (const Tensor& tensor : tensors) {
    const char* type = nullptr;
    for (const StoredType& t : kTypes) {
      if (t.dtype == tensor.dtype()) type = t.name;
    }
    if (type == nullptr) {
      fail(ErrorCode::unsupported, "safetensors has no type for '", tensor.name(), "' of ", name_of(tensor.dtype()));
    }
    std::string shape;
    for (const int64_t extent : tensor.shape().extents()) shape += text(shape.empty() ? "" : ",", extent);
    header += text(offset == 0 && header.size() == 1 ? "" : ",", quoted(tensor.name()), ":{\"dtype\":\"", type,
                   "\",\"shape\":[", shape, "],\"data_offsets\":[", offset, ",", offset + tensor.bytes(), "]}");
    offset += tensor.bytes();
  }
  header += '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');  // pads the header, so that the data is aligned to 8 bytes
  const uint64_t length = header.size();
  const std::string beside = text(path, ".tmp", getpid());
  const int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool good = file >= 0 && write_all(file, &length, sizeof(length)) && write_all(file, header.data(), header.size());
  for (size_t i = 0; good && i < tensors.size(); ++i) good = write_all(file, tensors[i].data(), tensors[i].bytes());
  good = good && ::fsync(file) == 0;
  int why = errno;
  if (file >= 0 && ::close(file) != 0 && good) good = false, why = errno;
  if (good && std::rename(beside.c_str(), path.c_str()) != 0) good = false, why = errno;
  if (good) return;
  if (file >= 0) ::unlink(beside.c_str());
  fail(ErrorCode::io, "cannot write '", path, "': ", std::strerror(why));
}

std::vector<StoredTensor> read_safetensors(std::span<const uint8_t> file) {
  uint64_t length = 0;
  if (file.size() < sizeof(length))
    fail(ErrorCode::invalid_argument, "it has ", file.size(), " bytes, less than a header");
  std::memcpy(&length, file.data(), sizeof(length));
  if (length > kMostHeader || length > file.size() - sizeof(length)) {
    fail(ErrorCode::invalid_argument, "its header would have ", length, " bytes, the file has ", file.size());
  }
  const auto header = file.subspan(sizeof(length), static_cast<size_t>(length));
  return Header({reinterpret_cast<const char*>(header.data()), header.size()},
                file.subspan(sizeof(length) + static_cast<size_t>(length)))
      .read();
}

}  // namespace gart
