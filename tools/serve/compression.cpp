#include "tools/serve/compression.h"

#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <new>

#include "tools/serve/refusal.h"

namespace gcg::serve {
namespace {

constexpr int kGzip = 15 + 16;  // zlib's windowBits: the largest window, and gzip's header
constexpr int kZlib = 15;
constexpr size_t kPiece = 1 << 16;

bool is_same(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

struct Inflating {
  z_stream stream = {};
  explicit Inflating(int bits) {
    if (inflateInit2(&stream, bits) != Z_OK) throw std::bad_alloc();
  }
  ~Inflating() { inflateEnd(&stream); }
};

struct Deflating {
  z_stream stream = {};
  explicit Deflating(int bits) {
    if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  }
  ~Deflating() { deflateEnd(&stream); }
};

Bytef* bytes_of(const char* data) { return reinterpret_cast<Bytef*>(const_cast<char*>(data)); }

}  // namespace

std::string decompressed(std::string_view data, std::string_view encoding, size_t limit) {
  if (is_same(encoding, "identity")) return std::string(data);
  if (!is_same(encoding, "gzip") && !is_same(encoding, "deflate"))
    refuse(415, "the Content-Encoding '", encoding.substr(0, 40), "' is not known; known: gzip, deflate, identity");
  Inflating inflating(is_same(encoding, "gzip") ? kGzip : kZlib);
  z_stream& z = inflating.stream;
  z.next_in = bytes_of(data.data());
  z.avail_in = static_cast<uInt>(data.size());  // fits: the server's limit of a body is below 4 GiB
  std::string out;
  int result = Z_OK;
  while (result == Z_OK) {
    const size_t size = out.size();
    out.resize(size + kPiece);
    z.next_out = bytes_of(out.data() + size);
    z.avail_out = kPiece;
    result = inflate(&z, Z_NO_FLUSH);
    out.resize(size + kPiece - z.avail_out);
    if (out.size() > limit) refuse(413, "the decompressed body has more than ", limit, " bytes, the limit");
  }
  if (result != Z_STREAM_END || z.avail_in > 0) refuse(400, "the body is not ", encoding, " data from begin to end");
  return out;
}

std::string_view chosen_encoding(std::string_view accepted) {
  while (!accepted.empty()) {
    const size_t comma = std::min(accepted.find(','), accepted.size());
    std::string_view entry = accepted.substr(0, comma);
    accepted.remove_prefix(std::min(comma + 1, accepted.size()));
    const size_t semicolon = std::min(entry.find(';'), entry.size());
    const std::string_view name = trimmed(entry.substr(0, semicolon));
    const std::string_view quality = trimmed(entry.substr(std::min(semicolon + 1, entry.size())));
    const bool is_refused = quality.starts_with("q=0") && quality.find_first_not_of("0.", 2) == quality.npos;
    for (const std::string_view known : {"gzip", "deflate"})
      if (is_same(name, known) && !is_refused) return known;
  }
  return {};
}

std::string compressed(std::string_view data, std::string_view encoding) {
  Deflating deflating(encoding == "gzip" ? kGzip : kZlib);
  z_stream& z = deflating.stream;
  z.next_in = bytes_of(data.data());
  z.avail_in = static_cast<uInt>(data.size());
  std::string out(deflateBound(&z, static_cast<uLong>(data.size())), '\0');
  z.next_out = bytes_of(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(out.size() - z.avail_out);
  return out;
}

}  // namespace gcg::serve
