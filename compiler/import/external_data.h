// Weights that stand in files of their own beside the model.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "compiler/import/mapped_file.h"

namespace gcg {

/// The folder that a model's external files must lie beneath. Files are mapped once, however many tensors they hold.
class ExternalData {
 public:
  /// An empty folder: no external file is allowed (a model from memory).
  explicit ExternalData(std::string folder) : folder_(std::move(folder)) {}

  /// `location` is relative, with no empty, "." or ".." part, and no part of it may be a symbolic link; the file must
  /// be regular and have no second hard link. Throws CompileError; `tensor` names the tensor in messages.
  std::shared_ptr<const MappedFile> file(const std::string& location, const std::string& tensor);

 private:
  std::string folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

}  // namespace gcg
