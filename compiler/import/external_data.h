// Weights in external files beside the model.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "compiler/import/mapped_file.h"

namespace gcg {

/// The folder that must contain a model's external files. Each file is mapped once, even if it holds several tensors.
class ExternalData {
 public:
  /// An empty folder allows no external file (a model from memory).
  explicit ExternalData(std::string folder) : folder_(std::move(folder)) {}

  /// `location` must be relative, without empty, "." or ".." parts, and no part may be a symbolic link. The file must
  /// be regular and have no second hard link. Throws CompileError; `tensor` names the tensor in messages.
  std::shared_ptr<const MappedFile> file(const std::string& location, const std::string& tensor);

 private:
  std::string folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace gcg
