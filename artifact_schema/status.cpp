#include "artifact_schema/status.h"

namespace gart {

void Piece::append_to(std::string& out) const {
  switch (kind_) {
    case Kind::text:
      out += text_;
      break;
    case Kind::characters:
      out.append(text_, length_);
      break;
    case Kind::positive:
      out += std::to_string(number_);
      break;
    case Kind::negative:
      out += std::to_string(static_cast<int64_t>(number_));
      break;
  }
}

std::string join(std::initializer_list<Piece> pieces) {
  std::string out;
  for (const Piece& piece : pieces) piece.append_to(out);
  return out;
}

}  // namespace gart
