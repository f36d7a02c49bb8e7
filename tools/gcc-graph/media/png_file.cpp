#include "tools/gcc-graph/media/image.h"
#include "tools/gcc-graph/support/fail.h"

#if GCC_GRAPH_PNG
#include <png.h>

#include <csetjmp>
#include <cstring>
#include <new>
#endif

namespace gcg::tools {

#if GCC_GRAPH_PNG
namespace {

/// libpng reports errors by longjmp. The functions that it leaves that way, read() and decode(), own no objects with
/// destructors: the picture and the message are members.
class PngReader {
 public:
  PngReader(const std::string& where, std::span<const uint8_t> file) : where_(where), rest_(file) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw std::bad_alloc();
    }
    png_set_read_fn(png_, this, read);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  Image image() {
    if (!read_header()) refuse();
    check_picture_size(where_, static_cast<uint64_t>(image_.width), static_cast<uint64_t>(image_.height));
    if (!set_format()) refuse();
    const size_t row = png_get_rowbytes(png_, info_);
    if (row != static_cast<size_t>(image_.width * image_.channels)) fail(where_, ": its channels are not bytes");
    image_.bytes.resize(row * static_cast<size_t>(image_.height));
    if (!decode(row)) refuse();
    return std::move(image_);
  }

 private:
  [[noreturn]] void refuse() const { fail(where_, ": the PNG file is damaged: ", message_); }

  bool read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_read_info(png_, info_);
    image_.width = png_get_image_width(png_, info_);
    image_.height = png_get_image_height(png_, info_);
    return true;
  }
  bool set_format() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_expand(png_);  // palettes, less than 8 bits, and transparent colours
    png_set_scale_16(png_);
    if ((png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR) == 0) png_set_strip_alpha(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    image_.channels = png_get_channels(png_, info_);
    return true;
  }
  bool decode(size_t row) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    for (int pass = 0; pass < passes_; ++pass)
      for (int64_t y = 0; y < image_.height; ++y)
        png_read_row(png_, image_.bytes.data() + static_cast<size_t>(y) * row, nullptr);
    png_read_end(png_, nullptr);
    return true;
  }

  [[noreturn]] static void on_error(png_structp png, png_const_charp text) {
    std::strncpy(static_cast<PngReader*>(png_get_error_ptr(png))->message_, text, sizeof message_ - 1);
    png_longjmp(png, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}
  static void read(png_structp png, png_bytep to, size_t count) {
    auto& self = *static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > self.rest_.size()) png_error(png, "it ends too early");
    std::memcpy(to, self.rest_.data(), count);
    self.rest_ = self.rest_.subspan(count);
  }

  const std::string& where_;
  std::span<const uint8_t> rest_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  int passes_ = 1;
  Image image_;
  char message_[200] = {};
};

}  // namespace

Image decode_png(const std::string& where, std::span<const uint8_t> file) { return PngReader(where, file).image(); }
#else
Image decode_png(const std::string& where, std::span<const uint8_t>) {
  fail(where, ": this gcc-graph was built without libpng, which reads PNG files");
}
#endif

}  // namespace gcg::tools
