#include "tools/gcc-graph/io/signature_watch.h"

#include <filesystem>
#include <fstream>
#include <iostream>

#include "artifact_schema/container.h"
#include "tools/gcc-graph/io/printable.h"
#include "tools/gcc-graph/support/fail.h"

namespace gcg::tools {

SignatureWatch::SignatureWatch(std::string artifact)
    : artifact_(std::move(artifact)),
      signature_(artifact_ + ".sig"),
      has_signature_(std::filesystem::is_regular_file(signature_)),
      before_(has_signature_ ? prologue() : Prologue{}) {}

SignatureWatch::Prologue SignatureWatch::prologue() const {
  static_assert(sizeof(Prologue) == sizeof(gart::Prologue));
  Prologue out{};
  std::ifstream file(artifact_, std::ios::binary);
  file.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
  return out;
}

void SignatureWatch::tell() const {
  if (!has_signature_ || prologue() == before_) return;
  std::cerr << printable(concat("remark: ", signature_, " does not sign the new ", artifact_,
                                "; gcc-graph sign signs it again"))
            << '\n';
}

}  // namespace gcg::tools
