#include "tools/gcc-graph/media/image.h"
#include "tools/gcc-graph/support/fail.h"

#if GCC_GRAPH_JPEG
#include <csetjmp>
#include <cstdio>
// jpeglib.h needs FILE and size_t, which <cstdio> declares.
#include <jpeglib.h>
#endif

namespace gcg::tools {

#if GCC_GRAPH_JPEG
namespace {

/// libjpeg reports errors by on_error, which leaves its functions by longjmp. The functions that call them own no
/// objects with destructors: the picture and the message are members.
class JpegReader {
 public:
  JpegReader(const std::string& where, std::span<const uint8_t> file) : where_(where), file_(file) {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = on_error;
    errors_.emit_message = on_message;
  }
  ~JpegReader() { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  Image image() {
    if (!read_header()) refuse();
    check_picture_size(where_, info_.image_width, info_.image_height);
    if (info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK)
      fail(where_, ": the picture has the colours of printers (CMYK); convert it to RGB");
    image_ = {info_.image_width, info_.image_height, info_.jpeg_color_space == JCS_GRAYSCALE ? 1 : 3, {}};
    image_.bytes.resize(static_cast<size_t>(image_.width * image_.height * image_.channels));
    if (!decode()) refuse();
    return std::move(image_);
  }

 private:
  [[noreturn]] void refuse() const { fail(where_, ": the JPEG file is damaged: ", message_); }

  bool read_header() {
    if (setjmp(jump_) != 0) return false;
    jpeg_create_decompress(&info_);
    jpeg_mem_src(&info_, file_.data(), static_cast<unsigned long>(file_.size()));
    jpeg_read_header(&info_, TRUE);
    return true;
  }
  bool decode() {
    if (setjmp(jump_) != 0) return false;
    info_.out_color_space = image_.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_start_decompress(&info_);
    const auto row = static_cast<size_t>(image_.width * image_.channels);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW at = image_.bytes.data() + info_.output_scanline * row;
      jpeg_read_scanlines(&info_, &at, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  [[noreturn]] static void on_error(j_common_ptr info) {
    auto& self = *static_cast<JpegReader*>(info->client_data);
    info->err->format_message(info, self.message_);
    std::longjmp(self.jump_, 1);
  }
  /// A warning (level -1) says that data are missing or changed. Other decoders would fill the picture with grey.
  static void on_message(j_common_ptr info, int level) {
    if (level < 0) on_error(info);
  }

  const std::string& where_;
  std::span<const uint8_t> file_;
  jpeg_decompress_struct info_ = {};
  jpeg_error_mgr errors_ = {};
  std::jmp_buf jump_ = {};
  Image image_;
  char message_[JMSG_LENGTH_MAX] = {};
};

}  // namespace

Image decode_jpeg(const std::string& where, std::span<const uint8_t> file) { return JpegReader(where, file).image(); }
#else
Image decode_jpeg(const std::string& where, std::span<const uint8_t>) {
  fail(where, ": this gcc-graph was built without libjpeg, which reads JPEG files");
}
#endif

}  // namespace gcg::tools
